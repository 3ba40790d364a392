//! The Runtime API of one sandbox: how a function process asks for work and hands in results.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use hyper::{Method, Request, StatusCode, body::Incoming, header::HeaderValue};
use jiff::Timestamp;
use serde_json::json;
use tokio::{
    net::TcpListener,
    sync::{mpsc, oneshot},
};

use crate::http::{self, Answer, BodyError, Dropped, Limits, Stop};

/// Largest payload in either direction, as on AWS.
pub(crate) const PAYLOAD_BYTES_MAX: usize = 6 * 1024 * 1024;

const PREFIX: &str = "/2018-06-01/runtime/";

/// How long a function may take to send a result it has begun to send.
const BODY_WITHIN: Duration = Duration::from_secs(30);

/// What came of an invocation: the function's answer, or the error document it (or its death) left.
pub(crate) type Reply = Result<Bytes, Bytes>;

/// One invocation on its way to a function process.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) request_id: String,
    pub(crate) payload: Bytes,
    pub(crate) started: oneshot::Sender<()>,
    pub(crate) reply: oneshot::Sender<Reply>,
}

#[derive(Debug)]
struct Current {
    request_id: String,
    reply: oneshot::Sender<Reply>,
}

/// What the process's requests and the invoking side share.
#[derive(Debug)]
pub(crate) struct Exchange {
    function_arn: String,
    timeout: Duration,
    port: u16,
    jobs: tokio::sync::Mutex<mpsc::Receiver<Job>>,
    current: Mutex<Option<Current>>,
    init_error: Mutex<Option<Bytes>>,
}

impl Exchange {
    /// An exchange for one process, fed by the returned sender.
    pub(crate) fn new(
        function_arn: &str,
        timeout: Duration,
        port: u16,
    ) -> (Arc<Self>, mpsc::Sender<Job>) {
        let (sender, jobs) = mpsc::channel(1);
        let exchange = Self {
            function_arn: function_arn.to_owned(),
            timeout,
            port,
            jobs: tokio::sync::Mutex::new(jobs),
            current: Mutex::default(),
            init_error: Mutex::default(),
        };
        (Arc::new(exchange), sender)
    }

    /// Serves the process until told to stop.
    pub(crate) async fn serve(self: Arc<Self>, listener: TcpListener, stop: Stop) {
        let limits = Limits { connections: 16, head: None, grace: Duration::ZERO };
        let handler = move |request| Arc::clone(&self).handle(request);
        http::serve(listener, limits, stop, handler).await;
    }

    /// Ends the current invocation with an error document.
    pub(crate) fn fail_current(&self, error: impl FnOnce(&str) -> Bytes) {
        let current = self.lock().take();
        if let Some(current) = current {
            let document = error(&current.request_id);
            let _ = current.reply.send(Err(document));
        }
    }

    /// What the process reported when it could not start.
    pub(crate) fn init_error(&self) -> Option<Bytes> {
        self.init_error.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn handle(self: Arc<Self>, request: Request<Incoming>) -> Result<Answer, Dropped> {
        if !http::names_loopback(request.headers(), self.port)
            || http::from_browser(request.headers())
        {
            return Ok(refused(StatusCode::FORBIDDEN, "this port is for a function process only"));
        }
        let (parts, body) = request.into_parts();
        let Some(path) = parts.uri.path().strip_prefix(PREFIX) else {
            return Ok(refused(StatusCode::NOT_FOUND, "no such path"));
        };
        if parts.method == Method::GET && path == "invocation/next" {
            return self.next().await;
        }
        if parts.method != Method::POST {
            return Ok(refused(StatusCode::METHOD_NOT_ALLOWED, "no such method"));
        }
        let body = http::read_body(body, PAYLOAD_BYTES_MAX, BODY_WITHIN).await;
        if path == "init/error" {
            *self.init_error.lock().unwrap_or_else(PoisonError::into_inner) = body.ok();
            return Ok(accepted());
        }
        let invocation = path.strip_prefix("invocation/").and_then(|path| path.split_once('/'));
        match invocation {
            Some((id, "response")) => Ok(self.finish(id, body, Ok)),
            Some((id, "error")) => Ok(self.finish(id, body, Err)),
            _ => Ok(refused(StatusCode::NOT_FOUND, "no such path")),
        }
    }

    async fn next(&self) -> Result<Answer, Dropped> {
        // A process that asks again has forgotten what it was doing.
        self.fail_current(|id| {
            error_document(
                id,
                "Runtime.Unknown",
                "the function asked for more work without answering",
            )
        });
        let Some(job) = self.jobs.lock().await.recv().await else { return Err(Dropped) };
        let deadline = Timestamp::now()
            .as_millisecond()
            .saturating_add_unsigned(u64::try_from(self.timeout.as_millis()).unwrap_or(u64::MAX));
        let mut answer = http::answer(StatusCode::OK, "application/json", job.payload);
        for (name, value) in [
            ("lambda-runtime-aws-request-id", job.request_id.as_str()),
            ("lambda-runtime-deadline-ms", deadline.to_string().as_str()),
            ("lambda-runtime-invoked-function-arn", self.function_arn.as_str()),
            ("lambda-runtime-trace-id", trace_id(&job.request_id).as_str()),
        ] {
            if let Ok(value) = HeaderValue::from_str(value) {
                answer.headers_mut().insert(name, value);
            }
        }
        *self.lock() = Some(Current { request_id: job.request_id, reply: job.reply });
        let _ = job.started.send(());
        Ok(answer)
    }

    fn finish(
        &self,
        id: &str,
        body: Result<Bytes, BodyError>,
        reply: impl FnOnce(Bytes) -> Reply,
    ) -> Answer {
        let current = self.lock().take_if(|current| current.request_id == id);
        let Some(current) = current else {
            return refused(StatusCode::BAD_REQUEST, "this invocation is not being processed");
        };
        let (answer, reply) = match body {
            Ok(body) => (accepted(), reply(body)),
            Err(BodyError::TooLarge) => (
                refused(StatusCode::PAYLOAD_TOO_LARGE, "response too large"),
                Err(error_document(
                    id,
                    "Function.ResponseSizeTooLarge",
                    &format!(
                        "Response payload size exceeded maximum allowed payload size ({PAYLOAD_BYTES_MAX} bytes)."
                    ),
                )),
            ),
            Err(BodyError::TooSlow | BodyError::Broken) => (
                refused(StatusCode::BAD_REQUEST, "response incomplete"),
                Err(error_document(id, "Runtime.TruncatedResponse", "the response was incomplete")),
            ),
        };
        let _ = current.reply.send(reply);
        answer
    }

    fn lock(&self) -> MutexGuard<'_, Option<Current>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An error document as AWS writes it when a function did not.
pub(crate) fn error_document(request_id: &str, error_type: &str, message: &str) -> Bytes {
    let message = format!("RequestId: {request_id} Error: {message}");
    json!({ "errorType": error_type, "errorMessage": message }).to_string().into()
}

/// A trace id in the form of X-Ray, derived from the request's.
fn trace_id(request_id: &str) -> String {
    let hex: String = request_id.chars().filter(char::is_ascii_hexdigit).collect();
    let (time, rest) = hex.split_at_checked(8).unwrap_or(("00000000", "000000000000000000000000"));
    format!("Root=1-{time}-{rest};Parent=0000000000000000;Sampled=0")
}

fn accepted() -> Answer {
    http::json(StatusCode::ACCEPTED, &json!({ "status": "OK" }))
}

fn refused(status: StatusCode, message: &str) -> Answer {
    http::json(status, &json!({ "errorType": "InvalidRequest", "errorMessage": message }))
}
