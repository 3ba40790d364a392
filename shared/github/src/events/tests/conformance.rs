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
            let words = match &seen.fact {
                Fact::Run(fact) => &fact.content.words,
                Fact::Stage(fact) => &fact.content.words,
            };
            let doubt = seen.doubt.map(|doubt| format!(", {doubt:?}")).unwrap_or_default();
            format!("{} and {}{doubt}", seen.action, words.reading().state)
        }
        other @ (Reading::Ping | Reading::Ignored { .. } | Reading::Quarantined(_)) => told(&other),
    }
}

/// Reads a body of another event under the names of those that are understood.
fn check_passes_for_nothing(place: &str, event: &str, body: &str) {
    for name in ["workflow_run", "workflow_job"] {
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
            "completed and Failed": [
                "api.github.com workflow_job 1",
            ],
            "completed and Succeeded": [
                "api.github.com workflow_job 2",
                "api.github.com workflow_run 1",
                "api.github.com workflow_run 2",
            ],
            "in_progress and Running": [
                "api.github.com workflow_job 0",
                "api.github.com workflow_job 3",
                "api.github.com workflow_job 4",
                "ghes-33 workflow_job 0",
                "ghes-34 workflow_job 0",
                "ghes-35 workflow_job 0",
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
            "requested and ActionRequired": [
                "api.github.com workflow_run 4",
            ],
            "requested and Queued": [
                "api.github.com workflow_run 3",
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
            "completed and Failed": [
                "githubreceiver__workflow-run-completed.json",
            ],
            "completed and Succeeded": [
                "githubactionsreceiver__completed__5_workflow_job_completed.json",
                "githubactionsreceiver__completed__8_workflow_run_completed.json",
                "githubactionsreceiver__completed__9_workflow_job_completed.json",
                "githubreceiver__workflow-job-completed.json",
            ],
            "in_progress and Succeeded": [
                "pipeline_hook.json",
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
