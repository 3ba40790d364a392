//! The client of one connection: whom it asks as, when it keeps silent, and how it follows what an answer leads to.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use domain::ids::RepositoryId;
use domain::observation::Origin;
use hyper::Method;
use hyper::header::{CONTENT_TYPE, DATE, HeaderMap, HeaderValue};
use hyper::http::StatusCode;
use hyper::http::uri::PathAndQuery;
use jiff::Timestamp;
use serde::de::DeserializeOwned;

use crate::connection::{Auth, ConnectError, Connection};
use crate::error::{Foreign, NoAccess, ReadError, unreadable};
use crate::installation::Installation;
use crate::limits::{Judged, judge, used_up_until};
use crate::links::{location, next_page};
use crate::time::http_date;
use crate::transport::{Outgoing, RawAnswer, Transport};
use crate::wire;

/// GitHub redirects once, for a renamed repository; nobody needs more than a few.
const REDIRECTS_MAX: usize = 3;

/// What one read may cost.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// How long a connection may take.
    pub connect: Duration,
    /// How long one request may take, its answer included.
    pub attempt: Duration,
    /// The largest body that is read, in bytes.
    pub body_bytes_max: usize,
    /// The longest list that is read, in pages of 100.
    pub pages_max: usize,
}

impl Default for Limits {
    /// Three seconds to connect and ten to answer, which is what GitHub allows itself; ten megabytes, far more than a page
    /// of anything that is read here; and 200 pages, as no list of one pull request is longer.
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(3),
            attempt: Duration::from_secs(10),
            body_bytes_max: 10_000_000,
            pages_max: 200,
        }
    }
}

/// An answer, and when its question was sent: the earlier of our clock and the `Date` of the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer<T> {
    /// When the read started.
    pub started_at: Timestamp,
    /// What it told.
    pub value: T,
}

/// Reads GitHub over one connection. Make one per connection and keep it: it holds the connection pool, the
/// installation's tokens, and the pause that GitHub asked for.
pub struct GitHub {
    id: String,
    transport: Transport,
    credentials: Credentials,
    /// Until when nothing is asked.
    paused_until: Mutex<Option<Timestamp>>,
}

enum Credentials {
    Token(HeaderValue),
    App(Box<Installation>),
}

/// A question.
#[derive(Debug)]
pub(crate) struct Question<'a> {
    pub(crate) method: Method,
    pub(crate) target: PathAndQuery,
    pub(crate) body: Bytes,
    pub(crate) asked_as: AskedAs<'a>,
}

/// Whose credentials a question bears.
#[derive(Debug, Clone, Copy)]
pub(crate) enum AskedAs<'a> {
    /// Those that may read this repository.
    Reader(&'a RepositoryId),
    /// The App's own.
    App,
}

/// An answer that was understood as far as its status.
pub(crate) struct Fetched {
    pub(crate) started_at: Timestamp,
    pub(crate) status: StatusCode,
    pub(crate) judged: Judged,
    pub(crate) next: Option<PathAndQuery>,
    /// Whether a redirect was followed.
    pub(crate) hops: usize,
    pub(crate) body: Bytes,
}

impl fmt::Debug for GitHub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GitHub").field("id", &self.id).finish_non_exhaustive()
    }
}

impl GitHub {
    /// A client of a connection. Nothing is sent yet.
    ///
    /// # Errors
    /// [`ConnectError`] when the connection's settings or secret can't be used.
    pub fn new(connection: &Connection) -> Result<Self, ConnectError> {
        Self::with_limits(connection, Limits::default())
    }

    /// A client with other limits.
    ///
    /// # Errors
    /// [`ConnectError`] when the connection's settings or secret can't be used.
    pub fn with_limits(connection: &Connection, limits: Limits) -> Result<Self, ConnectError> {
        let Connection { id, host, api_base_url, auth } = connection;
        api_base_url.check(host)?;
        auth.check()?;
        let credentials = match auth {
            Auth::Token(token) => {
                Credentials::Token(bearer(token.expose()).ok_or(ConnectError::Secret)?)
            }
            Auth::App { issuer, private_key_pem, installation } => {
                let app = Installation::new(issuer, private_key_pem, *installation)?;
                Credentials::App(Box::new(app))
            }
        };
        let transport = Transport::new(api_base_url.clone(), limits)?;
        Ok(Self { id: id.clone(), transport, credentials, paused_until: Mutex::new(None) })
    }

    /// The connection's id.
    #[must_use]
    pub fn connection_id(&self) -> &str {
        &self.id
    }

    /// Where an answer comes from, as observations carry it.
    #[must_use]
    pub fn origin(&self, started_at: Timestamp) -> Origin {
        Origin::Read { connection: self.id.clone(), started_at }
    }

    pub(crate) fn installation(&self) -> Result<&Installation, ReadError> {
        match &self.credentials {
            Credentials::App(installation) => Ok(installation),
            Credentials::Token(_) => Err(ReadError::NoAccess(NoAccess::NotAnApp)),
        }
    }

    /// The target of a call, below the API's own path.
    pub(crate) fn target(&self, path: &str) -> Result<PathAndQuery, ReadError> {
        let target = format!("{}{path}", self.transport.base().prefix());
        target.parse().map_err(|_| unreadable("the target"))
    }

    /// Asks about a repository.
    pub(crate) async fn get(
        &self,
        repository: &RepositoryId,
        target: PathAndQuery,
        now: Timestamp,
    ) -> Result<Fetched, ReadError> {
        let asked_as = AskedAs::Reader(repository);
        let question = Question { method: Method::GET, target, body: Bytes::new(), asked_as };
        self.ask(&question, now).await
    }

    /// Asks, once more with a new token where an installation's was refused: it may have been revoked.
    pub(crate) async fn ask(
        &self,
        question: &Question<'_>,
        now: Timestamp,
    ) -> Result<Fetched, ReadError> {
        let first = self.ask_once(question, now).await;
        let refused = matches!(&first, Err(ReadError::NoAccess(NoAccess::Unauthenticated)));
        match (&self.credentials, question.asked_as) {
            (Credentials::App(app), AskedAs::Reader(repository)) if refused => {
                app.forget(repository);
                self.ask_once(question, now).await
            }
            _ => first,
        }
    }

    /// Asks, and follows redirects within the origin.
    async fn ask_once(
        &self,
        question: &Question<'_>,
        now: Timestamp,
    ) -> Result<Fetched, ReadError> {
        let authorization = self.authorization(question.asked_as, now).await?;
        let mut target = question.target.clone();
        let mut started_at = now;
        for hops in 0..=REDIRECTS_MAX {
            self.check_pause(now)?;
            let outgoing = Outgoing {
                method: question.method.clone(),
                target: &target,
                authorization: authorization.clone(),
                body: question.body.clone(),
            };
            let answer = self.transport.send(outgoing).await?;
            started_at = date(&answer.headers).map_or(started_at, |date| date.min(started_at));
            if is_redirect(answer.status) {
                target = location(self.transport.base(), &answer.headers)?;
                continue;
            }
            return self.understood(answer, started_at, hops, now);
        }
        Err(Foreign::Redirects { limit: REDIRECTS_MAX }.into())
    }

    fn understood(
        &self,
        answer: RawAnswer,
        started_at: Timestamp,
        hops: usize,
        now: Timestamp,
    ) -> Result<Fetched, ReadError> {
        let judged = judge(&answer, now);
        let until = match &judged {
            Err(ReadError::Limited { until }) => Some(*until),
            _ => used_up_until(&answer.headers, now),
        };
        if let Some(until) = until {
            *self.paused_until.lock().unwrap_or_else(PoisonError::into_inner) = Some(until);
        }
        let judged = judged?;
        let next = match judged {
            Judged::Found => {
                check_is_json(&answer.headers)?;
                next_page(self.transport.base(), &answer.headers)?
            }
            Judged::Missing => None,
        };
        let RawAnswer { status, body, .. } = answer;
        Ok(Fetched { started_at, status, judged, next, hops, body })
    }

    /// Nothing is asked while GitHub wants silence: going on may get an App banned.
    fn check_pause(&self, now: Timestamp) -> Result<(), ReadError> {
        let paused = *self.paused_until.lock().unwrap_or_else(PoisonError::into_inner);
        match paused {
            Some(until) if now < until => Err(ReadError::Limited { until }),
            Some(_) | None => Ok(()),
        }
    }

    async fn authorization(
        &self,
        asked_as: AskedAs<'_>,
        now: Timestamp,
    ) -> Result<HeaderValue, ReadError> {
        match (&self.credentials, asked_as) {
            (Credentials::Token(token), AskedAs::Reader(_)) => Ok(token.clone()),
            (Credentials::Token(_), AskedAs::App) => Err(ReadError::NoAccess(NoAccess::NotAnApp)),
            (Credentials::App(app), AskedAs::App) => app.word(now),
            (Credentials::App(app), AskedAs::Reader(repository)) => {
                match app.cached(repository, now) {
                    Some(token) => Ok(token),
                    // A token is asked as the App, so this goes no deeper.
                    None => Box::pin(self.installation_token(app, repository, now)).await,
                }
            }
        }
    }

    /// Reads a list to its end. What can't be read to its end is not told at all.
    pub(crate) async fn list<T: DeserializeOwned>(
        &self,
        repository: &RepositoryId,
        first: PathAndQuery,
        now: Timestamp,
        mut take: impl FnMut(T) -> Result<(), ReadError>,
    ) -> Result<Timestamp, ReadError> {
        let mut started_at = now;
        let mut asked = BTreeSet::new();
        let mut target = first;
        loop {
            if asked.len() >= self.transport.limits().pages_max {
                let limit = u64::try_from(asked.len()).unwrap_or(u64::MAX);
                return Err(ReadError::TooLarge { limit, unit: "pages of a list" });
            }
            if !asked.insert(target.to_string()) {
                return Err(unreadable("link repeats a page"));
            }
            let page = self.get(repository, target, now).await?;
            started_at = started_at.min(page.started_at);
            let Judged::Found = page.judged else {
                return Err(self.missing(repository, page.status, now).await);
            };
            for item in wire::list::<T>(&page.body)? {
                take(item)?;
            }
            match page.next {
                Some(next) => target = next,
                None => return Ok(started_at),
            }
        }
    }

    /// Reads one thing of a repository.
    pub(crate) async fn one<T: DeserializeOwned>(
        &self,
        repository: &RepositoryId,
        path: &str,
        now: Timestamp,
    ) -> Result<Answer<T>, ReadError> {
        let fetched = self.get(repository, self.target(path)?, now).await?;
        let Judged::Found = fetched.judged else {
            return Err(self.missing(repository, fetched.status, now).await);
        };
        Ok(Answer { started_at: fetched.started_at, value: wire::object(&fetched.body)? })
    }

    /// What it means that something of a repository is missing: it is gone if the repository itself answers. If that does not
    /// either, nothing is known.
    pub(crate) async fn missing(
        &self,
        repository: &RepositoryId,
        status: StatusCode,
        now: Timestamp,
    ) -> ReadError {
        if !matches!(status, StatusCode::NOT_FOUND | StatusCode::GONE) {
            return unreadable(format!("status {}", status.as_u16()));
        }
        match Box::pin(self.repository(repository, now)).await {
            Ok(_) => ReadError::Gone,
            Err(error) => error,
        }
    }
}

/// A token as a header that no log shows. None for what no header can hold.
pub(crate) fn bearer(token: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(&format!("Bearer {token}")).ok()?;
    value.set_sensitive(true);
    Some(value)
}

fn date(headers: &HeaderMap) -> Option<Timestamp> {
    http_date(headers.get(DATE)?.to_str().ok()?)
}

fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 307 | 308)
}

fn check_is_json(headers: &HeaderMap) -> Result<(), ReadError> {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_json = kind == "application/json" || kind.ends_with("+json");
    if is_json { Ok(()) } else { Err(unreadable("content-type")) }
}
