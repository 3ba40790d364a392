//! Records as tables that people read. Everything in them comes from outside, and is cleaned.

use std::collections::BTreeMap;

use jiff::Timestamp;
use local::tools::{Bookkeeping, DeliveryRecord, RunRecord, StageOfRun, StageRecord};

use crate::commands::terminal::{
    Column::{Whole, Wrapped},
    clean, short, table,
};

/// Longer texts are cut in tables, and whole in JSON.
const LABEL_CHARACTERS_MAX: usize = 28;
/// A pipeline's name stands beside its number.
const NAME_CHARACTERS_MAX: usize = 12;
/// Places in bodies are longer, and worth a second line.
const PLACE_CHARACTERS_MAX: usize = 80;
/// As many characters of a commit as git shows.
const COMMIT_CHARACTERS: usize = 7;

/// Beside a state that was told in two ways.
const CONTESTED: &str = "contested";

/// Runs: two lines each, like a run's row on its host's own page.
pub(super) fn runs(records: &[RunRecord]) -> String {
    let row = |run: &RunRecord| {
        let branch = Some(short(run.branch.as_deref().unwrap_or(&run.event), LABEL_CHARACTERS_MAX));
        let commit = Some(clean(&run.commit).chars().take(COMMIT_CHARACTERS).collect());
        let number = run.run_number.map(|number| format!("#{number}"));
        let name = run.name.as_deref().map(|name| short(name, NAME_CHARACTERS_MAX));
        let mut state = vec![run.state.to_owned()];
        state.extend(run.wait_reason.into_iter().chain(run.fail_reason).map(str::to_owned));
        state.extend(doubts(run.contested.then_some(CONTESTED), &run.irregular));
        state.extend(kept(run.bookkeeping.as_ref()));
        [
            under(&short(&run.repository, LABEL_CHARACTERS_MAX), &[branch, commit]),
            under(&run.external_run_id.to_string(), &[name, number]),
            run.attempt.to_string(),
            lines(state),
            times(Some(&run.started_at), run.completed_at.as_deref()),
            states(&run.stages),
        ]
    };
    table(
        &[
            Wrapped("REPOSITORY"),
            Whole("RUN"),
            Whole("ATTEMPT"),
            Whole("STATE"),
            Whole("STARTED, TOOK"),
            Whole("STAGES"),
        ],
        records.iter().map(row),
    )
}

/// Stages: two lines each, with their run in front.
pub(super) fn stages(records: &[StageOfRun]) -> String {
    let row = |of_run: &StageOfRun| {
        let stage = &of_run.stage;
        let repository = of_run.repository.as_deref().unwrap_or(&of_run.repository_id);
        let mut state = vec![stage.state.to_owned()];
        state.extend(stage.wait_reason.into_iter().chain(stage.fail_reason).map(str::to_owned));
        state.extend(doubts(stage.contested.then_some(CONTESTED), &stage.irregular));
        state.extend(kept(stage.bookkeeping.as_ref()));
        [
            under(
                &short(repository, LABEL_CHARACTERS_MAX),
                &[Some(format!("{} attempt {}", of_run.external_run_id, of_run.attempt))],
            ),
            under(&short(&stage.name, LABEL_CHARACTERS_MAX), &[Some(stage.job_id.to_string())]),
            lines(state),
            times(stage.started_at.as_deref(), stage.completed_at.as_deref()),
        ]
    };
    table(
        &[Whole("RUN"), Wrapped("STAGE"), Whole("STATE"), Whole("STARTED, TOOK")],
        records.iter().map(row),
    )
}

/// Deliveries: two lines each.
pub(super) fn deliveries(records: &[DeliveryRecord]) -> String {
    let row = |delivery: &DeliveryRecord| {
        let (date, clock) = delivery.received_at.split_once('T').unwrap_or_default();
        let clock = clock.get(..8).unwrap_or(clock);
        let repository =
            delivery.repository_id.as_deref().map(|id| format!("repository {}", clean(id)));
        let subject = delivery.subject.as_deref().map(|subject| clean(subject).into_owned());
        let place = delivery.place.as_deref().map(|place| short(place, PLACE_CHARACTERS_MAX));
        [
            lines([clock.to_owned(), date.to_owned()]),
            under(&clean(&delivery.delivery_id), &[subject.or(repository)]),
            lines([delivery.source.clone()].into_iter().chain(delivery.tenant_id.clone())),
            lines([short(&delivery.event, LABEL_CHARACTERS_MAX)].into_iter().chain(
                delivery.action.as_deref().map(|action| short(action, LABEL_CHARACTERS_MAX)),
            )),
            lines(
                [delivery.outcome.to_owned()]
                    .into_iter()
                    .chain(delivery.reason.map(str::to_owned))
                    .chain(place),
            ),
        ]
    };
    table(
        &[
            Whole("RECEIVED"),
            Whole("DELIVERY"),
            Wrapped("SOURCE"),
            Wrapped("EVENT"),
            Wrapped("OUTCOME"),
        ],
        records.iter().map(row),
    )
}

/// One cell of several lines.
fn lines(texts: impl IntoIterator<Item = String>) -> String {
    texts.into_iter().collect::<Vec<_>>().join("\n")
}

/// A cell with a second line, set in, that says more about the first.
fn under(first: &str, second: &[Option<String>]) -> String {
    let second = second.iter().flatten().map(String::as_str).collect::<Vec<_>>().join(" ");
    if second.is_empty() { first.to_owned() } else { format!("{first}\n  {second}") }
}

/// What makes a state doubtful.
fn doubts(contested: Option<&str>, irregular: &[&str]) -> Vec<String> {
    contested.into_iter().chain(irregular.iter().copied()).map(str::to_owned).collect()
}

/// What the service keeps beside a subject.
fn kept(bookkeeping: Option<&Bookkeeping>) -> Vec<String> {
    let Some(kept) = bookkeeping else { return Vec::new() };
    let due = kept.due_at.as_deref().map(|at| format!("due {}", time(at)));
    let announced = kept.announced.as_ref().map(|told| format!("announced {}", told.state));
    [format!("revision {}", kept.revision)].into_iter().chain(due).chain(announced).collect()
}

/// How many stages are in which state: a run may have hundreds of them.
fn states(stages: &[StageRecord]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for stage in stages {
        *counts.entry(stage.state).or_default() += 1;
    }
    let counts = counts.into_iter().map(|(state, count)| format!("{count} {state}"));
    lines(counts)
}

/// A time in UTC, to the minute.
fn time(text: &str) -> String {
    text.trim_end_matches('Z').replacen('T', " ", 1).chars().take(16).collect()
}

/// When something began, and how long it took.
fn times(started: Option<&str>, completed: Option<&str>) -> String {
    under(&started.map(time).unwrap_or_default(), &[took(started, completed)])
}

fn took(started: Option<&str>, completed: Option<&str>) -> Option<String> {
    let at = |text: &str| text.parse::<Timestamp>().ok();
    let (started, completed) = (at(started?)?, at(completed?)?);
    let seconds = completed.duration_since(started).as_secs();
    match seconds {
        ..0 => None,
        0..60 => Some(format!("{seconds}s")),
        60..3600 => Some(format!("{}m {:02}s", seconds / 60, seconds % 60)),
        _ => Some(format!("{}h {:02}m", seconds / 3600, seconds / 60 % 60)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stage(name: &str, state: &'static str) -> StageRecord {
        StageRecord {
            job_id: 100_520_616_165,
            name: name.to_owned(),
            state,
            started_at: Some("2026-11-17T09:14:11Z".to_owned()),
            completed_at: Some("2026-11-17T09:15:59Z".to_owned()),
            native_status: "completed".to_owned(),
            native_result: Some("success".to_owned()),
            wait_reason: None,
            fail_reason: None,
            contested: false,
            irregular: vec![],
            bookkeeping: None,
        }
    }

    fn run(repository: &str, branch: &str) -> RunRecord {
        RunRecord {
            pipeline_run_id: "4a6b3f0e-0000-5000-8000-000000000000".to_owned(),
            tenant_id: "t1".to_owned(),
            project_id: "storefront".to_owned(),
            system: "GitHub",
            external_run_ref: String::new(),
            definition_ref: String::new(),
            proposal_id: None,
            commit: "5f0c2b7e9a1d4c38b6e2f7a90d1c3e5b8a7f6d42".to_owned(),
            state: "PartiallySucceeded",
            stages: vec![
                stage("build", "Succeeded"),
                stage("a", "PartiallySucceeded"),
                stage("b", "ActionRequired"),
                stage("c", "Succeeded"),
            ],
            started_at: "2026-11-17T09:14:02Z".to_owned(),
            completed_at: Some("2026-11-17T09:21:34Z".to_owned()),
            native_status: "completed".to_owned(),
            native_result: None,
            wait_reason: None,
            fail_reason: None,
            attempt: 1,
            contested: true,
            irregular: vec!["LiveAfterFinal"],
            repository: repository.to_owned(),
            repository_id: "712345678901".to_owned(),
            host: "github.com".to_owned(),
            external_run_id: 33_714_470_481,
            run_number: Some(1207),
            name: Some("Deliver".to_owned()),
            event: "push".to_owned(),
            branch: Some(branch.to_owned()),
            bookkeeping: None,
        }
    }

    fn delivery(id: &str) -> DeliveryRecord {
        DeliveryRecord {
            delivery_id: id.to_owned(),
            source: "acme".to_owned(),
            hook_id: Some(1),
            event: "workflow_job".to_owned(),
            action: Some("in_progress".to_owned()),
            received_at: "2026-11-30T21:14:02.123456Z".to_owned(),
            tenant_id: Some("t1".to_owned()),
            host: Some("github.com".to_owned()),
            repository_id: Some("712345678901".to_owned()),
            subject: Some("run 33714470481 attempt 1 job 100520616165".to_owned()),
            outcome: "quarantined",
            reason: Some("ShapeMismatch"),
            place: Some("workflow_run.head_repository.id is missing ".repeat(6)),
            judged_at: String::new(),
        }
    }

    fn check(table: &str, whole: &[&str]) {
        for line in table.lines() {
            assert!(line.chars().count() <= 100, "{table}");
            assert!(!line.contains(|c: char| c.is_control()), "{table:?}");
        }
        for text in whole {
            assert!(table.contains(text), "{text}:\n{table}");
        }
    }

    const HOSTILE: &str = "\u{1b}[2J\u{202e}evil\r\nname/with-a-very-long-tail-that-goes-on-and-on";

    #[test]
    fn runs_fit_the_screen_and_ids_stay_whole() {
        let table = runs(&[run("acme/storefront", "main"), run(HOSTILE, HOSTILE)]);
        let whole = ["33714470481", "5f0c2b7", "PartiallySucceeded", "2026-11-17 09:14", "7m 32s"];
        check(&table, &whole);
        check(&table, &["Deliver", "#1207", "contested", "LiveAfterFinal", "2 Succeeded"]);
        assert!(!table.contains('\u{202e}') && table.contains("evil"), "{table}");
    }

    #[test]
    fn stages_fit_the_screen_and_ids_stay_whole() {
        let of_run = |repository: &str, name: &str| StageOfRun {
            pipeline_run_id: String::new(),
            tenant_id: "t1".to_owned(),
            project_id: "p".to_owned(),
            system: "GitHub",
            repository: Some(repository.to_owned()),
            repository_id: "712345678901".to_owned(),
            host: "github.com".to_owned(),
            external_run_id: 33_714_470_481,
            attempt: 1,
            stage: stage(name, "PartiallySucceeded"),
        };
        let table = stages(&[of_run("acme/storefront", "build"), of_run("a/b", HOSTILE)]);
        check(&table, &["33714470481", "100520616165", "PartiallySucceeded", "1m 48s"]);
    }

    #[test]
    fn deliveries_fit_the_screen_and_ids_stay_whole() {
        let id = "1f3a0208-c395-41f1-8a5e-0242ac120002";
        let table = deliveries(&[delivery(id)]);
        check(&table, &[id, "run 33714470481 attempt 1 job 100520616165", "in_progress"]);
        check(&table, &["21:14:02", "2026-11-30", "quarantined", "ShapeMismatch"]);
    }

    #[test]
    fn a_duration_is_as_exact_as_it_is_short() {
        let from = |end| took(Some("2026-11-17T09:00:00Z"), Some(end));
        for (end, shown) in [
            ("2026-11-17T09:00:00Z", Some("0s")),
            ("2026-11-17T09:00:59.9Z", Some("59s")),
            ("2026-11-17T09:01:05Z", Some("1m 05s")),
            ("2026-11-18T10:02:05Z", Some("25h 02m")),
            ("2026-11-17T08:59:00Z", None),
        ] {
            assert_eq!(from(end).as_deref(), shown, "{end}");
        }
        assert_eq!(took(None, Some("2026-11-17T08:59:00Z")), None);
        assert_eq!(took(Some("2026-11-17T08:59:00Z"), None), None);
    }
}
