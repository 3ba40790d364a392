//! What the fields of an understood body mean.

use domain::delivery::Delivery;
use domain::fold::fold;
use domain::ids::{DeliveryId, Host, SourceId};
use domain::observation::{Doubt, Origin};
use domain::pipeline_run::PipelineRunState;
use domain::words::Word;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{J, SECRET, W, reason, run_fact, seen, stage_fact, with};
use crate::events::{Reading, read};
use crate::headers::Headers;
use crate::verify::{LiveSecrets, WebhookSecret, sign, verify};

#[test]
fn ids_beyond_two_to_the_32_keep_every_digit() {
    let body = with(W, "workflow_run.id", json!(u64::MAX));
    let body = with(&body, "workflow_run.run_number", json!(u64::MAX));
    let body = with(&body, "workflow_run.run_attempt", json!(u32::MAX));
    let body =
        with(&body, "workflow_run.head_repository", json!({"id": 9_007_199_254_740_993_u64}));
    let body = with(&body, "repository.id", json!(712_345_678_901_u64));
    let seen = seen("workflow_run", &body);
    assert_eq!(seen.repository.to_string(), "github.com/712345678901");
    let fact = run_fact(&body);
    assert_eq!((fact.run.0, fact.attempt.get()), (u64::MAX, u32::MAX));
    assert_eq!(fact.content.run_number, Some(u64::MAX));
    assert_eq!(fact.content.head_repository.unwrap().as_str(), "9007199254740993");
}

#[test]
fn what_may_be_missing_is_none() {
    for absent in [None, Some(Value::Null)] {
        let set = |path| run_fact(&with(W, path, absent.clone()));
        assert_eq!(set("workflow_run.run_attempt").attempt.get(), 1);
        assert_eq!(set("workflow_run.head_branch").content.branch, None);
        assert_eq!(set("workflow_run.name").content.name, None);
        assert_eq!(set("workflow_run.head_repository").content.head_repository, None);
        let words = set("workflow_run.conclusion").content.words;
        assert_eq!(
            (words.result.as_ref(), words.reading().state),
            (None, PipelineRunState::Unknown)
        );
        assert_eq!(set("workflow_run.run_number").content.run_number, None);
        assert_eq!(set("workflow_run.event").content.event.as_str(), "");
        assert_eq!(set("repository.full_name").content.repository_label.as_str(), "11");
        let old_host = with(W, "workflow_run.path", absent.clone());
        assert_eq!(run_fact(&old_host).content.definition.as_str(), "unknown");
        let old_host = with(&old_host, "workflow_run.workflow_id", json!(16_340_987));
        assert_eq!(run_fact(&old_host).content.definition.as_str(), "workflow:16340987");
        let old_host = with(W, "workflow_run.run_started_at", absent.clone());
        let fact = run_fact(&old_host);
        assert_eq!(fact.content.started_at, fact.updated_at, "no later than this");
        let created = json!("2026-11-17T09:59:59Z");
        let fact = run_fact(&with(&old_host, "workflow_run.created_at", created));
        assert_eq!(fact.content.started_at.to_string(), "2026-11-17T09:59:59Z");
    }
    let fact = run_fact(
        &with(W, "workflow_run.path", json!(""))
            .replace("\"id\":880", "\"workflow_id\":5,\"id\":880"),
    );
    assert_eq!(fact.content.definition.as_str(), "workflow:5");
}

/// A re-run keeps the run's `created_at`, and starts anew.
#[test]
fn an_attempt_starts_when_it_was_started() {
    let body = with(W, "workflow_run.created_at", json!("2026-11-15T08:00:00Z"));
    let started_at = run_fact(&body).content.started_at;
    assert_eq!(started_at.to_string(), "2026-11-17T10:00:00Z");
}

#[test]
fn what_a_version_or_a_decision_needs_may_not_be_missing() {
    for (event, body, field) in
        [("workflow_run", W, "id"), ("workflow_job", J, "id"), ("workflow_job", J, "run_id")]
    {
        let field = format!("{event}.{field}");
        let zero = with(body, &field, json!(0));
        assert_eq!(reason(event, &zero), format!("Unreadable: {field} is zero"));
    }
    for field in ["id", "updated_at", "status", "head_sha"] {
        let body = with(W, &format!("workflow_run.{field}"), None);
        assert_eq!(
            reason("workflow_run", &body),
            format!("Unreadable: workflow_run.{field} is missing")
        );
    }
    for field in ["id", "run_id", "status"] {
        let body = with(J, &format!("workflow_job.{field}"), None);
        assert_eq!(
            reason("workflow_job", &body),
            format!("Unreadable: workflow_job.{field} is missing")
        );
    }
}

#[test]
fn words_are_kept_verbatim_within_bounds() {
    let body = with(W, "workflow_run.status", json!("Paused\u{1b}[31m"));
    let words = run_fact(&body).content.words;
    assert_eq!(words.status.as_str(), "Paused\u{1b}[31m");
    assert_eq!(words.reading().state, PipelineRunState::Unknown);
    let long = run_fact(&with(W, "workflow_run.conclusion", json!("x".repeat(10_000))));
    assert_eq!(long.content.words.result.unwrap().as_str().len(), 64);
    let long = run_fact(&with(W, "workflow_run.head_branch", json!("x".repeat(10_000))));
    assert_eq!(long.content.branch.unwrap().as_str().len(), 256);
}

#[test]
fn a_completed_action_with_an_unfinished_body_is_doubtful() {
    let doubt = |event, body: &str| seen(event, body).doubt;
    assert_eq!(doubt("workflow_run", W), None);
    for (status, conclusion) in [
        ("queued", None),
        ("in_progress", None),
        ("completed", None),
        ("completed", Some("tomorrow")),
        ("in_progress", Some("success")),
    ] {
        let body = with(W, "workflow_run.status", json!(status));
        let body = with(&body, "workflow_run.conclusion", json!(conclusion));
        assert_eq!(doubt("workflow_run", &body), Some(Doubt::ActionDisagrees), "{body}");
        let body = with(&body, "action", json!("in_progress"));
        assert_eq!(doubt("workflow_run", &body), None, "{body}");
    }
    assert_eq!(
        doubt("workflow_job", &with(J, "action", json!("completed"))),
        Some(Doubt::ActionDisagrees)
    );
    // The body is the truth: an action that lags behind it is no reason to doubt it.
    assert_eq!(doubt("workflow_run", &with(W, "action", json!("requested"))), None);
}

#[test]
fn an_installation_is_what_github_signed() {
    let installation = |value| seen("workflow_run", &with(W, "installation", value)).installation;
    assert_eq!(installation(json!({"id": 4_294_967_297_u64, "node_id": "x"})), Some(4_294_967_297));
    for none in [json!(null), json!({}), json!({"id": null})] {
        assert_eq!(installation(none), None);
    }
    assert_eq!(seen("workflow_run", W).installation, None);
}

#[test]
fn a_job_is_as_new_as_the_latest_of_its_times() {
    let second = |second: u32| json!(format!("2026-11-17T10:00:{second:02}Z"));
    let at = |created: Value, started: Value, completed: Value| {
        let body = with(J, "workflow_job.created_at", created);
        let body = with(&body, "workflow_job.started_at", started);
        stage_fact(&with(&body, "workflow_job.completed_at", completed)).at.to_string()
    };
    assert_eq!(at(second(1), second(2), second(3)), "2026-11-17T10:00:03Z");
    assert_eq!(at(second(1), second(4), second(3)), "2026-11-17T10:00:04Z");
    assert_eq!(at(second(5), json!(null), json!(null)), "2026-11-17T10:00:05Z");
    assert_eq!(at(json!(null), second(6), json!(null)), "2026-11-17T10:00:06Z");
    let timeless = with(J, "workflow_job.created_at", None);
    let timeless = with(&timeless, "workflow_job.started_at", None);
    assert_eq!(
        reason("workflow_job", &timeless),
        "Unreadable: every time of workflow_job is missing"
    );
}

#[test]
fn a_version_of_the_year_9999_is_read_and_lies_in_the_future() {
    let body = with(W, "workflow_run.updated_at", json!("9999-12-31T23:59:59Z"));
    assert_eq!(run_fact(&body).updated_at, Timestamp::MAX);
}

#[test]
fn the_host_is_the_sources_and_never_the_bodys() {
    let body = with(W, "enterprise", json!({"slug": "x"}));
    let secret = WebhookSecret::new(SECRET).unwrap();
    let signature = sign(body.as_bytes(), &secret);
    let headers = Headers::from_iter([
        ("X-GitHub-Event", "workflow_run"),
        ("X-GitHub-Enterprise-Host", "github.com"),
        ("X-Hub-Signature-256", signature.as_str()),
    ]);
    let secrets = LiveSecrets { current: secret, previous: None };
    let verified = verify(body.as_bytes(), &headers.signature().unwrap(), &secrets).unwrap();
    let reading = read(&verified, &headers, &Host::new("ghe.example.com").unwrap());
    let Reading::Observed(seen) = reading else { panic!("{reading:?}") };
    assert_eq!(seen.repository.to_string(), "ghe.example.com/11");
}

/// An approval takes a job from queued to waiting and back, and nothing but its deployment's time tells the three bodies
/// apart.
#[test]
fn queued_waiting_queued_ends_queued_in_every_order() {
    let body = |action: &str, second: u32| {
        let body = with(J, "action", json!(action));
        let body = with(&body, "workflow_job.status", json!(action));
        with(&body, "deployment.updated_at", json!(format!("2026-11-17T10:00:{second:02}Z")))
    };
    let bodies = [body("queued", 0), body("waiting", 1), body("queued", 2)];
    let sightings = bodies.map(|body| stage_fact(&body).sighting(&delivered(), None));
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    for order in orders {
        let shuffled = order.map(|place| sightings[place].clone());
        let folded = fold(None, &shuffled).unwrap();
        assert_eq!(folded.next.state(), PipelineRunState::Queued, "{order:?}");
        assert!(!folded.next.contested, "{order:?}");
    }
}

fn delivered() -> Origin {
    Origin::Delivery(Delivery {
        source: SourceId::new("acme").unwrap(),
        hook: None,
        id: DeliveryId::new("1").unwrap(),
        event: Word::new("workflow_job"),
        action: None,
        body_sha256: String::new(),
        received_at: Timestamp::from_second(1_795_000_000).unwrap(),
    })
}
