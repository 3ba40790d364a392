//! Whatever comes: properties of every body.

use domain::delivery::QuarantineReason;
use domain::observation::Fact;
use domain::words::Word;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{J, P, W, read_as, read_json, samples_folder};
use crate::events::{Reading, UNDERSTOOD};
use crate::json;

/// What must hold for every body: it is observed only if another reader finds the same ids at the same places, and a
/// reason stays within its bounds.
pub(super) fn check_any(event: &str, body: &[u8]) -> Result<(), TestCaseError> {
    let reading = read_as(event, "application/json", body);
    let is_json = std::str::from_utf8(body).is_ok_and(|text| json::check(text).is_ok());
    match reading {
        Reading::Ping => prop_assert!(is_json && event == "ping"),
        Reading::Ignored { event: name } => {
            prop_assert!(is_json && !UNDERSTOOD.contains(&event));
            prop_assert_eq!(name, Word::new(event));
        }
        Reading::Quarantined(quarantined) => {
            prop_assert_eq!(quarantined.reason == QuarantineReason::NotJson, !is_json);
        }
        Reading::Observed(seen) => {
            let json: Value = serde_json::from_slice(body).unwrap();
            let repository = json["repository"]["id"].as_u64().unwrap();
            prop_assert_eq!(seen.repository.id.to_string(), repository.to_string());
            prop_assert_eq!(json["action"].as_str(), Some(seen.action.as_str()));
            prop_assert_eq!(json["installation"]["id"].as_u64(), seen.installation);
            let own = &json[event];
            match seen.fact {
                Fact::Run(fact) => {
                    prop_assert_eq!(event, "workflow_run");
                    prop_assert_eq!(own["id"].as_u64(), Some(fact.run.0));
                    prop_assert_eq!(
                        own["run_attempt"].as_u64().unwrap_or(1),
                        u64::from(fact.attempt.get())
                    );
                }
                Fact::Stage(fact) => {
                    prop_assert_eq!(event, "workflow_job");
                    prop_assert_eq!(own["id"].as_u64(), Some(fact.job.0));
                    prop_assert_eq!(own["run_id"].as_u64(), Some(fact.run.0));
                }
                Fact::PullRequest(fact) => {
                    prop_assert_eq!(event, "pull_request");
                    prop_assert_eq!(own["number"].as_u64(), Some(fact.number.get()));
                    prop_assert_eq!(
                        own["head"]["sha"].as_str().map(str::to_lowercase),
                        Some(fact.content.words.head.to_string())
                    );
                    prop_assert_eq!(
                        own["base"]["repo"]["id"].as_u64().unwrap_or(repository),
                        repository
                    );
                }
            }
        }
    }
    Ok(())
}

fn any_event() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "workflow_run",
        "workflow_job",
        "pull_request",
        "ping",
        "push",
        "tomorrow",
    ])
}

fn any_body() -> impl Strategy<Value = (&'static str, Value)> {
    let sample = |file: &str| {
        let folder = samples_folder();
        serde_json::from_slice::<Value>(&std::fs::read(folder.join(file)).unwrap()).unwrap()
    };
    prop::sample::select(vec![
        ("workflow_run", serde_json::from_str(W).unwrap()),
        ("workflow_job", serde_json::from_str(J).unwrap()),
        ("pull_request", serde_json::from_str(P).unwrap()),
        ("pull_request", sample("pull_request.closed.json")),
        ("workflow_run", sample("workflow_run.completed.json")),
        ("workflow_job", sample("workflow_job.waiting.json")),
    ])
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,20}".prop_map(Value::from),
        Just(json!("completed")),
        Just(json!("9999-12-31T23:59:59Z")),
    ];
    leaf.prop_recursive(3, 20, 4, |inner| {
        let key = prop::sample::select(vec!["id", "status", "full_name", "updated_at", "q"]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key, inner), 0..4).prop_map(|fields| {
                fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
            }),
        ]
    })
}

/// Every place of a value that can be changed.
fn places(json: &Value) -> Vec<String> {
    let mut places = vec![String::new()];
    let mut add = |key: &str, value: &Value| {
        places.extend(self::places(value).into_iter().map(|place| format!("/{key}{place}")));
    };
    match json {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| add(key, value)),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(place, item)| add(&place.to_string(), item));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => (),
    }
    places
}

proptest! {
    /// Bytes without any order are never an observation, and never a crash.
    #[test]
    fn any_bytes_are_read_without_harm(
        event in any_event(),
        body in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        check_any(event, &body)?;
    }

    /// JSON of any shape.
    #[test]
    fn any_json_is_read_without_harm(event in any_event(), body in any_json()) {
        check_any(event, body.to_string().as_bytes())?;
    }

    /// A valid body in which values were exchanged, up to three.
    #[test]
    fn any_changed_value_is_read_without_harm(
        (event, mut body) in any_body(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any_json()), 1..4),
    ) {
        for (place, value) in changes {
            let places = places(&body);
            *body.pointer_mut(place.get::<String>(&places)).unwrap() = value;
        }
        check_any(event, body.to_string().as_bytes())?;
    }

    /// A valid body in which bytes were exchanged, taken away or put in.
    #[test]
    fn any_changed_byte_is_read_without_harm(
        (event, body) in any_body(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3_u8), 1..6),
    ) {
        let mut body = body.to_string().into_bytes();
        for (place, byte, how) in changes {
            let place = place.index(body.len());
            match how {
                0 => body[place] = byte,
                1 => drop(body.remove(place)),
                _ => body.insert(place, byte),
            }
        }
        check_any(event, &body)?;
    }

    /// Two fields of one name, anywhere: what is observed is what the first and only value says.
    #[test]
    fn any_doubled_field_is_read_without_harm(
        (event, body) in any_body(),
        place in any::<prop::sample::Index>(),
    ) {
        let body = body.to_string();
        let starts: Vec<_> = body.match_indices(",\"").map(|(start, _)| start).collect();
        let start = *place.get(&starts);
        let end = body[start + 1..].find(",\"").map_or(body.len() - 1, |end| start + 1 + end);
        let doubled = format!("{}{}{}", &body[..end], &body[start..end], &body[end..]);
        if let Reading::Observed(seen) = read_json(event, &doubled) {
            prop_assert_eq!(Reading::Observed(seen), read_json(event, &body));
        }
    }
}
