//! Real bodies, published by others. They are not part of this repository: a test whose bodies are absent says so.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use domain::delivery::QuarantineReason;
use domain::observation::Fact;
use expect_test::expect;
use serde_json::Value;

use super::whatever::check_any;
use super::{read_as, read_json, told, workspace};
use crate::events::{Reading, UNDERSTOOD};

/// GitHub's own examples, by host version. `npm ci` in `tests` brings them.
const EXAMPLES: &str = "tests/node_modules/@octokit/webhooks-examples";
/// Bodies that public projects ship as test data, where somebody put them beside the checkout.
const PAYLOADS: &str = "../shared/payloads";

/// A body, and where it stands.
struct Example {
    place: String,
    event: String,
    body: Value,
}

/// A folder of the workspace, unless it is absent.
fn folder(path: &str) -> Option<PathBuf> {
    let folder = workspace().join(path);
    if folder.is_dir() {
        return Some(folder);
    }
    // Past the test harness, which would swallow `eprintln` of a test that passes.
    writeln!(std::io::stderr(), "SKIPPED: there is no {path}").unwrap();
    None
}

/// Every example of the published package, in a fixed order.
fn published() -> Vec<Example> {
    let Some(folder) = folder(EXAMPLES) else { return Vec::new() };
    let mut examples = Vec::new();
    for host in ["api.github.com", "ghes-31", "ghes-32", "ghes-33", "ghes-34", "ghes-35"] {
        let index = fs::read(folder.join(host).join("index.json")).unwrap();
        let events: Vec<Value> = serde_json::from_slice(&index).unwrap();
        for event in events {
            let name = event["name"].as_str().unwrap();
            for (number, body) in event["examples"].as_array().unwrap().iter().enumerate() {
                let place = format!("{host} {name} {number}");
                examples.push(Example { place, event: name.to_owned(), body: body.clone() });
            }
        }
    }
    examples
}

/// The event of a payload file, by its name.
fn event_of(file: &str) -> &'static str {
    let named = |part: &str| file.replace('-', "_").contains(part);
    if named("workflow_job") {
        "workflow_job"
    } else if named("workflow_run") || named("pipeline_hook") {
        "workflow_run"
    } else if file.starts_with("pr_") && !named("review_") || named("pull_request_") {
        "pull_request"
    } else if named("ping") {
        "ping"
    } else {
        "another"
    }
}

/// What became of a body in a few words, without its values.
fn outcome(event: &str, body: &str) -> String {
    match read_json(event, body) {
        Reading::Observed(seen) => {
            let state = match &seen.fact {
                Fact::Run(fact) => fact.content.words.reading().state.as_str(),
                Fact::Stage(fact) => fact.content.words.reading().state.as_str(),
                Fact::PullRequest(fact) => fact.content.words.reading().as_str(),
            };
            let doubt = seen.doubt.map(|doubt| format!(", {doubt:?}")).unwrap_or_default();
            format!("{} and {state}{doubt}", seen.action)
        }
        other @ (Reading::Ping | Reading::Ignored { .. } | Reading::Quarantined(_)) => told(&other),
    }
}

/// Reads a body of another event under the names of those that are understood.
fn check_passes_for_nothing(place: &str, event: &str, body: &str) {
    for name in ["workflow_run", "workflow_job", "pull_request"] {
        if event == name {
            continue;
        }
        let told = told(&read_json(name, body));
        assert!(told.starts_with("quarantined: "), "{place} as {name}: {told}");
        if body.starts_with('{') {
            assert!(told.contains("ShapeMismatch"), "{place} as {name}: {told}");
        }
    }
    if !UNDERSTOOD.contains(&event) {
        assert_eq!(told(&read_json(event, body)), format!("ignored: {event}"), "{place}");
    }
}

/// Each published example of an understood event is read, and its ids are those that another reader finds. But for one,
/// which GitHub's documentation put together from two repositories: its `workflow_run.repository` is another than its
/// `repository`, as in no delivery.
#[test]
#[expect(clippy::too_many_lines, reason = "a table of what is read")]
fn published_examples_of_understood_events_are_read() {
    let mut outcomes: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for Example { place, event, body } in published() {
        if UNDERSTOOD.contains(&event.as_str()) {
            let body = body.to_string();
            check_any(&event, body.as_bytes()).unwrap();
            outcomes.entry(outcome(&event, &body)).or_default().push(place);
        }
    }
    if outcomes.is_empty() {
        return;
    }
    expect![[r#"
        {
            "assigned and Open": [
                "api.github.com pull_request 1",
                "api.github.com pull_request 2",
                "ghes-34 pull_request 1",
                "ghes-35 pull_request 1",
            ],
            "closed and Closed": [
                "api.github.com pull_request 3",
                "api.github.com pull_request 4",
                "ghes-34 pull_request 2",
                "ghes-35 pull_request 2",
            ],
            "completed and Failed": [
                "api.github.com workflow_job 1",
            ],
            "completed and Succeeded": [
                "api.github.com workflow_job 2",
                "api.github.com workflow_run 1",
                "api.github.com workflow_run 2",
            ],
            "converted_to_draft and Open": [
                "api.github.com pull_request 5",
                "api.github.com pull_request 6",
                "api.github.com pull_request 7",
            ],
            "in_progress and Running": [
                "api.github.com workflow_job 0",
                "api.github.com workflow_job 3",
                "api.github.com workflow_job 4",
                "ghes-33 workflow_job 0",
                "ghes-34 workflow_job 0",
                "ghes-35 workflow_job 0",
            ],
            "labeled and Open": [
                "api.github.com pull_request 8",
                "api.github.com pull_request 9",
                "ghes-34 pull_request 3",
                "ghes-35 pull_request 3",
            ],
            "locked and Open": [
                "api.github.com pull_request 10",
                "api.github.com pull_request 11",
            ],
            "opened and Open": [
                "api.github.com pull_request 0",
                "api.github.com pull_request 12",
                "api.github.com pull_request 13",
                "api.github.com pull_request 14",
                "ghes-31 pull_request 0",
                "ghes-32 pull_request 0",
                "ghes-33 pull_request 0",
                "ghes-34 pull_request 0",
                "ghes-34 pull_request 4",
                "ghes-35 pull_request 0",
                "ghes-35 pull_request 4",
            ],
            "ping": [
                "api.github.com ping 0",
                "api.github.com ping 1",
                "api.github.com ping 2",
                "api.github.com ping 3",
                "ghes-31 ping 0",
                "ghes-32 ping 0",
                "ghes-33 ping 0",
                "ghes-34 ping 0",
                "ghes-34 ping 1",
                "ghes-35 ping 0",
                "ghes-35 ping 1",
            ],
            "quarantined: ShapeMismatch: workflow_run.repository.id is not repository.id (completed in ?)": [
                "api.github.com workflow_run 0",
                "ghes-31 workflow_run 0",
                "ghes-32 workflow_run 0",
                "ghes-33 workflow_run 0",
                "ghes-34 workflow_run 0",
                "ghes-35 workflow_run 0",
            ],
            "queued and Queued": [
                "api.github.com workflow_job 5",
            ],
            "queued and Waiting": [
                "api.github.com workflow_job 6",
            ],
            "ready_for_review and Open": [
                "api.github.com pull_request 15",
                "api.github.com pull_request 16",
                "api.github.com pull_request 17",
            ],
            "reopened and Open": [
                "api.github.com pull_request 18",
                "api.github.com pull_request 19",
            ],
            "requested and ActionRequired": [
                "api.github.com workflow_run 4",
            ],
            "requested and Queued": [
                "api.github.com workflow_run 3",
            ],
            "review_request_removed and Open": [
                "api.github.com pull_request 20",
            ],
            "review_requested and Open": [
                "api.github.com pull_request 21",
            ],
            "synchronize and Open": [
                "api.github.com pull_request 22",
            ],
            "unassigned and Open": [
                "api.github.com pull_request 23",
                "api.github.com pull_request 24",
                "ghes-34 pull_request 5",
                "ghes-35 pull_request 5",
            ],
            "unlabeled and Open": [
                "api.github.com pull_request 25",
                "api.github.com pull_request 26",
                "ghes-34 pull_request 6",
                "ghes-35 pull_request 6",
            ],
            "unlocked and Open": [
                "api.github.com pull_request 27",
                "api.github.com pull_request 28",
            ],
            "waiting and Waiting": [
                "api.github.com workflow_job 7",
            ],
        }
    "#]].assert_debug_eq(&outcomes);
}

#[test]
fn published_examples_of_other_events_pass_for_nothing() {
    for Example { place, event, body } in published() {
        check_passes_for_nothing(&place, &event, &body.to_string());
    }
}

/// Bodies from the test data of other projects. What can't be read is explained here:
/// two files of liatrio's are stubs of a few bytes, made for a test of a router;
/// octocrab's `workflow_run_event` files are answers of the Events API, which wraps what a delivery says.
#[test]
#[expect(clippy::too_many_lines, reason = "a table of what is read")]
fn bodies_of_other_projects_are_read_or_explained() {
    let Some(payloads) = folder(PAYLOADS) else { return };
    let mut outcomes: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for project in ["liatrio-otel-github", "drone-go-scm-github", "octocrab"] {
        for file in fs::read_dir(payloads.join(project)).unwrap() {
            let path = file.unwrap().path();
            let file = path.file_name().unwrap().to_str().unwrap().to_owned();
            let event = event_of(&file);
            let body = fs::read_to_string(&path).unwrap();
            check_passes_for_nothing(&file, event, &body);
            check_any(event, body.as_bytes()).unwrap();
            if event != "another" {
                outcomes.entry(outcome(event, &body)).or_default().push(file);
            }
        }
    }
    outcomes.values_mut().for_each(|files| files.sort());
    expect![[r#"
        {
            "closed and Closed": [
                "pr_closed.json",
                "pull_request_closed_webhook_event.json",
            ],
            "completed and Failed": [
                "githubreceiver__workflow-run-completed.json",
            ],
            "completed and Succeeded": [
                "githubactionsreceiver__completed__5_workflow_job_completed.json",
                "githubactionsreceiver__completed__8_workflow_run_completed.json",
                "githubactionsreceiver__completed__9_workflow_job_completed.json",
                "githubreceiver__workflow-job-completed.json",
            ],
            "edited and Open": [
                "pr_edited.json",
            ],
            "in_progress and Succeeded": [
                "pipeline_hook.json",
            ],
            "labeled and Open": [
                "pr_labeled.json",
            ],
            "opened and Open": [
                "pr_opened.json",
                "pull_request_opened_webhook_event.json",
            ],
            "ping": [
                "ping_webhook_event.json",
            ],
            "quarantined: ShapeMismatch: no action (? in ?)": [
                "workflow_run_event.json",
                "workflow_run_event_no_organization.json",
            ],
            "quarantined: ShapeMismatch: no workflow_job (queued in ?)": [
                "githubactionsreceiver__unknown__1_workflow_job_unknown.json",
            ],
            "quarantined: ShapeMismatch: no workflow_run (requested in ?)": [
                "githubactionsreceiver__requested__1_workflow_run_requested.json",
            ],
            "queued and Queued": [
                "githubactionsreceiver__queued__1_workflow_job_queued.json",
                "githubactionsreceiver__queued__4_workflow_job_queued.json",
            ],
            "ready_for_review and Open": [
                "pr_ready_for_review.json",
            ],
            "reopened and Open": [
                "pr_reopened.json",
            ],
            "synchronize and Open": [
                "pr_sync.json",
                "pull_request_synchronize_webhook_event.json",
            ],
            "unlabeled and Open": [
                "pr_unlabeled.json",
            ],
        }
    "#]]
    .assert_debug_eq(&outcomes);
}

/// A form is signed as it is sent, and says what its JSON says.
#[test]
fn forms_of_other_projects_are_read() {
    let Some(payloads) = folder(PAYLOADS) else { return };
    let mut forms = 0;
    for file in fs::read_dir(payloads.join("octokit-openapi-form")).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "form") {
            continue;
        }
        let file = path.file_name().unwrap().to_str().unwrap().to_owned();
        let (event, form) = (event_of(&file), fs::read(&path).unwrap());
        let expected = match (event, file.starts_with("secret-scanning")) {
            ("ping", _) => "ping",
            // Its payload is YAML: a slip of whoever wrote it down.
            (_, true) => "quarantined: not JSON (? in ?)",
            (_, false) => "ignored: another",
        };
        let told = told(&read_as(event, "application/x-www-form-urlencoded", &form));
        assert_eq!(told, expected, "{file}");
        let as_json = read_as(event, "application/json", &form);
        assert_eq!(as_json, Reading::Quarantined(QuarantineReason::NotJson.into()), "{file}");
        forms += 1;
    }
    assert!(forms > 0, "there are no forms");
}
