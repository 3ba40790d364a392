//! What a story says and what was observed, side by side.

use serde::Serialize;
use serde_json::Value;

use super::{MirrorView, Told};

/// What was told and what was observed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Compared<T> {
    /// What is compared.
    pub step: String,
    /// What the story says.
    pub expected: T,
    /// What happened.
    pub observed: T,
    /// Whether they are the same.
    pub ok: bool,
}

/// A step's deliveries, and the mirrors after it.
pub type StepReport = Compared<Told>;

/// One mirror at the end. Absent on one side when only the other has it.
pub type MirrorReport = Compared<Option<MirrorView>>;

/// A played story.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// In the order in which they were played.
    pub steps: Vec<StepReport>,
    /// All mirrors at the end.
    pub mirrors: Vec<MirrorReport>,
}

impl<T: PartialEq> Compared<T> {
    pub(crate) fn new(step: impl Into<String>, expected: T, observed: T) -> Self {
        let ok = expected == observed;
        Self { step: step.into(), expected, observed, ok }
    }
}

impl Report {
    /// Whether everything happened as the story says.
    #[must_use]
    pub fn is_as_told(&self) -> bool {
        self.steps.iter().all(|step| step.ok) && self.mirrors.iter().all(|mirror| mirror.ok)
    }
}

/// Where two values differ, one line each, with the place in front.
#[must_use]
pub fn differences<T: Serialize>(expected: &T, observed: &T) -> Vec<String> {
    let value = |side: &T| serde_json::to_value(side).unwrap_or_default();
    let mut found = Vec::new();
    walk("", &value(expected), &value(observed), &mut found);
    found
}

fn walk(place: &str, expected: &Value, observed: &Value, found: &mut Vec<String>) {
    match (expected, observed) {
        (Value::Object(left), Value::Object(right)) => {
            let only_right = right.keys().filter(|name| !left.contains_key(*name));
            for name in left.keys().chain(only_right) {
                let place = if place.is_empty() { name.clone() } else { format!("{place}.{name}") };
                let side = |side: &serde_json::Map<String, Value>| {
                    side.get(name).cloned().unwrap_or_default()
                };
                walk(&place, &side(left), &side(right), found);
            }
        }
        (Value::Array(left), Value::Array(right)) => {
            for index in 0..left.len().max(right.len()) {
                let side = |side: &[Value]| side.get(index).cloned().unwrap_or_default();
                let (left, right) = (side(left), side(right));
                let name = name(&left).unwrap_or_else(|| index.to_string());
                walk(&format!("{place}[{name}]"), &left, &right, found);
            }
        }
        _ if expected == observed => (),
        _ => {
            let place = if place.is_empty() { "it" } else { place };
            found.push(format!(
                "{place}: expected {}, observed {}",
                show(expected),
                show(observed)
            ));
        }
    }
}

/// What a delivery or run is called, which says more than its place in a list.
fn name(value: &Value) -> Option<String> {
    let names = ["deliveryId", "externalRunId"].into_iter();
    names.filter_map(|name| value.get(name)).map(show).next()
}

fn show(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_delivery_is_named_by_its_id() {
        let told = |ledger| json!({ "deliveries": [{ "deliveryId": "d-7", "ledger": ledger }] });
        let found = differences(&told("applied"), &told("no-op"));
        assert_eq!(found, ["deliveries[d-7].ledger: expected applied, observed no-op"]);
    }

    #[test]
    fn a_difference_names_its_place() {
        let expected = json!({ "a": [{ "b": 1, "c": "x" }, 2], "d": null, "e": "same" });
        let observed =
            json!({ "a": [{ "b": 1, "c": "y" }], "d": {"f": true}, "e": "same", "g": 1 });
        assert_eq!(
            differences(&expected, &observed),
            [
                "a[0].c: expected x, observed y",
                "a[1]: expected 2, observed nothing",
                r#"d: expected nothing, observed {"f":true}"#,
                "g: expected nothing, observed 1",
            ]
        );
        assert_eq!(differences(&expected, &expected), [""; 0]);
        assert_eq!(differences(&json!(null), &json!(1)), ["it: expected nothing, observed 1"]);
    }
}
