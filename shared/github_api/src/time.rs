//! Times as HTTP writes them; those of bodies are [`github::json::Time`].

use jiff::Timestamp;
use jiff::fmt::rfc2822;

/// A date of HTTP: `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110, section 5.6.7).
pub(crate) fn http_date(text: &str) -> Option<Timestamp> {
    rfc2822::DateTimeParser::new().parse_timestamp(text).ok()
}

#[cfg(test)]
mod tests {
    use github::json::Time;

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
