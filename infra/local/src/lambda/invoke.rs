//! The part of Lambda's own API that tools use: invoke a function, look at one, list all.

use std::{sync::Arc, time::Duration};

use base64::{Engine, engine::general_purpose::STANDARD};
use hyper::{Method, StatusCode, header::HeaderValue, http::request::Parts};
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::{
    pool::{Functions, Invoked, LogTail, NotInvoked, Pool},
    runtime_api::PAYLOAD_BYTES_MAX,
};
use crate::{
    aws::{self, Call},
    http::{self, Answer},
    stack_file::{Function, Infrastructure},
};

const PREFIX: &str = "/2015-03-31/functions";

/// Asynchronous invocations that may wait at a time.
const EVENTS_MAX: usize = 1000;

/// AWS invokes asynchronously up to three times, a minute and two minutes apart. A laptop need not wait.
const EVENT_ATTEMPTS_MAX: u32 = 3;
const EVENT_RETRY_AFTER: Duration = Duration::from_secs(1);

/// Answers requests to Lambda.
#[derive(Debug)]
pub(crate) struct LambdaApi {
    infrastructure: Arc<Infrastructure>,
    functions: Arc<Functions>,
    events: Arc<Semaphore>,
}

impl LambdaApi {
    /// An API of these functions.
    pub(crate) fn new(infrastructure: Arc<Infrastructure>, functions: Arc<Functions>) -> Self {
        Self { infrastructure, functions, events: Arc::new(Semaphore::new(EVENTS_MAX)) }
    }

    /// The operation that a request means.
    pub(crate) fn operation(method: &Method, path: &str) -> Option<&'static str> {
        let rest = path.strip_prefix(PREFIX)?;
        if rest.trim_end_matches('/').is_empty() {
            return (method == Method::GET).then_some("ListFunctions");
        }
        let mut segments = rest.strip_prefix('/')?.split('/');
        segments.next()?;
        match (method.as_str(), segments.next(), segments.next()) {
            ("POST", Some("invocations"), None) => Some("Invoke"),
            ("GET", None, None) => Some("GetFunction"),
            ("GET", Some("configuration"), None) => Some("GetFunctionConfiguration"),
            _ => None,
        }
    }

    /// The function that a path names: by short name, deployed name, or whole or partial ARN.
    pub(crate) fn function_name(path: &str) -> Option<String> {
        let segment = path.strip_prefix(PREFIX)?.strip_prefix('/')?.split('/').next()?;
        let name = percent_decode_str(segment).decode_utf8().ok()?;
        // `arn:aws:lambda:<region>:<account>:function:<name>[:<qualifier>]`
        let name = name.rsplit_once("function:").map_or(&*name, |(_, name)| name);
        Some(name.split(':').next().unwrap_or(name).to_owned())
    }

    /// Answers one request.
    pub(crate) async fn answer(&self, call: &Call, parts: &Parts) -> Answer {
        if call.operation == "ListFunctions" {
            let functions = self.infrastructure.functions.iter().map(configuration);
            return http::json(
                StatusCode::OK,
                &json!({ "Functions": functions.collect::<Vec<_>>() }),
            );
        }
        let name = Self::function_name(parts.uri.path()).unwrap_or_default();
        let found = self.infrastructure.function(&name);
        let found =
            found.and_then(|function| Some((function, self.functions.pool(&function.short)?)));
        let Some((function, pool)) = found else {
            let known: Vec<_> =
                self.infrastructure.functions.iter().map(|f| f.short.as_str()).collect();
            let message = format!("Function not found: {name}; there are {}", known.join(", "));
            return aws::error(StatusCode::NOT_FOUND, "ResourceNotFoundException", &message);
        };
        match call.operation.as_str() {
            "Invoke" => self.invoke(call, parts, pool).await,
            "GetFunction" => {
                let code = json!({ "RepositoryType": "local" });
                http::json(
                    StatusCode::OK,
                    &json!({ "Configuration": configuration(function), "Code": code }),
                )
            }
            _ => http::json(StatusCode::OK, &configuration(function)),
        }
    }

    async fn invoke(&self, call: &Call, parts: &Parts, pool: &Arc<Pool>) -> Answer {
        if PAYLOAD_BYTES_MAX < call.body.len() {
            let message = format!(
                "Request must be smaller than {PAYLOAD_BYTES_MAX} bytes for the InvokeFunction operation"
            );
            return aws::error(StatusCode::PAYLOAD_TOO_LARGE, "RequestTooLargeException", &message);
        }
        let payload = if call.body.is_empty() { "{}".into() } else { call.body.clone() };
        if serde_json::from_slice::<serde::de::IgnoredAny>(&payload).is_err() {
            let message = "Could not parse request body into json";
            return aws::error(StatusCode::BAD_REQUEST, "InvalidRequestContentException", message);
        }
        let header = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok());
        match header("x-amz-invocation-type").unwrap_or("RequestResponse") {
            "RequestResponse" => {
                let tail = match header("x-amz-log-type") {
                    Some("Tail") => LogTail::Wanted,
                    _ => LogTail::Unwanted,
                };
                match pool.invoke(payload, tail).await {
                    Ok(invoked) => result(invoked, tail),
                    Err(reason) => not_invoked(reason),
                }
            }
            "Event" => self.enqueue(payload, pool),
            "DryRun" => http::empty(StatusCode::NO_CONTENT),
            other => {
                let message = format!("unknown invocation type {other}");
                aws::error(StatusCode::BAD_REQUEST, "InvalidParameterValueException", &message)
            }
        }
    }

    fn enqueue(&self, payload: bytes::Bytes, pool: &Arc<Pool>) -> Answer {
        let Ok(permit) = Arc::clone(&self.events).try_acquire_owned() else {
            return not_invoked(NotInvoked::Busy);
        };
        let pool = Arc::clone(pool);
        tokio::spawn(async move {
            for attempt in 1..=EVENT_ATTEMPTS_MAX {
                match pool.invoke(payload.clone(), LogTail::Unwanted).await {
                    Ok(Invoked { reply: Ok(_), .. }) | Err(NotInvoked::Stopping) => break,
                    Ok(Invoked { reply: Err(error), request_id, .. }) => {
                        let error = String::from_utf8_lossy(&error);
                        tracing::warn!(%request_id, attempt, %error, "asynchronous invocation failed: {error}");
                    }
                    Err(NotInvoked::Busy) => {}
                }
                tokio::time::sleep(EVENT_RETRY_AFTER).await;
            }
            drop(permit);
        });
        http::empty(StatusCode::ACCEPTED)
    }
}

fn result(invoked: Invoked, tail: LogTail) -> Answer {
    let (body, failed) = match invoked.reply {
        Ok(body) => (body, false),
        Err(body) => (body, true),
    };
    let mut answer = http::answer(StatusCode::OK, "application/json", body);
    let headers = answer.headers_mut();
    headers.insert("x-amz-executed-version", HeaderValue::from_static("$LATEST"));
    if failed {
        headers.insert("x-amz-function-error", HeaderValue::from_static("Unhandled"));
    }
    if let Ok(id) = HeaderValue::from_str(&invoked.request_id) {
        headers.insert("x-amzn-requestid", id);
    }
    if tail == LogTail::Wanted {
        let (id, output) = (invoked.request_id, invoked.tail);
        let text = format!("START RequestId: {id} Version: $LATEST\n{output}END RequestId: {id}\n");
        if let Ok(text) = HeaderValue::from_str(&STANDARD.encode(text)) {
            headers.insert("x-amz-log-result", text);
        }
    }
    answer
}

fn not_invoked(reason: NotInvoked) -> Answer {
    match reason {
        NotInvoked::Busy => {
            let message = "Rate Exceeded: all sandboxes of the function are busy";
            aws::error(StatusCode::TOO_MANY_REQUESTS, "TooManyRequestsException", message)
        }
        NotInvoked::Stopping => {
            let message = "the local stack is stopping";
            aws::error(StatusCode::SERVICE_UNAVAILABLE, "ServiceException", message)
        }
    }
}

fn configuration(function: &Function) -> Value {
    json!({
        "FunctionName": function.name,
        "FunctionArn": function.arn,
        "Runtime": "provided.al2023",
        "Handler": "bootstrap",
        "Timeout": function.timeout_seconds,
        "MemorySize": function.memory_megabytes,
        "Version": "$LATEST",
        "PackageType": "Zip",
        "State": "Active",
        "LastUpdateStatus": "Successful",
        "Environment": { "Variables": function.environment },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_known_by_every_name_that_aws_takes() {
        for segment in [
            "github-webhook",
            "github-webhook:$LATEST",
            "000000000000:function:github-webhook",
            "arn%3Aaws%3Alambda%3Aus-east-1%3A000000000000%3Afunction%3Agithub-webhook",
            "arn:aws:lambda:us-east-1:000000000000:function:github-webhook:$LATEST",
        ] {
            let path = format!("{PREFIX}/{segment}/invocations");
            assert_eq!(
                LambdaApi::function_name(&path).as_deref(),
                Some("github-webhook"),
                "{segment}"
            );
        }
    }

    #[test]
    fn paths_mean_operations() {
        for (method, path, operation) in [
            (Method::POST, "/2015-03-31/functions/f/invocations", Some("Invoke")),
            (Method::GET, "/2015-03-31/functions/", Some("ListFunctions")),
            (Method::GET, "/2015-03-31/functions", Some("ListFunctions")),
            (Method::GET, "/2015-03-31/functions/f", Some("GetFunction")),
            (Method::DELETE, "/2015-03-31/functions/f", None),
            (Method::POST, "/2015-03-31/functions/f/invocations/x", None),
            (Method::GET, "/", None),
        ] {
            assert_eq!(LambdaApi::operation(&method, path), operation, "{method} {path}");
        }
    }
}
