//! JSON as a door takes it: every key once, bounded in depth, and with one canonical text.

use std::fmt;

use domain::ids::IdempotencyKey;
use ring::digest::{SHA256, digest};
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::error::{ErrorCode, ToolError};
use super::path::{Path, Step};

/// Deepest nesting. The deepest input of a tool has five levels.
const DEPTH_MAX: usize = 32;

/// Reads a whole document. A refusal names the place at which reading stopped, and repeats no value.
pub(super) fn parse(bytes: &[u8]) -> Result<Value, ToolError> {
    let mut place = Place { steps: Vec::new(), fault: None };
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let read = Seed { place: &mut place, depth: 0 }.deserialize(&mut deserializer);
    let read = read.and_then(|value| deserializer.end().map(|()| value));
    let error = match read {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    let path = Path(&place.steps).to_string();
    let refused = match place.fault {
        Some(Fault::Twice) => {
            ToolError::new(ErrorCode::InvalidJson, format!("{path} is given twice"))
        }
        Some(Fault::TooDeep) => {
            let message = format!("{path} nests deeper than {DEPTH_MAX} levels");
            ToolError::new(ErrorCode::InvalidJson, message)
        }
        None if std::str::from_utf8(bytes).is_err() => {
            ToolError::new(ErrorCode::InvalidInput, format!("{path} must be UTF-8 text"))
        }
        None => {
            let (line, column) = (error.line(), error.column());
            let message = format!("{path} is not JSON at line {line} column {column}");
            ToolError::new(ErrorCode::InvalidJson, message)
        }
    };
    Err(refused.at(path))
}

/// The one text of a document, whatever its spelling.
///
/// Keys are sorted by UTF-16 code units, there is no white space, and strings have no escapes but those that JSON demands
/// (RFC 8785). Whole numbers up to 2⁵³ have RFC 8785's text, too; other numbers have `serde_json`'s, which keeps `1.0` and
/// `1` apart.
#[must_use]
pub fn canonical(value: &Value) -> String {
    let mut text = String::new();
    write(value, &mut text);
    text
}

/// What a call context must claim of a call: the SHA-256, in lower-case hexadecimal digits, of the canonical text of
/// `{"idempotencyKey": …, "input": …}`, without the key where the call has none.
#[must_use]
pub fn input_sha256(input: &Value, key: Option<&IdempotencyKey>) -> String {
    let mut text = String::from("{");
    if let Some(key) = key {
        text.push_str("\"idempotencyKey\":");
        text.push_str(&Value::from(key.as_str()).to_string());
        text.push(',');
    }
    text.push_str("\"input\":");
    write(input, &mut text);
    text.push('}');
    digest(&SHA256, text.as_bytes()).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn write(value: &Value, text: &mut String) {
    match value {
        Value::Object(object) => {
            let mut members: Vec<_> = object.iter().collect();
            members.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
            text.push('{');
            for (index, (key, value)) in members.into_iter().enumerate() {
                if 0 < index {
                    text.push(',');
                }
                text.push_str(&Value::from(key.as_str()).to_string());
                text.push(':');
                write(value, text);
            }
            text.push('}');
        }
        Value::Array(elements) => {
            text.push('[');
            for (index, element) in elements.iter().enumerate() {
                if 0 < index {
                    text.push(',');
                }
                write(element, text);
            }
            text.push(']');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            text.push_str(&value.to_string());
        }
    }
}

/// How far reading has come.
struct Place {
    steps: Vec<Step>,
    fault: Option<Fault>,
}

enum Fault {
    Twice,
    TooDeep,
}

struct Seed<'p> {
    place: &'p mut Place,
    depth: usize,
}

impl Seed<'_> {
    fn enter<E: Error>(&mut self) -> Result<(), E> {
        if DEPTH_MAX <= self.depth {
            self.place.fault = Some(Fault::TooDeep);
            return Err(E::custom("too deep"));
        }
        Ok(())
    }

    fn inner(&mut self, step: Step) -> Seed<'_> {
        self.place.steps.push(step);
        Seed { place: &mut *self.place, depth: self.depth.saturating_add(1) }
    }
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(Value::from(number))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::from(number))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Value, E> {
        Number::from_f64(number).map(Value::Number).ok_or_else(|| E::custom("not a number"))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::from(text))
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(Value::String(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<Value, A::Error> {
        self.enter()?;
        let mut elements = Vec::new();
        while let Some(element) = list.next_element_seed(self.inner(Step::Index(elements.len())))? {
            self.place.steps.pop();
            elements.push(element);
        }
        self.place.steps.pop();
        Ok(Value::Array(elements))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Value, A::Error> {
        self.enter()?;
        let mut object = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            let inner = self.inner(Step::Key(key.clone()));
            if object.contains_key(&key) {
                inner.place.fault = Some(Fault::Twice);
                return Err(A::Error::custom("twice"));
            }
            let value = map.next_value_seed(inner)?;
            self.place.steps.pop();
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refusal(bytes: impl AsRef<[u8]>) -> (ErrorCode, String) {
        let error = parse(bytes.as_ref()).unwrap_err();
        (error.code(), error.field().unwrap().to_owned())
    }

    #[test]
    fn what_is_no_json_is_refused_where_it_stops_being_json() {
        for (bytes, field) in [
            ("", "payload"),
            ("{", "payload"),
            ("{}x", "payload"),
            ("\u{feff}{}", "payload"),
            ("{'a':1}", "payload"),
            (r#"{"a":}"#, "a"),
            (r#"{"a":[1,nope]}"#, "a[1]"),
            (r#"{"a":{"b":1e999}}"#, "a.b"),
            (r#"{"a":"\ud800"}"#, "a"),
            ("{\"a\":\"\n\"}", "a"),
        ] {
            assert_eq!(refusal(bytes), (ErrorCode::InvalidJson, field.to_owned()), "{bytes}");
        }
    }

    #[test]
    fn text_in_another_encoding_is_refused_by_its_place() {
        let refused = refusal(b"{\"input\":{\"names\":[\"a\",\"\xff\"]}}");
        assert_eq!(refused, (ErrorCode::InvalidInput, "input.names[1]".to_owned()));
        assert_eq!(refusal(b"\xff"), (ErrorCode::InvalidInput, "payload".to_owned()));
        assert_eq!(refusal(b"{\"\xff\":1}"), (ErrorCode::InvalidInput, "payload".to_owned()));
    }

    #[test]
    fn a_key_is_given_once() {
        for (bytes, field) in [
            (r#"{"a":1,"a":1}"#, "a"),
            (r#"{"a":1,"\u0061":2}"#, "a"),
            (r#"{"a":[{"b":1,"c":2,"b":3}]}"#, "a[0].b"),
        ] {
            assert_eq!(refusal(bytes), (ErrorCode::InvalidJson, field.to_owned()), "{bytes}");
        }
    }

    #[test]
    fn nesting_has_an_end() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(parse(nested(DEPTH_MAX).as_bytes()).is_ok());
        assert_eq!(refusal(nested(DEPTH_MAX + 1)).0, ErrorCode::InvalidJson);
        assert_eq!(refusal("[".repeat(60_000)).0, ErrorCode::InvalidJson);
        assert_eq!(refusal(r#"{"a":"#.repeat(12_000)).0, ErrorCode::InvalidJson);
    }

    #[test]
    fn a_document_reads_as_serde_json_reads_it() {
        for text in [
            "null",
            "[]",
            "{}",
            r#"{"b":[1,-2,1.5,true,null,"ä\n\u0000"],"a":{"c":{}}}"#,
            "18446744073709551615",
            "18446744073709551616",
            "-9223372036854775808",
            "-0",
            "1e2",
        ] {
            let expected: Value = serde_json::from_str(text).unwrap();
            assert_eq!(parse(text.as_bytes()).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn the_canonical_text_depends_on_the_contents_only() {
        let one =
            parse(b" { \"b\" : [ 1 , { \"z\":null,\"y\":\"\\u00e4\\n\\/\" } ] , \"a\": 1.50 } ");
        let other = parse("{\"a\":1.5,\"b\":[1,{\"y\":\"\u{e4}\\u000a/\",\"z\":null}]}".as_bytes());
        let text = canonical(&one.unwrap());
        assert_eq!(text, "{\"a\":1.5,\"b\":[1,{\"y\":\"\u{e4}\\n/\",\"z\":null}]}");
        assert_eq!(text, canonical(&other.unwrap()));
    }

    #[test]
    fn keys_are_sorted_as_rfc_8785_sorts_them() {
        // The RFC's own example (3.2.3): U+1F600 sorts before U+FB33, as its first code unit is U+D83D.
        let value = json!({
            "\u{20ac}": 1, "\r": 2, "\u{fb33}": 3, "1": 4, "\u{1f600}": 5, "\u{80}": 6, "\u{f6}": 7
        });
        let expected = "{\"\\r\":2,\"1\":4,\"\u{80}\":6,\"\u{f6}\":7,\"\u{20ac}\":1,\"\u{1f600}\":5,\"\u{fb33}\":3}";
        assert_eq!(canonical(&value), expected);
    }

    #[test]
    fn the_digest_of_a_call_never_changes() {
        // Issuers in other languages compute it, too: sha256 of {"idempotencyKey":"k","input":{"a":1,"b":"x"}}.
        let key = IdempotencyKey::new("k").unwrap();
        let input = json!({ "b": "x", "a": 1 });
        assert_eq!(
            input_sha256(&input, Some(&key)),
            "11ce943bdfe1fd29634462a3a2c8692c92c3d7621675b6d6dab0f8a7af4ab210"
        );
        assert_eq!(
            input_sha256(&input, None),
            "e5812c6ef8c37febad2cd6dc5632ac77464d86a1696fc22725844049aa568dac"
        );
    }
}
