//! The HTTP server: what was asked, faults, headers.

use std::{
    convert::Infallible,
    fmt, io,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    sync::{Arc, Mutex, PoisonError},
    thread::JoinHandle,
};

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::{
    HeaderMap, Response, StatusCode,
    body::Incoming,
    header::{AUTHORIZATION, HeaderName, HeaderValue, IF_NONE_MATCH, USER_AGENT},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use jiff::{Timestamp, fmt::rfc2822::DateTimePrinter};
use serde_json::Value;
use tokio::{sync::oneshot, task::JoinSet};

use crate::github::{
    GitHub,
    rest::{
        answer::Answer,
        authorization::Allowance,
        faults::{Fault, Faults},
        handlers::Question,
        route::{Asked, Route, understand},
    },
};

/// The version that is answered, and the only one that may be asked for.
const API_VERSION: &str = "2022-11-28";

/// No request that is simulated has a larger body.
const BODY_BYTES_MAX: usize = 256 * 1024;

/// So many requests are remembered; later ones are answered, and counted, only.
const REMEMBERED_MAX: usize = 100_000;

/// A request that came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// What it asked.
    pub route: Route,
    /// `GET` or `POST`.
    pub method: String,
    /// Path and query, as they were sent.
    pub path: String,
    /// `X-GitHub-Api-Version`
    pub api_version: Option<String>,
    /// `User-Agent`
    pub user_agent: Option<String>,
    /// `Accept`
    pub accept: Option<String>,
}

/// GitHub's REST API at an address of its own on loopback. It ends when this is dropped.
pub struct Server {
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<Infallible>>,
    thread: Option<JoinHandle<()>>,
}

impl fmt::Debug for Server {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Server").field("url", &self.shared.url).finish_non_exhaustive()
    }
}

struct Shared {
    github: GitHub,
    url: String,
    faults: Faults,
    requests: Mutex<Vec<Request>>,
}

impl Server {
    /// Answers from now on, at a free port.
    ///
    /// # Errors
    /// When no port can be had.
    pub fn start(github: &GitHub) -> io::Result<Self> {
        Self::start_at(github, SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
    }

    /// Answers from now on, at this address. It has a thread of its own, and needs no runtime.
    ///
    /// # Errors
    /// When the address cannot be had.
    pub fn start_at(github: &GitHub, address: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let shared = Arc::new(Shared {
            github: github.clone(),
            url: format!("http://{}", listener.local_addr()?),
            faults: Faults::default(),
            requests: Mutex::default(),
        });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel();
        let serving = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("simulated-github".to_owned())
            .spawn(move || runtime.block_on(serve(listener, serving, stopped)))?;
        Ok(Self { shared, stop: Some(stop), thread: Some(thread) })
    }

    /// The base of all paths, without a slash at its end.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.shared.url
    }

    /// Lets the next request of this kind go wrong. Several faults of a route take effect one after the other.
    pub fn fail_next(&self, route: Route, fault: Fault) {
        self.shared.faults.add(route, fault);
    }

    /// Every request so far, in the order in which they came, those that went wrong too.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.shared.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How often this was asked.
    #[must_use]
    pub fn count(&self, route: Route) -> usize {
        self.requests().iter().filter(|request| request.route == route).count()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // What hangs is dropped with the thread's runtime, so this does not wait for any client.
            let _ = thread.join();
        }
    }
}

async fn serve(
    listener: TcpListener,
    shared: Arc<Shared>,
    mut stopped: oneshot::Receiver<Infallible>,
) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            _ = &mut stopped => return,
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            accepted = listener.accept() => {
                let Ok((stream, _)) = accepted else { continue };
                let _ = stream.set_nodelay(true);
                let shared = Arc::clone(&shared);
                connections.spawn(async move {
                    let service = service_fn(|request| respond(&shared, request));
                    let connection = http1::Builder::new();
                    // A client that leaves has its reasons.
                    let _ = connection.serve_connection(TokioIo::new(stream), service).await;
                });
            }
        }
    }
}

/// Closes the connection.
#[derive(Debug)]
struct Closed;

impl fmt::Display for Closed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("closed on purpose")
    }
}

impl std::error::Error for Closed {}

async fn respond(
    shared: &Shared,
    request: hyper::Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Closed> {
    let (head, body) = request.into_parts();
    let body = Limited::new(body, BODY_BYTES_MAX).collect().await.map_err(|_| Closed)?.to_bytes();
    let asked = understand(&head.method, head.uri.path());
    let path = head.uri.path_and_query().map(ToString::to_string).unwrap_or_default();
    shared.remember(Request {
        route: asked.route,
        method: head.method.to_string(),
        path,
        api_version: text(&head.headers, "x-github-api-version").map(str::to_owned),
        user_agent: text(&head.headers, USER_AGENT.as_str()).map(str::to_owned),
        accept: text(&head.headers, "accept").map(str::to_owned),
    });
    let fault = shared.faults.take(asked.route);
    let link = match fault {
        None => None,
        Some(Fault::ForeignLink(link)) => Some(link),
        Some(Fault::Hang) => std::future::pending().await,
        Some(Fault::CloseConnection) => return Err(Closed),
        Some(Fault::Answer { status, headers, body }) => {
            return Ok(raw(shared.github.now(), status, &headers, body));
        }
        Some(Fault::Redirect { status, to }) => {
            let location = [("location".to_owned(), to)];
            return Ok(raw(shared.github.now(), status, &location, String::new()));
        }
    };
    let query = head.uri.query().unwrap_or_default();
    let (mut answer, allowance) = shared.answer(&asked, query, &head.headers, &body);
    if let Some(link) = link {
        answer.headers.retain(|(name, _)| name != "link");
        answer = answer.with("link", &format!("<{link}>; rel=\"next\""));
    }
    Ok(finished(shared.github.now(), answer, allowance))
}

impl Shared {
    fn remember(&self, request: Request) {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        if requests.len() < REMEMBERED_MAX {
            requests.push(request);
        }
    }

    fn answer(
        &self,
        asked: &Asked,
        query: &str,
        headers: &HeaderMap,
        body: &[u8],
    ) -> (Answer, Option<Allowance>) {
        if text(headers, USER_AGENT.as_str()).is_none_or(str::is_empty) {
            let told = "Request forbidden by administrative rules. Please make sure your request has a User-Agent header.";
            return (Answer::refused(403, told), None);
        }
        let version = text(headers, "x-github-api-version");
        if version.is_some_and(|version| version != API_VERSION) {
            return (Answer::refused(400, "The API version is not supported"), None);
        }
        self.github.answer(&Question {
            asked,
            query,
            authorization: text(headers, AUTHORIZATION.as_str()),
            if_none_match: text(headers, IF_NONE_MATCH.as_str()),
            body,
            api: &self.url,
        })
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// An answer with the headers that all of GitHub's have.
fn finished(now: Timestamp, answer: Answer, allowance: Option<Allowance>) -> Response<Full<Bytes>> {
    let mut headers = answer.headers;
    let mut add = |name: &str, value: String| headers.push((name.to_owned(), value));
    add("x-github-api-version-selected", API_VERSION.to_owned());
    add("x-github-media-type", "github.v3; format=json".to_owned());
    add("cache-control", "private, max-age=60, s-maxage=60".to_owned());
    add("vary", "Accept, Authorization, Cookie, X-GitHub-OTP".to_owned());
    if let Some(Allowance { limit, used, resets_at }) = allowance {
        add("x-ratelimit-limit", limit.to_string());
        add("x-ratelimit-remaining", limit.saturating_sub(used).to_string());
        add("x-ratelimit-used", used.to_string());
        add("x-ratelimit-reset", resets_at.as_second().to_string());
        add("x-ratelimit-resource", "core".to_owned());
    }
    let body = if answer.body == Value::Null { String::new() } else { answer.body.to_string() };
    if !body.is_empty() {
        add("content-type", "application/json; charset=utf-8".to_owned());
    }
    raw(now, answer.status, &headers, body)
}

fn raw(
    now: Timestamp,
    status: u16,
    headers: &[(String, String)],
    body: String,
) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
    let date = DateTimePrinter::new().timestamp_to_rfc9110_string(&now).unwrap_or_default();
    let date = [("date".to_owned(), date)];
    for (name, value) in date.iter().chain(headers) {
        if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), HeaderValue::from_str(value)) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}
