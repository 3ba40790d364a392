//! What a body must look like to be read as the event that its header names.

use domain::delivery::QuarantineReason;
use domain::ids::Host;
use domain::words::Word;
use serde_json::{Value, json};

use super::{J, SECRET, W, read_as, read_json, reason, run_fact, told, with};
use crate::events::{Reading, read};
use crate::headers::Headers;
use crate::verify::{LiveSecrets, Signature, WebhookSecret, sign, verify};

#[test]
fn what_is_not_json_is_quarantined_whatever_the_event() {
    let bodies: [&[u8]; 11] = [
        b"Hello, World!",
        b"",
        b" ",
        b"{",
        b"{}}",
        b"{\"a\":1,}",
        b"{'a':1}",
        b"\xef\xbb\xbf{}",
        b"{\"a\":\"\xff\"}",
        b"NaN",
        b"{\"a\":\"\n\"}",
    ];
    for event in ["push", "ping", "workflow_run", "workflow_job", "tomorrow", ""] {
        for body in bodies {
            let reading = read_as(event, "application/json", body);
            assert_eq!(reading, Reading::Quarantined(QuarantineReason::NotJson.into()), "{event}");
        }
    }
    let cut_short = &W[..W.len() - 1];
    assert_eq!(reason("workflow_run", cut_short), "not JSON");
    let also_of_another_type = with(W, "workflow_run.id", json!("x")) + "x";
    assert_eq!(reason("workflow_run", &also_of_another_type), "not JSON");
}

#[test]
fn an_event_that_is_not_understood_is_ignored_by_name() {
    for body in ["{}", "[]", "1", "null", W] {
        let ignored = Reading::Ignored { event: Word::new("tomorrow") };
        assert_eq!(read_json("tomorrow", body), ignored);
        assert_eq!(
            read_json("Workflow_Run", body),
            Reading::Ignored { event: Word::new("Workflow_Run") }
        );
        assert_eq!(read_json("ping", body), Reading::Ping);
    }
}

#[test]
fn a_delivery_without_an_event_is_not_lost_silently() {
    let body = b"{}";
    let secret = WebhookSecret::new(SECRET).unwrap();
    let headers = Headers::default();
    let signature = Signature::parse(Some(&sign(body, &secret))).unwrap();
    let secrets = LiveSecrets { current: secret, previous: None };
    let verified = verify(body, &signature, &secrets).unwrap();
    let reading = read(&verified, &headers, &Host::new("github.com").unwrap());
    assert_eq!(told(&reading), "quarantined: ShapeMismatch: no X-GitHub-Event header (? in ?)");
}

#[test]
fn a_form_is_read_like_its_json() {
    let encoded = percent_encoding::utf8_percent_encode(W, percent_encoding::NON_ALPHANUMERIC);
    let form = format!("payload={encoded}");
    let content_type = "application/x-www-form-urlencoded";
    assert_eq!(
        read_as("workflow_run", content_type, form.as_bytes()),
        read_json("workflow_run", W)
    );
    let as_json = read_as("workflow_run", "application/json", form.as_bytes());
    assert_eq!(as_json, Reading::Quarantined(QuarantineReason::NotJson.into()));
    for event in ["workflow_run", "ping", "tomorrow"] {
        let told = told(&read_as(event, content_type, b"a=b"));
        assert_eq!(told, "quarantined: Unreadable: no form field payload (? in ?)");
    }
}

#[test]
fn a_body_of_another_event_is_a_mismatch() {
    assert_eq!(reason("workflow_run", J), "ShapeMismatch: workflow_job belongs to another event");
    assert_eq!(reason("workflow_job", W), "ShapeMismatch: workflow_run belongs to another event");
    // A deployment's status carries the run that deploys, whole.
    let mut deployment_status: Value = serde_json::from_str(W).unwrap();
    deployment_status["action"] = json!("created");
    deployment_status["deployment"] = json!({"id": 1, "updated_at": "2026-11-17T10:00:00Z"});
    deployment_status["deployment_status"] = json!({"id": 2, "state": "success"});
    assert_eq!(
        reason("workflow_run", &deployment_status.to_string()),
        "ShapeMismatch: deployment belongs to another event"
    );
    // A deployment's review carries the run, and one of its actions is an action of a run.
    let mut review: Value = serde_json::from_str(W).unwrap();
    review["action"] = json!("requested");
    for mark in ["requestor", "reviewers", "since", "workflow_job_run"] {
        let review = with(&review.to_string(), mark, json!(null));
        assert_eq!(
            reason("workflow_run", &review),
            format!("ShapeMismatch: {mark} belongs to another event")
        );
    }
    // A mark outweighs what is wrong inside of the own object.
    let broken = with(&with(W, "workflow_run.id", json!("x")), "check_run", json!({}));
    assert_eq!(
        told(&read_json("workflow_run", &broken)),
        "quarantined: ShapeMismatch: check_run belongs to another event (completed in github.com/11)"
    );
}

#[test]
fn the_own_object_and_the_repository_must_be_there() {
    for absent in [None, Some(Value::Null)] {
        let told = |event, body, path| told(&read_json(event, &with(body, path, absent.clone())));
        assert_eq!(
            told("workflow_run", W, "workflow_run"),
            "quarantined: ShapeMismatch: no workflow_run (completed in github.com/11)"
        );
        assert_eq!(
            told("workflow_job", J, "workflow_job"),
            "quarantined: ShapeMismatch: no workflow_job (queued in github.com/11)"
        );
        assert_eq!(
            told("workflow_run", W, "repository"),
            "quarantined: ShapeMismatch: no repository (completed in ?)"
        );
        assert_eq!(
            told("workflow_run", W, "repository.id"),
            "quarantined: Unreadable: repository.id is missing (completed in ?)"
        );
        assert_eq!(
            told("workflow_run", W, "action"),
            "quarantined: ShapeMismatch: no action (? in github.com/11)"
        );
    }
    assert_eq!(reason("workflow_run", "{}"), "ShapeMismatch: no action");
}

#[test]
fn an_unknown_action_is_named_if_it_looks_like_one() {
    let told = |action: &str| told(&read_json("workflow_run", &with(W, "action", json!(action))));
    assert_eq!(
        told("superseded"),
        "quarantined: ShapeMismatch: action of workflow_run is superseded (superseded in github.com/11)"
    );
    assert_eq!(
        told("queued"),
        "quarantined: ShapeMismatch: action of workflow_run is queued (queued in github.com/11)"
    );
    for odd in ["Completed", "completed ", "<b>", "", "a\n", &"a".repeat(65)] {
        assert_eq!(
            told(odd),
            "quarantined: ShapeMismatch: action of workflow_run is another word (? in github.com/11)"
        );
    }
}

#[test]
fn a_body_that_names_two_repositories_is_nobodys() {
    let two = with(W, "workflow_run.repository", json!({"id": 22}));
    assert_eq!(
        told(&read_json("workflow_run", &two)),
        "quarantined: ShapeMismatch: workflow_run.repository.id is not repository.id (completed in ?)"
    );
    for same in [json!({"id": 11}), json!({"id": null}), json!({}), json!(null)] {
        assert_eq!(run_fact(&with(W, "workflow_run.repository", same)), run_fact(W));
    }
    let twice = W.replace(
        r#""repository":{"id":11,"full_name":"a/b"}"#,
        r#""repository":{"id":11,"full_name":"a/b"},"repository":{"id":22,"full_name":"a/b"}"#,
    );
    assert_eq!(
        told(&read_json("workflow_run", &twice)),
        "quarantined: Unreadable: body at line 1 column 321 (? in ?)"
    );
}
