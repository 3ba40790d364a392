//! What the tables hold, in the words that consumers of the mirrors read.
//!
//! A record of a run or stage says what was seen of it, and nothing of how it was seen: no revision, no due time, no
//! clock. Whoever was sent the same deliveries in another order has the same records, to the byte.

use std::collections::BTreeMap;

use domain::{
    delivery::{LedgerEntry, Outcome},
    due::Due,
    events::Announced,
    fold::{Content, Irregular, Mirror},
    ids::{PipelineRunId, Revision},
    pipeline_run::PipelineRun,
    stage::Stage,
};
use serde::Serialize;

use super::Mirrors;

/// How much a record tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// What was seen.
    Folded,
    /// Also what the service keeps for itself, which depends on the order and time of deliveries.
    All,
}

/// One attempt of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the contract's own names")]
pub struct RunRecord {
    pub pipeline_run_id: String,
    pub tenant_id: String,
    pub project_id: String,
    pub system: &'static str,
    pub external_run_ref: String,
    pub definition_ref: String,
    pub proposal_id: Option<String>,
    pub commit: String,
    pub state: &'static str,
    pub stages: Vec<StageRecord>,
    pub started_at: String,
    pub completed_at: Option<String>,
    pub native_status: String,
    pub native_result: Option<String>,
    pub wait_reason: Option<&'static str>,
    pub fail_reason: Option<&'static str>,
    pub attempt: u32,
    pub contested: bool,
    pub irregular: Vec<&'static str>,
    pub repository: String,
    pub repository_id: String,
    pub host: String,
    pub external_run_id: u64,
    pub run_number: Option<u64>,
    pub name: Option<String>,
    pub event: String,
    pub branch: Option<String>,
    #[serde(flatten)]
    pub bookkeeping: Option<Bookkeeping>,
}

/// One stage of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the contract's own names")]
pub struct StageRecord {
    pub job_id: u64,
    pub name: String,
    pub state: &'static str,
    pub started_at: Option<String>,
    pub completed_at: Option<String>,
    pub native_status: String,
    pub native_result: Option<String>,
    pub wait_reason: Option<&'static str>,
    pub fail_reason: Option<&'static str>,
    pub contested: bool,
    pub irregular: Vec<&'static str>,
    #[serde(flatten)]
    pub bookkeeping: Option<Bookkeeping>,
}

/// A stage, and the run that it belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the contract's own names")]
pub struct StageOfRun {
    pub pipeline_run_id: String,
    pub tenant_id: String,
    pub project_id: String,
    pub system: &'static str,
    /// Absent while nothing was seen of the run itself.
    pub repository: Option<String>,
    pub repository_id: String,
    pub host: String,
    pub external_run_id: u64,
    pub attempt: u32,
    #[serde(flatten)]
    pub stage: StageRecord,
}

/// What the service keeps beside a subject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Bookkeeping {
    /// How often the item was written.
    pub revision: u64,
    /// When the subject must be read.
    pub due_at: Option<String>,
    /// Reads that were asked for and settled nothing.
    pub asks: Option<u32>,
    /// What the world was told; never anything for a stage.
    pub announced: Option<Announcement>,
}

/// The last state that could be published.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Announcement {
    /// The state.
    pub state: &'static str,
    /// Whether the run was announced as started.
    pub started: bool,
    /// The revision that announced it.
    pub revision: u64,
}

/// A row of the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the ledger's own names")]
pub struct DeliveryRecord {
    pub delivery_id: String,
    pub source: String,
    pub hook_id: Option<u64>,
    pub event: String,
    pub action: Option<String>,
    pub received_at: String,
    pub tenant_id: Option<String>,
    pub host: Option<String>,
    pub repository_id: Option<String>,
    pub subject: Option<String>,
    pub outcome: &'static str,
    pub reason: Option<&'static str>,
    pub place: Option<String>,
    pub judged_at: String,
}

/// Names of a [`RunRecord`]'s fields.
pub const RUN_FIELDS: &[&str] = &[
    "pipelineRunId",
    "tenantId",
    "projectId",
    "system",
    "externalRunRef",
    "definitionRef",
    "proposalId",
    "commit",
    "state",
    "stages",
    "startedAt",
    "completedAt",
    "nativeStatus",
    "nativeResult",
    "waitReason",
    "failReason",
    "attempt",
    "contested",
    "irregular",
    "repository",
    "repositoryId",
    "host",
    "externalRunId",
    "runNumber",
    "name",
    "event",
    "branch",
];

/// Names of a [`StageOfRun`]'s fields.
pub const STAGE_FIELDS: &[&str] = &[
    "pipelineRunId",
    "tenantId",
    "projectId",
    "system",
    "repository",
    "repositoryId",
    "host",
    "externalRunId",
    "attempt",
    "jobId",
    "name",
    "state",
    "startedAt",
    "completedAt",
    "nativeStatus",
    "nativeResult",
    "waitReason",
    "failReason",
    "contested",
    "irregular",
];

/// Names of a [`DeliveryRecord`]'s fields.
pub const DELIVERY_FIELDS: &[&str] = &[
    "deliveryId",
    "source",
    "hookId",
    "event",
    "action",
    "receivedAt",
    "tenantId",
    "host",
    "repositoryId",
    "subject",
    "outcome",
    "reason",
    "place",
    "judgedAt",
];

/// Names of a [`Bookkeeping`]'s fields, which runs and stages have besides when [`Detail::All`] is asked for.
pub const BOOKKEEPING_FIELDS: &[&str] = &["revision", "dueAt", "asks", "announced"];

/// Runs with their stages, ordered by repository, run and attempt.
#[must_use]
pub fn run_records(mirrors: &Mirrors, detail: Detail) -> Vec<RunRecord> {
    let mut stages: BTreeMap<PipelineRunId, Vec<StageRecord>> = BTreeMap::new();
    for stage in &mirrors.stages {
        stages.entry(stage.run.id).or_default().push(StageRecord::new(stage, detail));
    }
    let mut records = Vec::new();
    for run in &mirrors.runs {
        let mut stages = stages.remove(&run.identity.id).unwrap_or_default();
        stages.sort_by_key(|stage| stage.job_id);
        records.push(RunRecord::new(run, stages, detail));
    }
    records.sort_by(|one, other| one.order().cmp(&other.order()));
    records
}

/// Stages, ordered by repository, run, attempt and job.
#[must_use]
pub fn stage_records(mirrors: &Mirrors, detail: Detail) -> Vec<StageOfRun> {
    let label = |run: &PipelineRun| run.mirror.content.repository_label.to_string();
    let labels: BTreeMap<PipelineRunId, String> =
        mirrors.runs.iter().map(|run| (run.identity.id, label(run))).collect();
    let record = |stage: &Stage| StageOfRun::new(stage, labels.get(&stage.run.id).cloned(), detail);
    let mut records: Vec<_> = mirrors.stages.iter().map(record).collect();
    records.sort_by(|one, other| one.order().cmp(&other.order()));
    records
}

/// Rows of the ledger, the latest delivery first.
#[must_use]
pub fn delivery_records(entries: &[LedgerEntry]) -> Vec<DeliveryRecord> {
    let mut entries: Vec<_> = entries.iter().collect();
    let order = |entry: &LedgerEntry| {
        let delivery = &entry.delivery;
        let latest_first = std::cmp::Reverse(delivery.received_at);
        (latest_first, delivery.source.clone(), delivery.hook, delivery.id.clone())
    };
    entries.sort_by_cached_key(|entry| order(entry));
    entries.into_iter().map(DeliveryRecord::new).collect()
}

impl RunRecord {
    fn new(run: &PipelineRun, stages: Vec<StageRecord>, detail: Detail) -> Self {
        let (identity, mirror, content) = (&run.identity, &run.mirror, &run.mirror.content);
        let reading = content.words.reading();
        Self {
            pipeline_run_id: identity.id.to_string(),
            tenant_id: identity.owner.tenant.to_string(),
            project_id: identity.owner.project.to_string(),
            system: identity.system.as_str(),
            external_run_ref: run.external_run_ref(),
            definition_ref: run.definition_ref(),
            proposal_id: None,
            commit: content.commit.to_string(),
            state: reading.state.as_str(),
            stages,
            started_at: content.started_at.to_string(),
            completed_at: text(mirror.ended_at),
            native_status: content.words.status.to_string(),
            native_result: text(content.words.result.as_ref()),
            wait_reason: reading.wait_reason.map(|reason| reason.as_str()),
            fail_reason: reading.fail_reason.map(|reason| reason.as_str()),
            attempt: identity.attempt.get(),
            contested: mirror.contested,
            irregular: irregular(mirror),
            repository: content.repository_label.to_string(),
            repository_id: identity.repository.id.to_string(),
            host: identity.repository.host.to_string(),
            external_run_id: identity.run.0,
            run_number: content.run_number,
            name: text(content.name.as_ref()),
            event: content.event.to_string(),
            branch: text(content.branch.as_ref()),
            bookkeeping: Bookkeeping::new(run.revision, run.due, run.announced, detail),
        }
    }

    fn order(&self) -> (&str, u64, u32, &str) {
        (&self.repository, self.external_run_id, self.attempt, &self.pipeline_run_id)
    }
}

impl StageRecord {
    fn new(stage: &Stage, detail: Detail) -> Self {
        let content = &stage.mirror.content;
        let reading = content.words.reading();
        Self {
            job_id: stage.job.0,
            name: content.name.to_string(),
            state: reading.state.as_str(),
            started_at: text(content.started_at),
            completed_at: text(content.completed_at),
            native_status: content.words.status.to_string(),
            native_result: text(content.words.result.as_ref()),
            wait_reason: reading.wait_reason.map(|reason| reason.as_str()),
            fail_reason: reading.fail_reason.map(|reason| reason.as_str()),
            contested: stage.mirror.contested,
            irregular: irregular(&stage.mirror),
            bookkeeping: Bookkeeping::new(stage.revision, stage.due, None, detail),
        }
    }
}

impl StageOfRun {
    fn new(stage: &Stage, repository: Option<String>, detail: Detail) -> Self {
        let identity = &stage.run;
        Self {
            pipeline_run_id: identity.id.to_string(),
            tenant_id: identity.owner.tenant.to_string(),
            project_id: identity.owner.project.to_string(),
            system: identity.system.as_str(),
            repository,
            repository_id: identity.repository.id.to_string(),
            host: identity.repository.host.to_string(),
            external_run_id: identity.run.0,
            attempt: identity.attempt.get(),
            stage: StageRecord::new(stage, detail),
        }
    }

    fn order(&self) -> (Option<&str>, u64, u32, &str, u64) {
        let repository = self.repository.as_deref();
        (repository, self.external_run_id, self.attempt, &self.pipeline_run_id, self.stage.job_id)
    }
}

impl Bookkeeping {
    fn new(
        revision: Revision,
        due: Option<Due>,
        announced: Option<Announced>,
        detail: Detail,
    ) -> Option<Self> {
        let announcement = |announced: Announced| Announcement {
            state: announced.state.as_str(),
            started: announced.started,
            revision: announced.revision.0,
        };
        match detail {
            Detail::Folded => None,
            Detail::All => Some(Self {
                revision: revision.0,
                due_at: text(due.map(|due| due.at)),
                asks: due.map(|due| due.asks),
                announced: announced.map(announcement),
            }),
        }
    }
}

impl DeliveryRecord {
    fn new(entry: &LedgerEntry) -> Self {
        let delivery = &entry.delivery;
        let reason = match &entry.outcome {
            Outcome::Quarantined(reason) => Some(reason),
            Outcome::Applied
            | Outcome::NoOp
            | Outcome::Contested
            | Outcome::Unregistered
            | Outcome::OutOfScope
            | Outcome::NotMirrored => None,
        };
        Self {
            delivery_id: delivery.id.to_string(),
            source: delivery.source.to_string(),
            hook_id: delivery.hook,
            event: delivery.event.to_string(),
            action: text(delivery.action.as_ref()),
            received_at: delivery.received_at.to_string(),
            tenant_id: text(entry.tenant.as_ref()),
            host: text(entry.repository.as_ref().map(|repository| &repository.host)),
            repository_id: text(entry.repository.as_ref().map(|repository| &repository.id)),
            subject: entry.subject.clone(),
            outcome: entry.outcome.as_str(),
            reason: reason.map(|reason| reason.as_str()),
            place: text(reason.and_then(|reason| reason.place())),
            judged_at: entry.judged_at.to_string(),
        }
    }
}

fn irregular<C: Content>(mirror: &Mirror<C>) -> Vec<&'static str> {
    mirror.irregular().into_iter().map(Irregular::as_str).collect()
}

fn text(value: Option<impl ToString>) -> Option<String> {
    value.map(|value| value.to_string())
}

#[cfg(test)]
mod tests {
    use domain::{
        delivery::{Delivery, QuarantineReason},
        fold::{Finality, Sighting, Version},
        ids::{
            Attempt, DeliveryId, Host, JobId, ProjectId, RepositoryId, RepositoryKey, RunId,
            SourceId, TenantId,
        },
        pipeline_run::{NativeWords, Owner, RunContent, RunIdentity},
        stage::StageContent,
        words::{Text, Word},
    };
    use jiff::Timestamp;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_794_000_000 + second).unwrap()
    }

    fn words(status: &str, result: Option<&str>) -> NativeWords {
        NativeWords { status: Word::new(status), result: result.map(Word::new) }
    }

    fn sighting<C: Content>(content: C, finality: Finality, second: i64) -> Sighting<C> {
        let at = at(second);
        let version = Version { finality, at, settled: None, deployment_at: None };
        Sighting { version, content, confirmation: None, is_read: false, doubt: None }
    }

    fn identity(run: u64, attempt: u32) -> RunIdentity {
        let owner =
            Owner { tenant: TenantId::new("t1").unwrap(), project: ProjectId::new("p").unwrap() };
        let repository = RepositoryKey {
            host: Host::new("github.com").unwrap(),
            id: RepositoryId::from_number(11).unwrap(),
        };
        RunIdentity::github(owner, repository, RunId(run), Attempt::new(attempt).unwrap())
    }

    fn seen_run(status: &str, result: Option<&str>, second: i64) -> Sighting<RunContent> {
        let finality = if result.is_some() { Finality::Final } else { Finality::Live };
        let content = RunContent {
            words: words(status, result),
            started_at: at(0),
            commit: Text::new("5f0c"),
            definition: Text::new("ci.yml"),
            event: Word::new("push"),
            branch: None,
            head_repository: None,
            run_number: Some(7),
            name: None,
            repository_label: Text::new("a/b"),
        };
        sighting(content, finality, second)
    }

    fn run(run: u64, attempt: u32, sightings: &[Sighting<RunContent>], now: i64) -> PipelineRun {
        let identity = identity(run, attempt);
        let mut stored = None;
        for sighting in sightings {
            let seen = std::slice::from_ref(sighting);
            let advanced = PipelineRun::advance(&identity, stored.as_ref(), seen, at(now)).unwrap();
            stored = advanced.write.or(stored);
        }
        stored.unwrap()
    }

    fn stage(run: u64, attempt: u32, job: u64) -> Stage {
        let content = StageContent {
            words: words("completed", Some("success")),
            name: Text::new("build"),
            created_at: Some(at(0)),
            started_at: Some(at(1)),
            completed_at: Some(at(2)),
        };
        let seen = sighting(content, Finality::Final, 2);
        let advanced = Stage::advance(&identity(run, attempt), JobId(job), None, &[seen], at(9));
        advanced.unwrap().write.unwrap()
    }

    fn keys(record: &impl Serialize) -> Vec<String> {
        // A value's own map may sort its keys; what is written shows their order.
        let json = serde_json::to_string_pretty(record).unwrap();
        let top = json.lines().filter(|line| line.starts_with("  \""));
        top.map(|line| line.split('"').nth(1).unwrap().to_owned()).collect()
    }

    #[test]
    fn the_names_that_may_be_chosen_are_those_of_the_records() {
        let history = [seen_run("in_progress", None, 3)];
        let mirrors = Mirrors { runs: vec![run(1, 1, &history, 9)], stages: vec![stage(1, 1, 5)] };
        let with_bookkeeping = |fields: &[&'static str]| [fields, BOOKKEEPING_FIELDS].concat();
        assert_eq!(keys(&run_records(&mirrors, Detail::Folded)[0]), RUN_FIELDS);
        assert_eq!(keys(&run_records(&mirrors, Detail::All)[0]), with_bookkeeping(RUN_FIELDS));
        assert_eq!(keys(&stage_records(&mirrors, Detail::Folded)[0]), STAGE_FIELDS);
        assert_eq!(keys(&stage_records(&mirrors, Detail::All)[0]), with_bookkeeping(STAGE_FIELDS));
    }

    #[test]
    fn what_is_shown_depends_on_what_was_seen_and_on_nothing_else() {
        let [requested, running, done] = [
            seen_run("queued", None, 1),
            seen_run("in_progress", None, 3),
            seen_run("completed", Some("success"), 8),
        ];
        let mut in_order = Mirrors {
            runs: vec![run(1, 1, &[requested.clone(), running.clone(), done.clone()], 9)],
            stages: vec![stage(1, 1, 6), stage(1, 1, 5)],
        };
        let mut shuffled = Mirrors {
            runs: vec![run(1, 1, &[done.clone(), requested, done, running], 700)],
            stages: vec![stage(1, 1, 5), stage(1, 1, 6)],
        };
        in_order.runs.push(run(2, 1, &[seen_run("queued", None, 1)], 9));
        shuffled.runs.insert(0, run(2, 1, &[seen_run("queued", None, 1)], 800));
        let json = |mirrors| {
            let runs = run_records(mirrors, Detail::Folded);
            let stages = stage_records(mirrors, Detail::Folded);
            serde_json::to_string(&(runs, stages)).unwrap()
        };
        assert_eq!(json(&in_order), json(&shuffled));
        let all = |mirrors| serde_json::to_string(&run_records(mirrors, Detail::All)).unwrap();
        assert_ne!(all(&in_order), all(&shuffled), "else this test proves nothing");
    }

    #[test]
    fn runs_are_ordered_by_run_and_attempt_and_their_stages_by_job() {
        let queued = [seen_run("queued", None, 1)];
        let runs =
            [(20, 1), (3, 2), (3, 1)].map(|(number, attempt)| run(number, attempt, &queued, 9));
        let stages =
            [(3, 2, 70), (3, 2, 8), (3, 1, 9)].map(|(run, attempt, job)| stage(run, attempt, job));
        let mirrors = Mirrors { runs: runs.into(), stages: stages.into() };
        let jobs = |record: &RunRecord| record.stages.iter().map(|stage| stage.job_id).collect();
        let shown: Vec<(u64, u32, Vec<u64>)> = run_records(&mirrors, Detail::Folded)
            .iter()
            .map(|record| (record.external_run_id, record.attempt, jobs(record)))
            .collect();
        assert_eq!(shown, [(3, 1, vec![9]), (3, 2, vec![8, 70]), (20, 1, vec![])]);
    }

    #[test]
    fn a_run_says_what_the_contract_asks_for() {
        let mirrors = Mirrors {
            runs: vec![run(33, 2, &[seen_run("completed", Some("startup_failure"), 8)], 9)],
            stages: vec![],
        };
        let shown = serde_json::to_value(&run_records(&mirrors, Detail::Folded)[0]).unwrap();
        for (field, expected) in [
            ("state", serde_json::json!("Failed")),
            ("failReason", serde_json::json!("Startup")),
            ("proposalId", serde_json::json!(null)),
            (
                "externalRunRef",
                serde_json::json!("https://github.com/a/b/actions/runs/33/attempts/2"),
            ),
            ("definitionRef", serde_json::json!("ci.yml@5f0c")),
            ("completedAt", serde_json::json!(at(8).to_string())),
            ("repositoryId", serde_json::json!("11")),
            ("irregular", serde_json::json!([])),
        ] {
            assert_eq!(shown[field], expected, "{field}");
        }
    }

    #[test]
    fn a_stage_of_a_run_that_was_not_seen_is_a_stage_all_the_same() {
        let mirrors = Mirrors { runs: vec![], stages: vec![stage(1, 1, 5)] };
        assert!(run_records(&mirrors, Detail::Folded).is_empty());
        let stages = stage_records(&mirrors, Detail::Folded);
        assert_eq!((stages[0].stage.job_id, &stages[0].repository), (5, &None));
    }

    fn entry(id: &str, received: i64, outcome: Outcome) -> LedgerEntry {
        LedgerEntry {
            delivery: Delivery {
                source: SourceId::new("acme").unwrap(),
                hook: Some(1),
                id: DeliveryId::new(id).unwrap(),
                event: Word::new("workflow_run"),
                action: None,
                body_sha256: String::new(),
                received_at: at(received),
            },
            tenant: None,
            repository: None,
            subject: None,
            outcome,
            judged_at: at(received + 1),
        }
    }

    #[test]
    fn the_latest_delivery_comes_first_and_a_quarantined_one_says_why() {
        let place = Text::new("workflow_run.id is missing");
        let quarantined = Outcome::Quarantined(QuarantineReason::Unreadable { place });
        let entries = [
            entry("b", 1, Outcome::Applied),
            entry("c", 2, quarantined),
            entry("a", 1, Outcome::NoOp),
        ];
        let records = delivery_records(&entries);
        let ids: Vec<_> = records.iter().map(|record| record.delivery_id.as_str()).collect();
        assert_eq!(ids, ["c", "a", "b"]);
        assert_eq!(records[0].outcome, "quarantined");
        assert_eq!(records[0].reason, Some("Unreadable"));
        assert_eq!(records[0].place.as_deref(), Some("workflow_run.id is missing"));
        assert_eq!(keys(&records[1]), DELIVERY_FIELDS);
    }
}
