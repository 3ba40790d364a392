//! Bodies that an enemy with a valid secret would send, and that a parser would stumble over.

use domain::pipeline_run::PipelineRunState;
use domain::words::Word;
use serde_json::{Value, json};

use super::{J, W, read_json, reason, run_fact, with};
use crate::events::{Quarantined, Reading};

#[test]
fn a_known_field_that_stands_twice_is_refused() {
    for (body, event, field) in [
        (W, "workflow_run", r#""action":"completed""#),
        (W, "workflow_run", r#""id":880"#),
        (W, "workflow_run", r#""id":11"#),
        (W, "workflow_run", r#""full_name":"a/b""#),
        (W, "workflow_run", r#""status":"completed""#),
        (J, "workflow_job", r#""run_id":880"#),
        (J, "workflow_job", r#""deployment":{"updated_at":"2026-11-17T10:00:01Z"}"#),
        (J, "workflow_job", r#""updated_at":"2026-11-17T10:00:01Z""#),
    ] {
        let twice = body.replacen(field, &format!("{field},{field}"), 1);
        assert!(reason(event, &twice).starts_with("Unreadable: "), "{field}");
    }
    // However the name is spelt, and whatever the first value was.
    let escaped = W.replacen('{', r#"{"repositor\u0079":null,"#, 1);
    assert!(reason("workflow_run", &escaped).starts_with("Unreadable: body at "));
    let unknown = W.replacen('{', r#"{"q":1,"q":[2],"#, 1);
    assert_eq!(run_fact(&unknown), run_fact(W));
}

#[test]
fn an_array_is_no_object() {
    let as_array = with(W, "repository", json!([11, "a/b"]));
    assert!(reason("workflow_run", &as_array).starts_with("Unreadable: repository at "));
    for (body, event, path) in [
        (W, "workflow_run", "workflow_run"),
        (W, "workflow_run", "workflow_run.head_repository"),
        (W, "workflow_run", "workflow_run.repository"),
        (W, "workflow_run", "installation"),
        (J, "workflow_job", "workflow_job"),
        (J, "workflow_job", "deployment"),
    ] {
        let reason = reason(event, &with(body, path, json!([1, 2])));
        assert!(reason.starts_with(&format!("Unreadable: {path} at line 1 column ")), "{reason}");
    }
    assert_eq!(reason("workflow_run", "[]"), "Unreadable: body at line 1 column 0");
}

#[test]
fn what_is_skipped_may_be_anything_that_is_json() {
    for junk in [
        "\"\\ud800\"",
        "1e999",
        "18446744073709551616",
        "\"\\u0000\"",
        "[[],{},[{\"a\":[null]}]]",
        "{\"workflow_run\":{},\"workflow_run\":1}",
    ] {
        let body = W.replacen('{', &format!("{{\"q\":{junk},"), 1);
        assert_eq!(run_fact(&body), run_fact(W), "{junk}");
        let inside = W.replacen("{\"id\":880", &format!("{{\"q\":{junk},\"id\":880"), 1);
        assert_eq!(run_fact(&inside), run_fact(W), "{junk}");
    }
}

#[test]
fn what_is_read_must_be_what_it_is() {
    for (path, junk) in [
        ("workflow_run.id", "1e999"),
        ("workflow_run.id", "880.0"),
        ("workflow_run.id", "-880"),
        ("workflow_run.id", "\"880\""),
        ("workflow_run.id", "18446744073709551616"),
        ("workflow_run.run_attempt", "4294967296"),
        ("workflow_run.run_attempt", "0"),
        ("workflow_run.status", "\"\\ud800\""),
        ("workflow_run.status", "\"\\udc00\\ud800\""),
        ("workflow_run.status", "true"),
        ("workflow_run.conclusion", "{}"),
        ("workflow_run.updated_at", "1e999"),
        ("workflow_run.updated_at", "\"tomorrow\""),
        ("repository.id", "18446744073709551616"),
        ("repository.full_name", "7"),
        ("installation", "7"),
        ("installation.id", "-7"),
        ("action", "7"),
    ] {
        let installed = with(W, "installation", json!({"id": 7}));
        let marked = with(&installed, path, json!("here"));
        let reason = reason("workflow_run", &marked.replace("\"here\"", junk));
        assert!(reason.starts_with(&format!("Unreadable: {path} ")), "{path} {junk}: {reason}");
    }
}

#[test]
fn escapes_and_nul_are_ordinary() {
    let body = W
        .replace("\"a/b\"", r#""a\/\u0062\u0000\"\ud83d\ude00""#)
        .replace("\"completed\",\"con", r#""complete\u0064","con"#);
    let fact = run_fact(&body);
    assert_eq!(fact.content.repository_label.as_str(), "a/b\0\"😀");
    assert_eq!(fact.content.words.reading().state, PipelineRunState::Succeeded);
}

#[test]
fn depth_is_harmless() {
    // On a stack on which 100,000 calls could not stand, and a hundred barely.
    let stack_bytes = 128 * 1024;
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let objects = format!("{}1{}", "{\"q\":".repeat(100_000), "}".repeat(100_000));
    let read = move || {
        for q in [&deep, &objects] {
            let body = W.replacen('{', &format!("{{\"q\":{q},"), 1);
            assert_eq!(run_fact(&body), run_fact(W));
            let inside = W.replacen("{\"id\":880", &format!("{{\"q\":{q},\"id\":880"), 1);
            assert_eq!(run_fact(&inside), run_fact(W));
            assert_eq!(read_json("tomorrow", q), Reading::Ignored { event: Word::new("tomorrow") });
            // In place of what is read, too, and on the way that explains.
            for path in ["action", "repository", "workflow_run", "workflow_run.id"] {
                let body = with(W, path, json!("here")).replace("\"here\"", q);
                assert!(reason("workflow_run", &body).starts_with("Unreadable: "), "{path}");
            }
        }
        let open = "[".repeat(1_000_000);
        assert_eq!(reason("workflow_run", &open), "not JSON");
        assert_eq!(reason("tomorrow", &open), "not JSON");
    };
    std::thread::Builder::new().stack_size(stack_bytes).spawn(read).unwrap().join().unwrap();
}

#[test]
fn a_reason_never_repeats_the_body() {
    let canary = "CANARY";
    let values = [
        json!(canary),
        json!([canary]),
        json!({canary: canary}),
        json!({"id": canary}),
        json!({"id": {canary: 1}, "updated_at": canary}),
        json!(canary.repeat(1000)),
    ];
    let fields = |body: &str, own: &str| {
        let json: Value = serde_json::from_str(body).unwrap();
        let inner = json[own].as_object().unwrap().keys().map(|key| format!("{own}.{key}"));
        let outer = json.as_object().unwrap().keys().cloned();
        outer
            .chain(inner)
            .chain(["repository.id".into(), "installation".into()])
            .collect::<Vec<_>>()
    };
    let mut refused = 0;
    for (body, event) in [(W, "workflow_run"), (J, "workflow_job")] {
        for field in fields(body, event) {
            for value in &values {
                let body = with(body, &field, value.clone());
                for body in [body.as_str(), &body[..body.len() - 1]] {
                    let Reading::Quarantined(quarantined) = read_json(event, body) else {
                        continue;
                    };
                    refused += 1;
                    let Quarantined { reason, action, repository } = quarantined;
                    let kept = format!("{reason:?} {reason} {action:?} {repository:?}");
                    assert!(!kept.contains(canary), "{field}: {kept}");
                }
            }
        }
    }
    assert!(refused > 200, "only {refused} bodies were refused");
}
