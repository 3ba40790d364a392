//! Invokes functions of a running stack through Lambda's API.

use std::time::Duration;

use jiff::Timestamp;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::ToolError;
use crate::Running;

/// No function may take longer.
const ANSWER_WITHIN: Duration = Duration::from_secs(900);

/// What became of an invocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Invocation {
    /// The function answered.
    Answered(Vec<u8>),
    /// The function failed; this is its error document.
    Failed(Vec<u8>),
    /// Lambda did not invoke it, and says why.
    Refused(String),
}

/// Invokes a function, by short or deployed name, and waits for its answer.
///
/// # Errors
/// When the stack does not answer.
pub async fn invoke(
    running: &Running,
    function: &str,
    payload: Vec<u8>,
    now: Timestamp,
) -> Result<Invocation, ToolError> {
    let http = reqwest::Client::builder().no_proxy().timeout(ANSWER_WITHIN).build();
    let http = http.map_err(|error| ToolError::Unusable(error.into()))?;
    let name = utf8_percent_encode(function, NON_ALPHANUMERIC);
    let url = format!("{}/2015-03-31/functions/{name}/invocations", running.urls.lambda);
    let unanswered = |error: reqwest::Error| ToolError::unavailable(&running.urls.lambda, error);
    let answer = http
        .post(&url)
        .header("authorization", authorization(running, now))
        .header("content-type", "application/json")
        .body(payload)
        .send()
        .await
        .map_err(unanswered)?;
    let is_success = answer.status().is_success();
    let has_failed = answer.headers().contains_key("x-amz-function-error");
    let body = answer.bytes().await.map_err(unanswered)?.to_vec();
    Ok(match (is_success, has_failed) {
        (false, _) => Invocation::Refused(String::from_utf8_lossy(&body).into_owned()),
        (true, true) => Invocation::Failed(body),
        (true, false) => Invocation::Answered(body),
    })
}

/// The endpoint looks at the access key; nothing on this machine checks a signature.
fn authorization(running: &Running, now: Timestamp) -> String {
    let (key, day) = (&running.credentials.access_key_id, now.strftime("%Y%m%d"));
    let scope = format!("{day}/{}/lambda/aws4_request", running.region);
    format!("AWS4-HMAC-SHA256 Credential={key}/{scope}, SignedHeaders=host, Signature=local")
}
