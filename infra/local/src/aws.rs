//! The AWS endpoint: one guarded listener for DynamoDB, SQS, Secrets Manager and Lambda.
//!
//! The service is the one that the signature names in its credential scope, so that a single
//! `AWS_ENDPOINT_URL` is right for every client.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use hyper::{HeaderMap, Method, Request, StatusCode, body::Incoming, header::HeaderValue};
use serde_json::json;
use uuid::Uuid;

use crate::{
    authorize::Authorizer,
    dynamodb::DynamoDb,
    faults::{Faults, Verdict},
    guard::{Caller, Guard},
    http::{self, Answer, BodyError, Dropped},
    lambda::invoke::LambdaApi,
    secrets::Secrets,
    sqs::Sqs,
};

/// The largest request that DynamoDB takes; the other services take less.
const BODY_BYTES_MAX: usize = 16 * 1024 * 1024;

/// How long a local client may take to send a request's body.
const BODY_WITHIN: Duration = Duration::from_secs(30);

/// One request that the guard let in.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) caller: Caller,
    pub(crate) service: &'static str,
    pub(crate) operation: String,
    pub(crate) body: Bytes,
}

/// How often who asked which service for what: `(caller, service, operation)`.
pub type CallCounts = BTreeMap<(String, String, String), u64>;

/// Counts requests.
#[derive(Debug, Default)]
pub(crate) struct Calls(Mutex<CallCounts>);

impl Calls {
    /// Counts one.
    pub(crate) fn count(&self, caller: &str, service: &str, operation: &str) {
        let key = (caller.to_owned(), service.to_owned(), operation.to_owned());
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry(key).or_default() += 1;
    }

    /// All counts so far.
    pub(crate) fn counts(&self) -> CallCounts {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// All that answers behind the guard.
#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(crate) guard: Guard,
    pub(crate) authorizer: Authorizer,
    pub(crate) calls: Arc<Calls>,
    pub(crate) faults: Arc<Faults>,
    pub(crate) dynamodb: DynamoDb,
    pub(crate) sqs: Arc<Sqs>,
    pub(crate) secrets: Arc<Secrets>,
    pub(crate) lambda: LambdaApi,
}

impl Endpoint {
    /// Handles one request.
    pub(crate) async fn handle(
        self: Arc<Self>,
        request: Request<Incoming>,
    ) -> Result<Answer, Dropped> {
        let (parts, body) = request.into_parts();
        let (caller, scope) = match self.guard.identify(&parts.headers) {
            Ok(identified) => identified,
            Err(refusal) => return Ok(*refusal),
        };
        let Some((service, operation)) =
            operation(scope, &parts.method, parts.uri.path(), &parts.headers)
        else {
            return Ok(error(
                StatusCode::BAD_REQUEST,
                "UnknownOperationException",
                "unknown operation",
            ));
        };
        let body = match http::read_body(body, BODY_BYTES_MAX, BODY_WITHIN).await {
            Ok(body) => body,
            Err(error) => return body_refusal(error),
        };
        let call = Call { caller, service, operation, body };
        self.calls.count(&call.caller.to_string(), call.service, &call.operation);
        if let Err(denied) = self.authorizer.check(&call, parts.uri.path()) {
            return Ok(*denied);
        }
        match self.faults.apply(&call).await? {
            Verdict::Proceed => Ok(identified(self.dispatch(call, &parts).await)),
            Verdict::ProceedThenDrop => {
                self.dispatch(call, &parts).await;
                Err(Dropped)
            }
            Verdict::Refuse(answer) => Ok(answer),
        }
    }

    async fn dispatch(&self, call: Call, parts: &hyper::http::request::Parts) -> Answer {
        match call.service {
            "dynamodb" => self.dynamodb.answer(call.operation, call.body).await,
            "sqs" => self.sqs.answer(&call.operation, call.body).await,
            "secretsmanager" => self.secrets.answer(&call.operation, call.body).await,
            _ => self.lambda.answer(&call, parts).await,
        }
    }
}

/// Clients log the id of a request.
fn identified(mut answer: Answer) -> Answer {
    if let Ok(id) = HeaderValue::from_str(&Uuid::new_v4().to_string()) {
        answer.headers_mut().entry("x-amzn-requestid").or_insert(id);
    }
    answer
}

/// The service and operation that a request means.
fn operation(
    scope: &str,
    method: &Method,
    path: &str,
    headers: &HeaderMap,
) -> Option<(&'static str, String)> {
    if scope == "lambda" {
        let operation = LambdaApi::operation(method, path)?;
        return Some(("lambda", operation.to_owned()));
    }
    if method != Method::POST {
        return None;
    }
    let target = headers.get("x-amz-target")?.to_str().ok()?;
    let (prefix, operation) = target.split_once('.')?;
    let service = match (scope, prefix) {
        ("dynamodb", "DynamoDB_20120810" | "DynamoDBStreams_20120810") => "dynamodb",
        ("sqs", "AmazonSQS") => "sqs",
        ("secretsmanager", "secretsmanager") => "secretsmanager",
        _ => return None,
    };
    Some((service, operation.to_owned()))
}

fn body_refusal(error: BodyError) -> Result<Answer, Dropped> {
    match error {
        BodyError::TooLarge => Ok(self::error(
            StatusCode::PAYLOAD_TOO_LARGE,
            "RequestEntityTooLargeException",
            "request too large",
        )),
        BodyError::TooSlow => Ok(self::error(
            StatusCode::REQUEST_TIMEOUT,
            "RequestTimeout",
            "request body incomplete",
        )),
        BodyError::Broken => Err(Dropped),
    }
}

/// An error as the JSON protocols of AWS spell it.
pub(crate) fn error(status: StatusCode, error_type: &str, message: &str) -> Answer {
    // Services differ in the case of `message`, and clients read either.
    let body = json!({ "__type": error_type, "message": message, "Message": message });
    let mut answer = http::answer(status, "application/x-amz-json-1.0", body.to_string());
    if let Ok(value) = HeaderValue::from_str(error_type) {
        answer.headers_mut().insert("x-amzn-errortype", value);
    }
    answer
}
