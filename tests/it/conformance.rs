//! Every published example of a run, job or pull request, and every real payload that is at hand, through the real binaries.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::world::{World, text, workspace};

/// One body and the event that it belongs to.
struct Example {
    name: String,
    event: &'static str,
    body: String,
}

const EVENTS: [&str; 3] = ["workflow_run", "workflow_job", "pull_request"];

/// GitHub's published examples, from the npm package `@octokit/webhooks-examples`.
fn published() -> Option<Vec<Example>> {
    let index =
        workspace().join("tests/node_modules/@octokit/webhooks-examples/api.github.com/index.json");
    let index: Value = serde_json::from_slice(&std::fs::read(index).ok()?).unwrap();
    let mut examples = Vec::new();
    for event in EVENTS {
        let published = index.as_array().unwrap().iter().find(|entry| entry["name"] == event)?;
        for (number, example) in published["examples"].as_array().unwrap().iter().enumerate() {
            let name = format!("{event} example {number}");
            examples.push(Example { name, event, body: example.to_string() });
        }
    }
    Some(examples)
}

/// Payloads that other projects ship in their test data, where the folder is at hand.
fn shipped() -> Option<Vec<Example>> {
    let folder = workspace().parent()?.join("shared/payloads");
    let mut files = Vec::new();
    collect(&folder, &mut files).ok()?;
    let mut examples = Vec::new();
    for path in files {
        let Ok(body) = std::fs::read_to_string(&path) else { continue };
        let Ok(json) = serde_json::from_str::<Value>(&body) else { continue };
        // A delivery's body names its action and its repository beside the event's own object.
        let whole = json["action"].is_string() && json["repository"]["id"].is_u64();
        for event in EVENTS {
            let run_alone = event == "workflow_run" && !json["workflow"].is_object();
            // A pull request stands in the bodies of reviews and comments too, without a word of a merge.
            let embedded = event == "pull_request" && !json[event]["merged"].is_boolean();
            let own = json[event].is_object() && !run_alone && !embedded;
            if whole && own {
                let name = path.strip_prefix(&folder).unwrap().display().to_string();
                examples.push(Example { name, event, body: body.clone() });
            }
        }
    }
    Some(examples)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "json") {
            files.push(path);
        }
    }
    files.sort();
    Ok(())
}

/// Sends every example from a repository that is registered, and expects each to be mirrored, or to be explained.
async fn conform(examples: Vec<Example>, explained: &[(&str, &str)]) {
    assert!(!examples.is_empty(), "there are examples");
    let world = World::start().await;
    let mut repositories = std::collections::BTreeSet::new();
    let mut sent = Vec::new();
    for example in examples {
        let json: Value = serde_json::from_str(&example.body).unwrap();
        let repository = json["repository"]["id"].as_u64().expect("a repository");
        if repositories.insert(repository) {
            world.register("t1", repository, None).await;
        }
        let id = world.accept(example.event, &example.body).await;
        sent.push((example.name, example.event, id));
    }
    world.settle().await;
    for (name, event, id) in sent {
        let row = &world.ledger(&id).await[0];
        let outcome = text(row, "outcome");
        match explained.iter().find(|(explained, _)| *explained == name) {
            Some((_, reason)) => {
                assert_eq!((outcome, text(row, "reason")), ("quarantined", *reason), "{name}");
            }
            None => {
                // Nobody proposed what these pull requests are about.
                let folded = match event {
                    "pull_request" => outcome == "not mirrored",
                    _ => ["applied", "no-op", "contested"].contains(&outcome),
                };
                assert!(folded, "{name}: {row:?}");
            }
        }
    }
    assert_eq!(world.stack.queue_depth("observations-dead-letters").await.visible, 0);
    // Bodies of these examples name people: what no log may hold is checked on our own bodies.
    world.stack.stop().await.expect("the stack stops");
}

/// Past the test runner's capture, which hides what a passing test prints.
fn skip(what: &str) {
    let _ = writeln!(std::io::stderr(), "SKIPPED: {what} are not at hand");
}

#[tokio::test]
async fn published_examples_are_mirrored() {
    let Some(examples) = published() else {
        skip("GitHub's published examples (npm ci in tests/)");
        return;
    };
    // Stitched together from two repositories: the run's own id is not the outer one.
    conform(examples, &[("workflow_run example 0", "ShapeMismatch")]).await;
}

#[tokio::test]
async fn payloads_of_other_projects_are_mirrored() {
    let Some(examples) = shipped() else {
        skip("payloads of other projects");
        return;
    };
    conform(examples, &[]).await;
}
