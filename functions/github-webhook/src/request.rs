//! A function URL's request and answer, payload format 2.0
//! (<https://docs.aws.amazon.com/lambda/latest/dg/urls-invocation.html>).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A request, as far as it matters. The body's exact bytes are what the sender signed.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FunctionUrlRequest {
    raw_path: String,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    request_context: RequestContext,
    #[serde(default)]
    body: Option<String>,
    #[serde(default)]
    is_base64_encoded: bool,
}

#[derive(Clone, Deserialize)]
struct RequestContext {
    http: Http,
}

#[derive(Clone, Deserialize)]
struct Http {
    method: String,
}

impl std::fmt::Debug for FunctionUrlRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FunctionUrlRequest").finish_non_exhaustive()
    }
}

impl FunctionUrlRequest {
    pub(crate) fn is_post(&self) -> bool {
        self.request_context.http.method == "POST"
    }

    pub(crate) fn raw_path(&self) -> &str {
        &self.raw_path
    }

    pub(crate) fn headers(&self) -> impl Iterator<Item = (&str, &str)> {
        self.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    pub(crate) fn body(&self) -> &str {
        self.body.as_deref().unwrap_or_default()
    }

    pub(crate) const fn is_base64(&self) -> bool {
        self.is_base64_encoded
    }

    /// A lower bound of the body's size that costs nothing: what is encoded in base64 is not decoded to be refused.
    pub(crate) fn body_bytes_at_least(&self) -> usize {
        let text = self.body().len();
        if self.is_base64_encoded { (text / 4 * 3).saturating_sub(2) } else { text }
    }
}

/// What is answered. Never a redirect: GitHub's delivery log counts 3xx as success.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Answer {
    status_code: u16,
    headers: BTreeMap<&'static str, &'static str>,
    body: &'static str,
}

impl Answer {
    /// The HTTP status.
    #[must_use]
    pub const fn status(&self) -> u16 {
        self.status_code
    }

    /// 503: it took too long; nothing was lost by us, the sender should come again.
    #[must_use]
    pub fn late() -> Self {
        Self::unavailable()
    }

    pub(crate) fn accepted() -> Self {
        Self::of(202, r#"{"message":"accepted"}"#)
    }

    pub(crate) fn ignored() -> Self {
        Self::of(202, r#"{"message":"ignored"}"#)
    }

    pub(crate) fn pong() -> Self {
        Self::of(200, r#"{"message":"pong"}"#)
    }

    pub(crate) fn unauthorized() -> Self {
        Self::of(401, r#"{"message":"the signature does not verify"}"#)
    }

    pub(crate) fn method_not_allowed() -> Self {
        Self::of(405, r#"{"message":"deliveries are sent by POST"}"#)
    }

    pub(crate) fn too_large() -> Self {
        Self::of(413, r#"{"message":"the body is larger than the limit"}"#)
    }

    pub(crate) fn unavailable() -> Self {
        Self::of(503, r#"{"message":"try again later"}"#)
    }

    fn of(status_code: u16, body: &'static str) -> Self {
        Self { status_code, headers: BTreeMap::from([("content-type", "application/json")]), body }
    }
}
