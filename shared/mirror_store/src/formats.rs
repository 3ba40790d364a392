//! One literal per released version of every item: what was stored stays readable, and small.

use domain::delivery::{Delivery, LedgerEntry, Outcome, QuarantineReason};
use domain::due::Due;
use domain::events::Announced;
use domain::fold::{Confirmation, Ends, Finality, Mirror, Version};
use domain::ids::{
    Attempt, DeliveryId, Host, JobId, ProjectId, RepositoryId, RepositoryKey, Revision, RunId,
    SourceId, TenantId,
};
use domain::pipeline_run::{
    NativeWords, Owner, PipelineRun, PipelineRunState, RunContent, RunIdentity,
};
use domain::registration::Registration;
use domain::stage::{Stage, StageContent};
use domain::words::{Text, Word};
use jiff::Timestamp;

use aws_sdk_dynamodb::types::AttributeValue;

use crate::attributes::Item;
use crate::{
    delivery_item, read_delivery, read_registration, read_run, read_stage, registration_item,
    run_item, stage_item,
};

/// One write unit: what is larger costs two.
const WRITE_UNIT_BYTES: usize = 1024;

fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn repository() -> RepositoryKey {
    RepositoryKey {
        host: Host::new("github.com").unwrap(),
        id: RepositoryId::from_number(712_345_678_901).unwrap(),
    }
}

fn owner() -> Owner {
    Owner { tenant: TenantId::new("t1").unwrap(), project: ProjectId::new("storefront").unwrap() }
}

fn identity() -> RunIdentity {
    RunIdentity::github(owner(), repository(), RunId(33_714_470_481), Attempt::new(2).unwrap())
}

fn words(status: &str, result: Option<&str>) -> NativeWords {
    NativeWords { status: Word::new(status), result: result.map(Word::new) }
}

/// A run as it usually ends.
fn usual_run() -> PipelineRun {
    PipelineRun {
        identity: identity(),
        mirror: Mirror {
            version: Version {
                finality: Finality::Final,
                at: time("2026-11-30T10:05:00Z"),
                settled: None,
                deployment_at: None,
            },
            content: RunContent {
                words: words("completed", Some("success")),
                started_at: time("2026-11-30T10:00:00Z"),
                commit: Text::new("5f0d3c5a8a2d4f4cb59cf4a1ce3e7b1df0a1b2c3"),
                definition: Text::new(".github/workflows/ci.yml"),
                event: Word::new("push"),
                branch: Some(Text::new("feature/checkout-with-one-click")),
                head_repository: Some(RepositoryId::from_number(712_345_678_901).unwrap()),
                run_number: Some(41),
                name: Some(Text::new("Continuous integration")),
                repository_label: Text::new("acme/storefront"),
            },
            contested: false,
            ended_at: Some(time("2026-11-30T10:05:00Z")),
            live_after_final: None,
            ends: Ends::Agreed,
            confirmation: None,
        },
        announced: Some(Announced {
            state: PipelineRunState::Succeeded,
            started: true,
            revision: Revision(3),
        }),
        due: None,
        revision: Revision(3),
    }
}

/// A run of which everything that can be doubtful is.
fn doubtful_run() -> PipelineRun {
    let mut run = usual_run();
    run.mirror.version.settled = Some(time("2026-11-30T11:00:00.25Z"));
    run.mirror.contested = true;
    run.mirror.live_after_final = Some(time("2026-11-30T10:06:00Z"));
    run.mirror.ends = Ends::Changed;
    run.mirror.confirmation = Some(Confirmation {
        started_at: time("2026-11-30T11:00:00.25Z"),
        words: words("in_progress", None),
    });
    run.due = Some(Due { at: time("2026-11-30T11:01:00Z"), asks: 2 });
    run
}

fn stage() -> Stage {
    Stage {
        run: identity(),
        job: JobId(100_520_616_165),
        mirror: Mirror {
            version: Version {
                finality: Finality::Live,
                at: time("2026-11-30T10:00:00Z"),
                settled: None,
                deployment_at: Some(time("2026-11-30T10:00:01Z")),
            },
            content: StageContent {
                words: words("waiting", None),
                name: Text::new("deploy / production"),
                created_at: Some(time("2026-11-30T10:00:00Z")),
                started_at: Some(time("2026-11-30T10:00:00Z")),
                completed_at: None,
            },
            contested: false,
            ended_at: None,
            live_after_final: None,
            ends: Ends::Agreed,
            confirmation: None,
        },
        due: Some(Due { at: time("2026-11-30T10:01:00Z"), asks: 0 }),
        revision: Revision(2),
    }
}

fn delivery(outcome: Outcome) -> LedgerEntry {
    LedgerEntry {
        delivery: Delivery {
            source: SourceId::new("acme").unwrap(),
            hook: Some(77),
            id: DeliveryId::new("4d8ed510-a74e-11f1-9e4b-bb84feffa688").unwrap(),
            event: Word::new("workflow_run"),
            action: Some(Word::new("completed")),
            body_sha256: "ab".repeat(32),
            received_at: time("2026-11-30T10:05:02Z"),
        },
        tenant: Some(owner().tenant),
        repository: Some(repository()),
        subject: Some("run 33714470481 attempt 2".to_owned()),
        outcome,
        judged_at: time("2026-11-30T10:05:03Z"),
    }
}

/// An item as one line per attribute, sorted.
fn told(item: &Item) -> String {
    let tell = |value: &AttributeValue| match value {
        AttributeValue::S(text) => format!("S {text}"),
        AttributeValue::N(number) => format!("N {number}"),
        AttributeValue::Bool(holds) => format!("BOOL {holds}"),
        AttributeValue::L(values) => {
            let texts: Vec<_> = values.iter().map(|value| value.as_s().unwrap().as_str()).collect();
            format!("L {}", texts.join(","))
        }
        other => panic!("{other:?}"),
    };
    let mut lines: Vec<_> =
        item.iter().map(|(name, value)| format!("{name} {}\n", tell(value))).collect();
    lines.sort();
    lines.concat()
}

/// An item from what [`told`] gives.
fn item(told: &str) -> Item {
    let read = |line: &str| {
        let mut parts = line.splitn(3, ' ');
        let (name, kind, text) = (parts.next()?, parts.next()?, parts.next()?);
        let value = match kind {
            "S" => AttributeValue::S(text.to_owned()),
            "N" => AttributeValue::N(text.to_owned()),
            "BOOL" => AttributeValue::Bool(text == "true"),
            _ => AttributeValue::L(
                text.split(',').map(|text| AttributeValue::S(text.to_owned())).collect(),
            ),
        };
        Some((name.to_owned(), value))
    };
    told.lines().filter_map(read).collect()
}

/// The size that DynamoDB bills: names, texts in UTF-8, numbers at about half their digits, one byte for a flag
/// (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html>).
fn billed_bytes(item: &Item) -> usize {
    let size = |value: &AttributeValue| match value {
        AttributeValue::S(text) => text.len(),
        AttributeValue::N(number) => number.len() / 2 + 2,
        _ => 8,
    };
    item.iter().map(|(name, value)| name.len() + size(value)).sum()
}

const RUN_V1: &str = "\
announcedRevision N 3
announcedStarted BOOL true
announcedState S Succeeded
asks N 2
attempt N 2
branch S feature/checkout-with-one-click
commit S 5f0d3c5a8a2d4f4cb59cf4a1ce3e7b1df0a1b2c3
completedAt S 2026-11-30T10:05:00Z
contested BOOL true
definition S .github/workflows/ci.yml
definitionRef S .github/workflows/ci.yml@5f0d3c5a8a2d4f4cb59cf4a1ce3e7b1df0a1b2c3
dueAt S 2026-11-30T11:01:00.000000Z
dueShard S 05
endsChanged BOOL true
event S push
externalRunId N 33714470481
externalRunRef S https://github.com/acme/storefront/actions/runs/33714470481/attempts/2
formatVersion N 1
headRepositoryId S 712345678901
host S github.com
irregular L LiveAfterFinal,FinalChanged,Disputed
liveAfterFinalAt S 2026-11-30T10:06:00Z
name S Continuous integration
nativeResult S success
nativeStatus S completed
pipelineRunId S ee3b8fed-cf1d-50fe-8a1d-f225cdc63365
pk S PIPELINE_RUN#ee3b8fed-cf1d-50fe-8a1d-f225cdc63365
projectId S storefront
projectKey S t1#storefront
readAt S 2026-11-30T11:00:00.25Z
readStatus S in_progress
repository S acme/storefront
repositoryId S 712345678901
revision N 3
runNumber N 41
settledAt S 2026-11-30T11:00:00.25Z
sk S RUN
startedAt S 2026-11-30T10:00:00Z
startedKey S 2026-11-30T10:00:00.000000Z
state S Succeeded
system S GitHub
tenantId S t1
updatedAt S 2026-11-30T10:05:00Z
";

const STAGE_V1: &str = "\
asks N 0
attempt N 2
createdAt S 2026-11-30T10:00:00Z
deploymentAt S 2026-11-30T10:00:01Z
dueAt S 2026-11-30T10:01:00.000000Z
dueShard S 00
externalRunId N 33714470481
formatVersion N 1
host S github.com
jobId N 100520616165
name S deploy / production
nativeStatus S waiting
pipelineRunId S ee3b8fed-cf1d-50fe-8a1d-f225cdc63365
pk S PIPELINE_RUN#ee3b8fed-cf1d-50fe-8a1d-f225cdc63365
projectId S storefront
repositoryId S 712345678901
revision N 2
sk S STAGE#00000000100520616165
startedAt S 2026-11-30T10:00:00Z
state S Waiting
system S GitHub
tenantId S t1
updatedAt S 2026-11-30T10:00:00Z
waitReason S ProtectionRule
";

const DELIVERY_V1: &str = "\
action S completed
bodySha256 S abababababababababababababababababababababababababababababababab
deliveryId S 4d8ed510-a74e-11f1-9e4b-bb84feffa688
event S workflow_run
expiresAt N 1798625103
formatVersion N 1
hookId N 77
host S github.com
judgedAt S 2026-11-30T10:05:03Z
outcome S quarantined
pk S DELIVERY#acme#77#4d8ed510-a74e-11f1-9e4b-bb84feffa688
place S line 1 column 5
reason S Unreadable
receivedAt S 2026-11-30T10:05:02Z
repositoryId S 712345678901
source S acme
subject S run 33714470481 attempt 2
tenantId S t1
";

const REGISTRATION_V1: &str = "\
formatVersion N 1
host S github.com
installationId N 5
pk S REPOSITORY#github.com#712345678901
projectId S storefront
repository S acme/storefront
repositoryId S 712345678901
tenantId S t1
";

#[test]
fn version_1_of_a_run_stays_readable() {
    let run = doubtful_run();
    assert_eq!(told(&run_item(&run)), RUN_V1);
    assert_eq!(read_run(&item(RUN_V1)).unwrap(), run);
    let usual = usual_run();
    assert_eq!(read_run(&run_item(&usual)).unwrap(), usual);
}

#[test]
fn version_1_of_a_stage_stays_readable() {
    assert_eq!(told(&stage_item(&stage())), STAGE_V1);
    assert_eq!(read_stage(&item(STAGE_V1)).unwrap(), stage());
}

#[test]
fn version_1_of_a_ledger_row_stays_readable() {
    let place = Text::new("line 1 column 5");
    let entry = delivery(Outcome::Quarantined(QuarantineReason::Unreadable { place }));
    assert_eq!(told(&delivery_item(&entry)), DELIVERY_V1);
    assert_eq!(read_delivery(&item(DELIVERY_V1)).unwrap(), entry);
    for outcome in [
        Outcome::Applied,
        Outcome::NoOp,
        Outcome::Contested,
        Outcome::Unregistered,
        Outcome::NotMirrored,
        Outcome::OutOfScope,
        Outcome::Quarantined(QuarantineReason::NotJson),
        Outcome::Quarantined(QuarantineReason::ShapeMismatch { place: Text::new("x") }),
        Outcome::Quarantined(QuarantineReason::FutureVersion),
        Outcome::Quarantined(QuarantineReason::Unstorable),
    ] {
        let entry = delivery(outcome);
        assert_eq!(read_delivery(&delivery_item(&entry)).unwrap(), entry);
    }
}

#[test]
fn version_1_of_a_registration_stays_readable() {
    let registration = Registration {
        repository: repository(),
        owner: owner(),
        label: "acme/storefront".to_owned(),
        installation: Some(5),
    };
    assert_eq!(told(&registration_item(&registration)), REGISTRATION_V1);
    assert_eq!(read_registration(&item(REGISTRATION_V1)).unwrap(), registration);
}

#[test]
fn a_format_that_is_not_known_is_left_alone() {
    let newer = RUN_V1.replace("formatVersion N 1", "formatVersion N 2");
    assert_eq!(read_run(&item(&newer)).unwrap_err().place, "formatVersion is not known here");
    assert_eq!(read_run(&Item::new()).unwrap_err().place, "formatVersion is absent");
}

#[test]
fn a_damaged_attribute_is_named() {
    for (from, to, place) in [
        ("state S", "state S", None),
        ("attempt N 2", "attempt N 0", Some("attempt is out of bounds")),
        ("attempt N 2", "attempt N 4294967296", Some("attempt is out of bounds")),
        ("attempt N 2", "attempt S 2", Some("attempt is no number")),
        ("tenantId S t1", "tenantId S t#1", Some("tenantId is not of its form")),
        ("startedAt S 2026", "startedAt S soon", Some("startedAt is not of its form")),
        ("commit S ", "other S ", Some("commit is absent")),
        ("contested BOOL true", "contested S yes", Some("contested is no boolean")),
    ] {
        let read = read_run(&item(&RUN_V1.replace(from, to)));
        assert_eq!(read.err().map(|error| error.place).as_deref(), place, "{to}");
    }
}

#[test]
fn a_usual_item_is_one_write_unit() {
    for (name, bytes) in [
        ("run", billed_bytes(&run_item(&usual_run()))),
        ("stage", billed_bytes(&stage_item(&stage()))),
        ("delivery", billed_bytes(&delivery_item(&delivery(Outcome::Applied)))),
    ] {
        assert!(bytes <= WRITE_UNIT_BYTES, "{name}: {bytes} bytes");
    }
}
