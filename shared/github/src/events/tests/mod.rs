//! What bodies say, from the samples in `events/github` to the bodies that an enemy with a valid secret would send.

mod conformance;
mod dialect;
mod hostile;
mod meaning;
mod pull_requests;
mod shape;
mod whatever;

use std::path::{Path, PathBuf};

use domain::ids::Host;
use domain::observation::{Fact, RunFact, StageFact};
use domain::pipeline_run::{NativeWords, RunContent};
use domain::pull_request::{PullRequestContent, PullRequestFact, PullRequestWords};
use domain::stage::StageContent;
use domain::words::{Text, Word};
use serde_json::Value;

use crate::events::{Quarantined, Reading, SeenFact, read};
use crate::headers::Headers;
use crate::verify::{LiveSecrets, WebhookSecret, sign, verify};

/// The secret of GitHub's published example.
const SECRET: &str = "It's a Secret to Everybody";
/// The smallest `workflow_run` body that says everything.
const W: &str = r#"{"action":"completed","workflow_run":{"id":880,"run_attempt":1,"run_number":7,"path":".github/workflows/ci.yml","event":"push","status":"completed","conclusion":"success","head_sha":"c0ffee","run_started_at":"2026-11-17T10:00:00Z","updated_at":"2026-11-17T10:05:00Z"},"repository":{"id":11,"full_name":"a/b"}}"#;
/// The smallest `workflow_job` body that says everything.
const J: &str = r#"{"action":"queued","workflow_job":{"id":990,"run_id":880,"run_attempt":1,"name":"build","status":"queued","conclusion":null,"created_at":"2026-11-17T10:00:00Z","started_at":"2026-11-17T10:00:00Z","completed_at":null},"deployment":{"updated_at":"2026-11-17T10:00:01Z"},"repository":{"id":11}}"#;

/// The smallest `pull_request` body that says everything.
const P: &str = r#"{"action":"opened","pull_request":{"number":7,"state":"open","merged":false,"updated_at":"2026-11-17T10:00:00Z","user":{"id":5},"head":{"ref":"factory/x","sha":"c0ffee0000000000000000000000000000c0ffee","repo":{"id":11}},"base":{"ref":"main","sha":"ba5e000000000000000000000000000000000001","repo":{"id":11}}},"repository":{"id":11}}"#;

/// The folder of samples.
fn samples_folder() -> PathBuf {
    workspace().join("events/github")
}

/// The workspace's root.
fn workspace() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Reads a body the whole way: it is signed, verified and read as GitHub would have sent it.
fn read_as(event: &str, content_type: &str, body: &[u8]) -> Reading {
    let secret = WebhookSecret::new(SECRET).unwrap();
    let signature = sign(body, &secret);
    let headers = Headers::from_iter([
        ("X-GitHub-Event", event),
        ("Content-Type", content_type),
        ("X-Hub-Signature-256", &signature),
    ]);
    let secrets = LiveSecrets { current: secret, previous: None };
    let verified = verify(body, &headers.signature().unwrap(), &secrets).unwrap();
    read(&verified, &headers, &Host::new("github.com").unwrap())
}

fn read_json(event: &str, body: &str) -> Reading {
    read_as(event, "application/json", body.as_bytes())
}

/// Why a body is quarantined.
fn reason(event: &str, body: &str) -> String {
    let reading = read_json(event, body);
    let Reading::Quarantined(quarantined) = reading else { panic!("{event} {body}: {reading:?}") };
    quarantined.reason.to_string()
}

fn seen(event: &str, body: &str) -> SeenFact {
    let reading = read_json(event, body);
    let Reading::Observed(seen) = reading else { panic!("{event} {body}: {reading:?}") };
    seen
}

fn run_fact(body: &str) -> RunFact {
    match seen("workflow_run", body).fact {
        Fact::Run(fact) => *fact,
        other @ (Fact::Stage(_) | Fact::PullRequest(_)) => panic!("no run: {other:?}"),
    }
}

fn stage_fact(body: &str) -> StageFact {
    match seen("workflow_job", body).fact {
        Fact::Stage(fact) => *fact,
        other @ (Fact::Run(_) | Fact::PullRequest(_)) => panic!("no stage: {other:?}"),
    }
}

fn pull_request_fact(body: &str) -> PullRequestFact {
    match seen("pull_request", body).fact {
        Fact::PullRequest(fact) => *fact,
        other @ (Fact::Run(_) | Fact::Stage(_)) => panic!("no pull request: {other:?}"),
    }
}

/// `W` or `J` with the field at a path set, or taken away.
fn with(body: &str, path: &str, value: impl Into<Option<Value>>) -> String {
    let mut json: Value = serde_json::from_str(body).unwrap();
    let (parent, field) = path.rsplit_once('.').unwrap_or(("", path));
    let pointer =
        if parent.is_empty() { String::new() } else { format!("/{}", parent.replace('.', "/")) };
    let parent = json.pointer_mut(&pointer).unwrap().as_object_mut().unwrap();
    match value.into() {
        Some(value) => drop(parent.insert(field.to_owned(), value)),
        None => drop(parent.remove(field)),
    }
    json.to_string()
}

/// A reading as a person would write it down. Takes everything apart, so that a new field can't stay unwritten.
fn told(reading: &Reading) -> String {
    match reading {
        Reading::Ping => "ping".to_owned(),
        Reading::Ignored { event } => format!("ignored: {event}"),
        Reading::Observed(SeenFact { repository, installation, fact, doubt, action }) => {
            let doubt = doubt.map(|doubt| format!(", {doubt:?}")).unwrap_or_default();
            let by = installation.map(|id| format!(" by installation {id}")).unwrap_or_default();
            let fact = match fact {
                Fact::Run(fact) => told_run(fact),
                Fact::Stage(fact) => told_stage(fact),
                Fact::PullRequest(fact) => told_pull_request(fact),
            };
            format!("{action} in {repository}{by}{doubt}\n{fact}")
        }
        Reading::Quarantined(Quarantined { reason, action, repository }) => {
            let action = action.as_ref().map_or("?", Word::as_str);
            let repository = repository.as_ref().map_or("?".to_owned(), ToString::to_string);
            format!("quarantined: {reason} ({action} in {repository})")
        }
    }
}

fn told_run(RunFact { run, attempt, updated_at, content }: &RunFact) -> String {
    let RunContent {
        words,
        started_at,
        commit,
        definition,
        event,
        branch,
        head_repository,
        run_number,
        name,
        repository_label,
    } = content;
    let number = run_number.map_or("-".to_owned(), |number| number.to_string());
    let name = or_dash(name.as_ref());
    let branch = or_dash(branch.as_ref());
    let head = head_repository.as_ref().map_or("-", |id| id.as_str());
    format!(
        "run {run}/{attempt} #{number} {name}: {} at {updated_at}, started {started_at}\n\
         {event} of {branch} {commit} from {head} runs {definition} of {repository_label}",
        told_words(words),
    )
}

fn told_stage(fact: &StageFact) -> String {
    let StageFact { run, attempt, job, at, deployment_at, content } = fact;
    let StageContent { words, name, created_at, started_at, completed_at } = content;
    let [created, started, completed, deployment] =
        [created_at, started_at, completed_at, deployment_at]
            .map(|time| time.map_or("-".to_owned(), |time| time.to_string()));
    format!(
        "run {run}/{attempt} job {job} {name}: {} at {at}\n\
         created {created}, started {started}, completed {completed}, deployment {deployment}",
        told_words(words),
    )
}

fn told_pull_request(fact: &PullRequestFact) -> String {
    let PullRequestFact { number, updated_at, content } = fact;
    let PullRequestContent {
        words,
        head_repository,
        head_branch,
        base_commit,
        draft,
        auto_merge,
        author,
        merged_by,
        merged_at,
        closed_at,
        labels,
    } = content;
    let PullRequestWords { state, merge, head, base_branch } = words;
    let from = head_repository.as_ref().map_or("-", |id| id.as_str());
    let base_commit = base_commit.as_ref().map_or("-", |commit| commit.as_str());
    let [author, merged_by] =
        [author, merged_by].map(|account| account.as_ref().map_or("-", |id| id.as_str()));
    let [merged_at, closed_at] =
        [merged_at, closed_at].map(|time| time.map_or("-".to_owned(), |time| time.to_string()));
    let labels: Vec<_> = labels.as_slice().iter().map(Text::as_str).collect();
    format!(
        "pull request {number}: {state}, {merge:?} = {} at {updated_at}, draft {draft}, auto-merge {auto_merge:?}\n\
         {head_branch} {head} from {from} into {base_branch} {base_commit} by {author}\n\
         merged {merged_at} by {merged_by}, closed {closed_at}, labels {labels:?}",
        words.reading().as_str(),
    )
}

fn told_words(words: &NativeWords) -> String {
    let result = words.result.as_ref().map_or("-", Word::as_str);
    format!("{}/{result} = {}", words.status, words.reading().state)
}

fn or_dash(text: Option<&Text>) -> &str {
    text.map_or("-", Text::as_str)
}
