//! Reading JSON that somebody else wrote: what serde's derive alone would take too literally or not literally enough.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use domain::delivery::QuarantineReason;
use domain::words::Text;
use jiff::Timestamp;
use jiff::fmt::temporal::Pieces;
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, Visitor};

/// Longest field path that a reason repeats.
const PATH_CHARACTERS_MAX: usize = 100;

/// An object, and nothing but an object: a derived struct alone would take an array of its fields' values, too.
#[derive(Debug, Clone)]
pub struct Strict<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Strict<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Object<T> {
            type Value = T;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map))
            }
        }
        deserializer.deserialize_map(Object(PhantomData)).map(Strict)
    }
}

/// A text, borrowed where the body holds it literally. A `&str` would refuse every escape, and serde's own
/// `Option<Cow<str>>` never borrows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Str<'a>(pub(crate) Cow<'a, str>);

impl Str<'_> {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Str<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Characters;
        impl<'de> Visitor<'de> for Characters {
            type Value = Str<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Str(Cow::Borrowed(text)))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Str(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Characters)
    }
}

/// A time as GitHub writes it: RFC 3339 with any offset and perhaps a fraction, or whole seconds since 1970.
///
/// Kept to the microsecond; GitHub's times have a resolution of a second, rarely of a millisecond. Deliveries and answers of
/// REST are read by this one, or a snapshot that came both ways would contradict itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(pub Timestamp);

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Instant;
        impl Visitor<'_> for Instant {
            type Value = Time;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a time")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Time, E> {
                time_of(text).ok_or_else(|| E::custom("not a time"))
            }

            fn visit_i64<E: Error>(self, seconds: i64) -> Result<Time, E> {
                Timestamp::from_second(seconds).map(Time).map_err(|_| E::custom("not a time"))
            }

            fn visit_u64<E: Error>(self, seconds: u64) -> Result<Time, E> {
                let seconds = i64::try_from(seconds).map_err(|_| E::custom("not a time"))?;
                self.visit_i64(seconds)
            }
        }
        deserializer.deserialize_any(Instant)
    }
}

/// Reads RFC 3339. The last hours of the year 9999 lie beyond what a timestamp holds and count as the last time it
/// holds: such a version is refused for lying in the future, which says more than "not a time".
fn time_of(text: &str) -> Option<Time> {
    let pieces = Pieces::parse(text).ok()?;
    if pieces.time_zone_annotation().is_some() {
        return None;
    }
    let local = pieces.date().to_datetime(pieces.time()?);
    let offset = pieces.to_numeric_offset()?;
    match offset.to_timestamp(local) {
        Ok(time) => Timestamp::from_microsecond(time.as_microsecond()).ok().map(Time),
        Err(_) => (local.year() == 9999).then_some(Time(Timestamp::MAX)),
    }
}

/// Whether a text is JSON at all. Cheap, and safe at any depth: what is skipped is not recursed into.
pub(crate) fn check(text: &str) -> Result<(), QuarantineReason> {
    serde_json::from_str::<IgnoredAny>(text).map(|_| ()).map_err(|_| QuarantineReason::NotJson)
}

/// Why a text that is not a `T` isn't one. Names the field and the position; serde's own words are left out, because
/// they repeat the value.
pub(crate) fn explain<'a, T: Deserialize<'a>>(text: &'a str) -> QuarantineReason {
    if let Err(reason) = check(text) {
        return reason;
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let place = match serde_path_to_error::deserialize::<_, T>(&mut deserializer) {
        Ok(_) => "unknown place".to_owned(),
        Err(error) => {
            let (line, column) = (error.inner().line(), error.inner().column());
            format!("{} at line {line} column {column}", known_path(&error.path().to_string()))
        }
    };
    unreadable(&place)
}

pub(crate) fn unreadable(place: &str) -> QuarantineReason {
    QuarantineReason::Unreadable { place: Text::new(place) }
}

pub(crate) fn shape_mismatch(place: &str) -> QuarantineReason {
    QuarantineReason::ShapeMismatch { place: Text::new(place) }
}

/// Reading stops inside a known field only, so a path is made of our own names. Should it ever not be, it is dropped.
fn known_path(path: &str) -> &str {
    let is_ours = path.len() <= PATH_CHARACTERS_MAX
        && path.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'_' | b'.'));
    match path {
        "." => "body",
        path if is_ours => path,
        _ => "a field",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    struct Named<'a> {
        #[serde(borrow)]
        name: Option<Str<'a>>,
    }

    fn time(json: &str) -> Option<String> {
        serde_json::from_str::<Time>(json).ok().map(|time| time.0.to_string())
    }

    #[test]
    fn a_struct_is_an_object_and_no_array() {
        assert!(serde_json::from_str::<Named<'_>>(r#"["a"]"#).is_ok(), "derive alone is lenient");
        assert!(serde_json::from_str::<Strict<Named<'_>>>(r#"["a"]"#).is_err());
        assert!(serde_json::from_str::<Strict<Named<'_>>>(r#"{"name":"a"}"#).is_ok());
        for bad in ["[]", "\"a\"", "1", "null", r#"{"name":"a","name":"a"}"#] {
            assert!(serde_json::from_str::<Strict<Named<'_>>>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_text_is_borrowed_unless_it_is_escaped() {
        let name = |json| serde_json::from_str::<Named<'_>>(json).unwrap().name.unwrap().0;
        assert!(matches!(name(r#"{"name":"aä"}"#), Cow::Borrowed("aä")));
        assert!(
            matches!(name(r#"{"name":"a\u0062\"\u0000"}"#), Cow::Owned(text) if text == "ab\"\0")
        );
    }

    #[test]
    fn every_spelling_of_a_time_is_the_same_time() {
        for (json, expected) in [
            (r#""2025-04-16T21:10:27Z""#, "2025-04-16T21:10:27Z"),
            (r#""2025-04-16T21:10:27.000Z""#, "2025-04-16T21:10:27Z"),
            (r#""2025-04-16T21:10:27+00:00""#, "2025-04-16T21:10:27Z"),
            (r#""2025-04-16T23:10:27.000+02:00""#, "2025-04-16T21:10:27Z"),
            (r#""2025-04-16T17:10:27-04:00""#, "2025-04-16T21:10:27Z"),
            (r#""2025-04-16T21:10:27.1234567Z""#, "2025-04-16T21:10:27.123456Z"),
            (r#""2025-04-16T21:10:27\u005a""#, "2025-04-16T21:10:27Z"),
            ("1744837827", "2025-04-16T21:10:27Z"),
            ("0", "1970-01-01T00:00:00Z"),
            ("-1", "1969-12-31T23:59:59Z"),
        ] {
            assert_eq!(time(json).as_deref(), Some(expected), "{json}");
        }
    }

    #[test]
    fn the_end_of_time_is_a_time() {
        let last = Timestamp::MAX.to_string();
        assert_eq!(time(r#""9999-12-31T23:59:59Z""#), Some(last.clone()));
        assert_eq!(time(r#""9999-12-31T23:59:59-12:00""#), Some(last));
    }

    #[test]
    fn anything_else_is_no_time() {
        for bad in [
            r#""""#,
            r#""2025-04-16""#,
            r#""2025-04-16T21:10:27""#,
            r#""2025-04-16T21:10:27[UTC]""#,
            r#""2025-04-16T21:10:27Z[UTC]""#,
            r#""2025-13-16T21:10:27Z""#,
            r#""2025-02-30T21:10:27Z""#,
            r#""-9999-01-01T00:00:00+23:59""#,
            r#""yesterday""#,
            "1744837827.5",
            "1e999",
            "18446744073709551615",
            "18446744073709551616",
            "-9223372036854775808",
            "true",
            "null",
            "[]",
        ] {
            assert_eq!(time(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_path_that_is_not_ours_is_dropped() {
        assert_eq!(
            known_path("workflow_run.head_repository.id"),
            "workflow_run.head_repository.id"
        );
        assert_eq!(known_path("."), "body");
        for foreign in ["Canary", "a[0]", "a b", &"a".repeat(101)] {
            assert_eq!(known_path(foreign), "a field");
        }
    }
}
