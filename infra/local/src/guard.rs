//! Who may talk to the AWS endpoint.
//!
//! Any web page may send requests to loopback ports. So a request must name this listener as `Host`,
//! must not come from a browser, and must bear an access key of this very start. One key belongs to
//! the operator; each function has its own, so that the endpoint can hold it to its own policy.

use std::{collections::BTreeMap, fmt};

use hyper::{HeaderMap, StatusCode, header::AUTHORIZATION};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{
    aws,
    http::{Answer, from_browser, names_loopback},
};

/// Who sends a request to the AWS endpoint.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Caller {
    /// Whoever read `running.json`.
    Operator,
    /// A function's process, by the function's short name.
    Function(String),
}

impl fmt::Display for Caller {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Operator => formatter.write_str("operator"),
            Self::Function(short) => formatter.write_str(short),
        }
    }
}

/// Credentials of one start; they mean nothing to AWS and nothing to the next start.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Credentials {
    /// What the guard looks at.
    pub access_key_id: String,
    /// What clients need in order to sign at all.
    pub secret_access_key: String,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Credentials").finish_non_exhaustive()
    }
}

impl Credentials {
    /// Makes up new ones.
    pub(crate) fn random() -> Self {
        Self {
            access_key_id: format!("LOCAL{}", Uuid::new_v4().simple().to_string().to_uppercase()),
            secret_access_key: Uuid::new_v4().simple().to_string(),
        }
    }
}

/// Checks requests to one listener.
#[derive(Debug)]
pub(crate) struct Guard {
    port: u16,
    callers: BTreeMap<String, Caller>,
}

impl Guard {
    /// A guard of the listener on `port` who knows these keys.
    pub(crate) fn new(port: u16, keys: impl IntoIterator<Item = (Credentials, Caller)>) -> Self {
        let callers = keys.into_iter().map(|(key, caller)| (key.access_key_id, caller)).collect();
        Self { port, callers }
    }

    /// Who calls, and which service the signature is meant for.
    pub(crate) fn identify<'a>(
        &self,
        headers: &'a HeaderMap,
    ) -> Result<(Caller, &'a str), Box<Answer>> {
        if !names_loopback(headers, self.port) || from_browser(headers) {
            return Err(refusal("this endpoint serves local tools only, not web pages"));
        }
        let scope =
            headers.get(AUTHORIZATION).and_then(|value| credential_scope(value.to_str().ok()?));
        let known = scope.and_then(|scope| Some((self.callers.get(scope.key)?, scope.service)));
        let (caller, service) = known.ok_or_else(|| {
            refusal("unknown access key id: take the credentials of this start from running.json")
        })?;
        Ok((caller.clone(), service))
    }
}

fn refusal(message: &str) -> Box<Answer> {
    Box::new(aws::error(StatusCode::FORBIDDEN, "UnrecognizedClientException", message))
}

#[derive(Debug, PartialEq, Eq)]
struct Scope<'a> {
    key: &'a str,
    service: &'a str,
}

/// `AWS4-HMAC-SHA256 Credential=<key>/<date>/<region>/<service>/aws4_request, …`
fn credential_scope(authorization: &str) -> Option<Scope<'_>> {
    let (_, credential) =
        authorization.strip_prefix("AWS4-HMAC-SHA256")?.split_once("Credential=")?;
    let credential = credential.split([',', ' ']).next()?;
    let mut parts = credential.split('/');
    let key = parts.next()?;
    let service = parts.nth(2)?;
    (parts.next() == Some("aws4_request") && parts.next().is_none())
        .then_some(Scope { key, service })
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    fn check(extra: &[(&'static str, &str)]) -> Result<(Caller, String), StatusCode> {
        let known =
            Credentials { access_key_id: "KEY".to_owned(), secret_access_key: String::new() };
        let guard = Guard::new(9000, [(known, Caller::Function("writer".to_owned()))]);
        let mut headers = HeaderMap::new();
        for (name, value) in extra {
            headers.insert(*name, HeaderValue::from_str(value).unwrap());
        }
        match guard.identify(&headers) {
            Ok((caller, service)) => Ok((caller, service.to_owned())),
            Err(answer) => Err(answer.status()),
        }
    }

    const HOST: (&str, &str) = ("host", "127.0.0.1:9000");
    const SIGNED: (&str, &str) = (
        "authorization",
        "AWS4-HMAC-SHA256 Credential=KEY/20261130/us-east-1/sqs/aws4_request, SignedHeaders=host, Signature=x",
    );

    #[test]
    fn the_key_tells_the_caller_and_the_scope_the_service() {
        let function = Caller::Function("writer".to_owned());
        assert_eq!(check(&[HOST, SIGNED]), Ok((function, "sqs".to_owned())));
    }

    #[test]
    fn a_request_without_this_starts_key_is_refused() {
        let other = SIGNED.1.replace("KEY", "OTHER");
        assert_eq!(check(&[HOST]), Err(StatusCode::FORBIDDEN));
        assert_eq!(check(&[HOST, ("authorization", &other)]), Err(StatusCode::FORBIDDEN));
        assert_eq!(check(&[HOST, ("authorization", "Bearer KEY")]), Err(StatusCode::FORBIDDEN));
    }

    #[test]
    fn a_web_page_is_refused_even_with_the_key() {
        assert_eq!(
            check(&[HOST, SIGNED, ("origin", "http://localhost")]),
            Err(StatusCode::FORBIDDEN)
        );
        assert_eq!(check(&[HOST, SIGNED, ("sec-fetch-site", "none")]), Err(StatusCode::FORBIDDEN));
        assert_eq!(check(&[("host", "rebound.example:9000"), SIGNED]), Err(StatusCode::FORBIDDEN));
    }
}
