//! Times as GitHub and HTTP write them.

use std::fmt;

use jiff::Timestamp;
use jiff::fmt::rfc2822;
use jiff::fmt::temporal::Pieces;
use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};

/// A time of a body: RFC 3339 with any offset and perhaps a fraction, or whole seconds since 1970, kept to the microsecond.
/// Read as deliveries are read, or one snapshot that came both ways would contradict itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Time(pub(crate) Timestamp);

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Instant;
        impl Visitor<'_> for Instant {
            type Value = Time;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a time")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Time, E> {
                time_of(text).map(Time).ok_or_else(|| E::custom("not a time"))
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

fn time_of(text: &str) -> Option<Timestamp> {
    let pieces = Pieces::parse(text).ok()?;
    if pieces.time_zone_annotation().is_some() {
        return None;
    }
    let local = pieces.date().to_datetime(pieces.time()?);
    match pieces.to_numeric_offset()?.to_timestamp(local) {
        Ok(time) => Timestamp::from_microsecond(time.as_microsecond()).ok(),
        // The last hours of the year 9999 lie beyond what a timestamp holds.
        Err(_) => (local.year() == 9999).then_some(Timestamp::MAX),
    }
}

/// A date of HTTP: `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110, section 5.6.7).
pub(crate) fn http_date(text: &str) -> Option<Timestamp> {
    rfc2822::DateTimeParser::new().parse_timestamp(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_bodies_are_read_in_every_spelling() {
        let time = |json: &str| serde_json::from_str::<Time>(json).ok().map(|t| t.0.to_string());
        for (json, expected) in [
            (r#""2025-04-16T21:10:27Z""#, Some("2025-04-16T21:10:27Z")),
            (r#""2025-04-16T17:10:27.000-04:00""#, Some("2025-04-16T21:10:27Z")),
            (r#""2025-04-16T21:10:27.1234567Z""#, Some("2025-04-16T21:10:27.123456Z")),
            ("1744837827", Some("2025-04-16T21:10:27Z")),
            (r#""yesterday""#, None),
            (r#""2025-04-16T21:10:27""#, None),
            ("null", None),
        ] {
            assert_eq!(time(json).as_deref(), expected, "{json}");
        }
    }

    #[test]
    fn dates_of_http_are_in_gmt() {
        let date = |text| http_date(text).map(|date| date.to_string());
        assert_eq!(date("Sun, 06 Nov 1994 08:49:37 GMT").as_deref(), Some("1994-11-06T08:49:37Z"));
        assert_eq!(date("Mon, 06 Nov 1994 08:49:37 GMT"), None, "it was a Sunday");
        assert_eq!(date("60"), None);
        assert_eq!(date(""), None);
    }
}
