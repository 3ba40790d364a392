//! What an answer's status says, and how long GitHub wants to be left alone.

use hyper::header::{CONTENT_TYPE, HeaderMap, RETRY_AFTER};
use hyper::http::StatusCode;
use jiff::{SignedDuration, Timestamp};

use crate::error::{NoAccess, ReadError, unreadable};
use crate::time::http_date;
use crate::transport::RawAnswer;

/// How long to wait where GitHub does not say: at least a minute
/// (<https://docs.github.com/en/rest/using-the-rest-api/best-practices-for-using-the-rest-api>).
const PAUSE_MIN: SignedDuration = SignedDuration::from_mins(1);
/// No limit of GitHub's lasts longer than an hour; whatever a header says, a connection is not silenced for days.
const PAUSE_MAX: SignedDuration = SignedDuration::from_hours(2);
/// What the body of a secondary limit says, and what it said before 2022.
const SECONDARY: [&str; 2] = ["secondary rate limit", "abuse detection"];

/// What came of a question that was answered.
#[derive(Debug)]
pub(crate) enum Judged {
    /// An answer with content.
    Found,
    /// The answer says that there is nothing: 404, 410, and what some calls say instead (409 of an empty repository, 422 of
    /// an unknown commit).
    Missing,
}

/// Sorts an answer by what its reader does next.
pub(crate) fn judge(answer: &RawAnswer, now: Timestamp) -> Result<Judged, ReadError> {
    let status = answer.status;
    match status.as_u16() {
        401 => return Err(ReadError::NoAccess(NoAccess::Unauthenticated)),
        403 | 429 => {
            let refused = ReadError::NoAccess(NoAccess::Refused { status: status.as_u16() });
            let until = limited_until(answer, now);
            return Err(until.map_or(refused, |until| ReadError::Limited { until }));
        }
        408 | 500..=599 => {
            return Err(ReadError::Unavailable(format!("status {}", status.as_u16()).into()));
        }
        _ => {}
    }
    // A page for people: a sign-in form, a proxy's word. Never what was asked for, whatever its status.
    if status == StatusCode::NON_AUTHORITATIVE_INFORMATION || is_html(&answer.headers) {
        return Err(ReadError::NoAccess(NoAccess::Unauthenticated));
    }
    match status.as_u16() {
        200 | 201 => Ok(Judged::Found),
        404 | 409 | 410 | 422 => Ok(Judged::Missing),
        451 => Err(ReadError::NoAccess(NoAccess::Refused { status: status.as_u16() })),
        other => Err(unreadable(format!("status {other}"))),
    }
}

/// Until when nothing may be asked, if an answer that was given says that it was the last one.
pub(crate) fn used_up_until(headers: &HeaderMap, now: Timestamp) -> Option<Timestamp> {
    is_used_up(headers).then(|| bounded(reset(headers), now))
}

/// Until when a refusal for a limit lasts; none when it is about permissions. In GitHub's order: `retry-after`, then
/// `x-ratelimit-reset` where nothing remains, then a minute.
fn limited_until(answer: &RawAnswer, now: Timestamp) -> Option<Timestamp> {
    let headers = &answer.headers;
    if let Some(value) = headers.get(RETRY_AFTER) {
        return Some(bounded(value.to_str().ok().and_then(|text| retry_at(text, now)), now));
    }
    if is_used_up(headers) {
        return Some(bounded(reset(headers), now));
    }
    let body = String::from_utf8_lossy(&answer.body).to_ascii_lowercase();
    let is_limit = answer.status == StatusCode::TOO_MANY_REQUESTS
        || SECONDARY.iter().any(|words| body.contains(words));
    is_limit.then(|| bounded(None, now))
}

/// Seconds or a date.
fn retry_at(text: &str, now: Timestamp) -> Option<Timestamp> {
    match text.trim().parse::<u32>() {
        Ok(seconds) => now.checked_add(SignedDuration::from_secs(seconds.into())).ok(),
        Err(_) => http_date(text),
    }
}

fn is_used_up(headers: &HeaderMap) -> bool {
    headers.get("x-ratelimit-remaining").is_some_and(|remaining| remaining == "0")
}

fn reset(headers: &HeaderMap) -> Option<Timestamp> {
    let seconds = headers.get("x-ratelimit-reset")?.to_str().ok()?.parse().ok()?;
    Timestamp::from_second(seconds).ok()
}

/// A time in the future, and not too far in it. A time that has passed by our clock is no time to rely on.
fn bounded(until: Option<Timestamp>, now: Timestamp) -> Timestamp {
    let (Ok(earliest), Ok(latest)) = (now.checked_add(PAUSE_MIN), now.checked_add(PAUSE_MAX))
    else {
        return now;
    };
    until.filter(|until| *until > now).unwrap_or(earliest).min(latest)
}

fn is_html(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.trim_start().to_ascii_lowercase().starts_with("text/html")
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use hyper::header::{HeaderName, HeaderValue};

    use super::*;

    const NOW: &str = "2026-12-01T00:00:00Z";

    /// What an answer of this status, headers (`name=value`, joined by `|`) and body comes to.
    fn check(status: u16, headers: &str, body: &str) -> String {
        let headers = headers.split('|').filter_map(|header| header.split_once('='));
        let answer = RawAnswer {
            status: StatusCode::from_u16(status).unwrap(),
            headers: headers
                .map(|(name, value)| {
                    (name.parse::<HeaderName>().unwrap(), value.parse::<HeaderValue>().unwrap())
                })
                .collect(),
            body: Bytes::copy_from_slice(body.as_bytes()),
        };
        match judge(&answer, NOW.parse().unwrap()) {
            Ok(judged) => format!("{judged:?}"),
            Err(ReadError::Limited { until }) => format!("until {}", until.strftime("%T")),
            Err(ReadError::Unavailable(why)) => format!("unavailable: {why}"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_limit_says_how_long_it_lasts() {
        for (status, headers, body, expected) in [
            (403, "retry-after=90", "", "until 00:01:30"),
            (429, "retry-after=Tue, 01 Dec 2026 00:02:00 GMT", "", "until 00:02:00"),
            (
                403,
                "retry-after=90|x-ratelimit-remaining=0|x-ratelimit-reset=1796085000",
                "",
                "until 00:01:30",
            ),
            (403, "x-ratelimit-remaining=0|x-ratelimit-reset=1796085000", "", "until 00:30:00"),
            (
                403,
                "x-ratelimit-remaining=9",
                "You have exceeded a Secondary Rate Limit.",
                "until 00:01:00",
            ),
            (429, "", "", "until 00:01:00"),
            (403, "retry-after=soon", "", "until 00:01:00"),
            (403, "retry-after=0", "", "until 00:01:00"),
            (403, "x-ratelimit-remaining=0|x-ratelimit-reset=1", "", "until 00:01:00"),
            (403, "x-ratelimit-remaining=0", "", "until 00:01:00"),
            (403, "retry-after=4000000000", "", "until 02:00:00"),
        ] {
            assert_eq!(check(status, headers, body), expected, "{status} {headers} {body}");
        }
    }

    #[test]
    fn a_refusal_with_requests_left_is_about_permissions() {
        let expected = "the connection has no access: the answer was refused with status 403";
        assert_eq!(check(403, "x-ratelimit-remaining=9", "Resource not accessible"), expected);
        assert_eq!(check(451, "", ""), expected.replace("403", "451"));
    }

    #[test]
    fn a_page_for_people_is_failed_authentication_whatever_its_status() {
        let expected = "the connection has no access: the credentials are not accepted";
        for (status, headers) in [
            (401, ""),
            (203, "content-type=application/json"),
            (200, "content-type=text/html; charset=utf-8"),
            (404, "content-type=Text/HTML"),
        ] {
            assert_eq!(check(status, headers, ""), expected, "{status} {headers}");
        }
    }

    #[test]
    fn faults_of_the_host_are_asked_again_and_what_nobody_knows_is_not() {
        for status in [408, 500, 502, 503, 504] {
            let expected = format!("unavailable: status {status}");
            assert_eq!(check(status, "content-type=text/html", ""), expected);
        }
        for status in [202, 204, 304, 400, 418] {
            let expected = format!("the answer can't be read: status {status}");
            assert_eq!(check(status, "", ""), expected);
        }
        assert_eq!(check(200, "", ""), "Found");
        for status in [404, 409, 410, 422] {
            assert_eq!(check(status, "", ""), "Missing");
        }
    }
}
