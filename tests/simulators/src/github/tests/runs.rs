//! Runs of workflows and their attempts.

use serde_json::{Value, json};

use super::{Client, Scene, column};
use crate::github::{Refusal, RunSpec};

#[tokio::test]
async fn a_rerun_is_a_new_attempt_of_the_same_run() {
    let scene = Scene::new();
    scene.open("topic");
    let (github, repository) = (&scene.github, scene.repository);
    let head = scene.tip("topic");
    scene.taken();
    let run = github.start_run(repository, RunSpec::of("topic", head), &scene.ada).unwrap();
    github.run_in_progress(repository, run).unwrap();
    github.advance_clock(30);
    assert_eq!(github.rerun(repository, run, &scene.bob), Err(Refusal::RunState(run)));
    github.complete_run(repository, run, "failure").unwrap();
    let taken = scene.taken();
    let names: Vec<String> = taken.iter().map(super::name).collect();
    assert_eq!(
        names,
        ["workflow_run.requested", "workflow_run.in_progress", "workflow_run.completed"]
    );
    let told = &taken[2].json()["workflow_run"];
    assert_eq!(told["pull_requests"][0]["number"], 1);
    assert_eq!((&told["status"], &told["conclusion"]), (&json!("completed"), &json!("failure")));
    assert_eq!((&told["run_number"], &told["run_attempt"]), (&json!(1), &json!(1)));
    github.advance_clock(30);
    github.rerun(repository, run, &scene.bob).unwrap();
    let client = Client::new(github, &scene.ada);
    let base = format!("/repos/acme/api/actions/runs/{run}");
    let latest = client.read(&base).await;
    assert_eq!((&latest["run_attempt"], &latest["conclusion"]), (&json!(2), &Value::Null));
    assert_eq!((&latest["status"], &latest["run_number"]), (&json!("queued"), &json!(1)));
    assert_eq!(latest["created_at"], "2026-03-01T12:00:00Z");
    assert_eq!(latest["run_started_at"], "2026-03-01T12:01:00Z");
    assert_eq!(latest["triggering_actor"]["login"], "bob");
    assert_eq!(latest["actor"]["login"], "ada");
    let first = client.read(&format!("{base}/attempts/1")).await;
    assert_eq!(
        (&first["conclusion"], &first["updated_at"]),
        (&json!("failure"), &json!("2026-03-01T12:00:30Z"))
    );
    assert_eq!(first["previous_attempt_url"], Value::Null);
    assert_eq!(client.get(&format!("{base}/attempts/3")).await.status, 404);
    assert_eq!(client.get("/repos/acme/api/actions/runs/1").await.status, 404);
}

#[test]
fn a_forks_run_names_no_pull_requests_and_numbers_go_by_workflow() {
    let scene = Scene::new();
    scene.open("topic");
    let (github, repository) = (&scene.github, scene.repository);
    let head = scene.tip("topic");
    let fork = github.fork(repository, &scene.bob).unwrap();
    let specs = [
        RunSpec::of("topic", head).event("pull_request").from_fork(fork),
        RunSpec::of("topic", head),
        RunSpec::of("topic", head).workflow(".github/workflows/lint.yml"),
    ];
    scene.taken();
    for spec in specs {
        github.start_run(repository, spec, &scene.ada).unwrap();
    }
    let taken = scene.taken();
    let runs: Value = taken.iter().map(|it| it.json()["workflow_run"].clone()).collect();
    assert_eq!(runs[0]["pull_requests"], json!([]));
    assert_eq!(runs[0]["head_repository"]["id"], fork.number());
    assert_eq!(column(&runs, "run_number"), [1, 2, 1]);
    assert_eq!(column(&runs, "name"), ["ci", "ci", "lint"]);
    assert_eq!(column(&runs, "event"), ["pull_request", "push", "push"]);
    assert_ne!(runs[1]["workflow_id"], runs[2]["workflow_id"]);
}
