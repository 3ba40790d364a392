//! What every listener of the stack shares: a bounded accept loop, bounded bodies, and the checks
//! that keep web pages away from loopback ports.

use std::{fmt, future::Future, pin::pin, time::Duration};

use bytes::Bytes;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::{
    HeaderMap, Request, Response, StatusCode,
    body::Incoming,
    header::{CONTENT_TYPE, HOST, HeaderValue, ORIGIN},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinSet,
    time::timeout,
};

/// Pause after a connection could not be accepted.
const ACCEPT_AGAIN_AFTER: Duration = Duration::from_millis(50);

/// More than this is not thrown away for the sake of an answer: GitHub's largest body is 25 MB.
const DISCARDED_BYTES_MAX: usize = 64 * 1024 * 1024;

/// An answer, complete in memory: nothing here streams.
pub(crate) type Answer = Response<Full<Bytes>>;

/// Instead of an answer: close the connection without a word.
#[derive(Debug)]
pub(crate) struct Dropped;

impl fmt::Display for Dropped {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("connection dropped on purpose")
    }
}

impl std::error::Error for Dropped {}

/// Tells tasks to end; dropping it tells them too.
#[derive(Debug)]
pub(crate) struct Stopper(watch::Sender<bool>);

/// Hears of a [`Stopper`].
#[derive(Debug, Clone)]
pub(crate) struct Stop(watch::Receiver<bool>);

impl Stopper {
    /// A stopper and what hears of it.
    pub(crate) fn new() -> (Self, Stop) {
        let (sender, receiver) = watch::channel(false);
        (Self(sender), Stop(receiver))
    }

    /// Tells all.
    pub(crate) fn stop(&self) {
        self.0.send_replace(true);
    }
}

impl Stop {
    /// Returns once the stopper was used or dropped.
    pub(crate) async fn requested(&mut self) {
        let _ = self.0.wait_for(|stopped| *stopped).await;
    }

    /// Whether it has happened.
    pub(crate) fn is_requested(&self) -> bool {
        *self.0.borrow() || self.0.has_changed().is_err()
    }
}

/// Bounds of one listener.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Connections at a time; more wait in the kernel's queue.
    pub(crate) connections: usize,
    /// How long a client may take to send a request's head, and how long it may idle.
    pub(crate) head: Option<Duration>,
    /// How long requests in progress may take to end once the listener stops.
    pub(crate) grace: Duration,
}

/// Accepts and serves until told to stop, then lets requests in progress end.
pub(crate) async fn serve<H, F>(listener: TcpListener, limits: Limits, mut stop: Stop, handler: H)
where
    H: Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Result<Answer, Dropped>> + Send + 'static,
{
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            () = stop.requested() => break,
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            accepted = listener.accept(), if connections.len() < limits.connections => {
                match accepted {
                    Ok((stream, _)) => {
                        connections.spawn(serve_connection(stream, limits, stop.clone(), handler.clone()));
                    }
                    // A client that left, or too many open files: both pass, the second one slowly.
                    Err(_) => tokio::time::sleep(ACCEPT_AGAIN_AFTER).await,
                }
            }
        }
    }
    drop(listener);
    let _ = timeout(limits.grace, async { while connections.join_next().await.is_some() {} }).await;
}

async fn serve_connection<H, F>(stream: TcpStream, limits: Limits, mut stop: Stop, handler: H)
where
    H: Fn(Request<Incoming>) -> F,
    F: Future<Output = Result<Answer, Dropped>>,
{
    let _ = stream.set_nodelay(true);
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(limits.head);
    let connection = builder.serve_connection(TokioIo::new(stream), service_fn(handler));
    let mut connection = pin!(connection);
    tokio::select! {
        // A broken connection concerns its client, who sees it as well.
        _ = connection.as_mut() => {}
        () = stop.requested() => {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
    }
}

/// Why a body could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyError {
    /// More bytes than allowed.
    TooLarge,
    /// Not complete in time.
    TooSlow,
    /// The client went away.
    Broken,
}

/// Reads a whole body, at most `bytes_max`, in at most `within`.
///
/// What is larger is read on and thrown away, within bounds: a sender that is still sending when the connection closes
/// never sees the answer.
pub(crate) async fn read_body(
    mut body: Incoming,
    bytes_max: usize,
    within: Duration,
) -> Result<Bytes, BodyError> {
    let read = async {
        match Limited::new(&mut body, bytes_max).collect().await {
            Ok(collected) => Ok(collected.to_bytes()),
            Err(error) if error.is::<LengthLimitError>() => {
                discard(&mut body).await;
                Err(BodyError::TooLarge)
            }
            Err(_) => Err(BodyError::Broken),
        }
    };
    timeout(within, read).await.unwrap_or(Err(BodyError::TooSlow))
}

/// Throws the rest of a body away, or gives up on one that does not end.
async fn discard(body: &mut Incoming) {
    let mut bytes = 0;
    while let Some(Ok(frame)) = body.frame().await {
        bytes += frame.data_ref().map_or(0, Bytes::len);
        if DISCARDED_BYTES_MAX < bytes {
            return;
        }
    }
}

/// Whether `Host` names this very listener. After DNS rebinding it names the attacker's domain.
pub(crate) fn names_loopback(headers: &HeaderMap, port: u16) -> bool {
    let Some(host) = headers.get(HOST).and_then(|host| host.to_str().ok()) else { return false };
    let Some((name, host_port)) = host.rsplit_once(':') else { return false };
    (name == "127.0.0.1" || name == "localhost") && host_port.parse() == Ok(port)
}

/// Whether a browser sent the request: it cannot leave these headers away, and no tool sends them.
pub(crate) fn from_browser(headers: &HeaderMap) -> bool {
    headers.contains_key(ORIGIN)
        || headers.keys().any(|name| name.as_str().starts_with("sec-fetch-"))
}

/// An answer with a body of the given type.
pub(crate) fn answer(
    status: StatusCode,
    content_type: &'static str,
    body: impl Into<Bytes>,
) -> Answer {
    let mut answer = Response::new(Full::new(body.into()));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    answer
}

/// A JSON answer.
pub(crate) fn json(status: StatusCode, body: &serde_json::Value) -> Answer {
    answer(status, "application/json", body.to_string())
}

/// An empty answer.
pub(crate) fn empty(status: StatusCode) -> Answer {
    let mut answer = Response::new(Full::default());
    *answer.status_mut() = status;
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| {
                (hyper::header::HeaderName::from_static(name), HeaderValue::from_static(value))
            })
            .collect()
    }

    #[test]
    fn only_the_listeners_own_name_is_accepted() {
        for (host, accepted) in [
            ("127.0.0.1:9000", true),
            ("localhost:9000", true),
            ("127.0.0.1:9001", false),
            ("127.0.0.1", false),
            ("attacker.example:9000", false),
            ("localhost.attacker.example:9000", false),
            ("[::1]:9000", false),
        ] {
            assert_eq!(names_loopback(&headers(&[("host", host)]), 9000), accepted, "{host}");
        }
        assert!(!names_loopback(&HeaderMap::new(), 9000));
    }

    #[test]
    fn a_browser_gives_itself_away() {
        assert!(from_browser(&headers(&[("origin", "null")])));
        assert!(from_browser(&headers(&[("sec-fetch-mode", "no-cors")])));
        assert!(!from_browser(&headers(&[("user-agent", "aws-cli")])));
    }
}
