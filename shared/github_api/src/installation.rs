//! The tokens of a GitHub App's installation: each for one repository and for reading only, kept until shortly before it
//! expires.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use domain::ids::RepositoryId;
use github::json::Time;
use hyper::Method;
use hyper::header::HeaderValue;
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde_json::json;

use crate::app::AppKey;
use crate::client::{Answer, AskedAs, GitHub, Question, bearer};
use crate::connection::{ConnectError, Secret};
use crate::error::{NoAccess, ReadError, mismatch, unreadable};
use crate::limits::Judged;
use crate::wire::{self, required};

/// A token is renewed this long before it expires: a read that began with it must also end with it.
const RENEWED_BEFORE: SignedDuration = SignedDuration::from_mins(5);
/// How many tokens are kept: more repositories than one environment reads in a token's hour.
const TOKENS_MAX: usize = 256;

/// An App's installation, as it proves itself.
pub(crate) struct Installation {
    issuer: String,
    key: AppKey,
    id: u64,
    /// By repository: another repository's reader must not hold this one's.
    tokens: Mutex<BTreeMap<RepositoryId, Token>>,
}

struct Token {
    authorization: HeaderValue,
    expires_at: Timestamp,
}

/// An installation that the App has on a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstallationSeen {
    /// The installation, which is the connection's own.
    pub id: u64,
    /// The App's id, where it is told.
    pub app_id: Option<u64>,
    /// When it was suspended: it gives no tokens while it is.
    pub suspended_at: Option<Timestamp>,
}

#[derive(Deserialize)]
struct TokenAnswer {
    token: Option<String>,
    expires_at: Option<Time>,
}

#[derive(Deserialize)]
struct InstallationAnswer {
    id: Option<u64>,
    app_id: Option<u64>,
    suspended_at: Option<Time>,
}

impl Installation {
    pub(crate) fn new(issuer: &str, key: &Secret, id: u64) -> Result<Self, ConnectError> {
        let key = AppKey::from_pem(key)?;
        Ok(Self { issuer: issuer.to_owned(), key, id, tokens: Mutex::default() })
    }

    /// The App's own word.
    pub(crate) fn word(&self, now: Timestamp) -> Result<HeaderValue, ReadError> {
        let word = self.key.jwt(&self.issuer, now).and_then(|jwt| bearer(&jwt));
        word.ok_or_else(|| ReadError::Unavailable("the App's key signs nothing".into()))
    }

    /// A token that is good for a while yet.
    pub(crate) fn cached(&self, repository: &RepositoryId, now: Timestamp) -> Option<HeaderValue> {
        let tokens = self.tokens();
        let token = tokens.get(repository)?;
        let is_good = token.expires_at.duration_since(now) > RENEWED_BEFORE;
        is_good.then(|| token.authorization.clone())
    }

    /// Lets a token go that was refused.
    pub(crate) fn forget(&self, repository: &RepositoryId) {
        self.tokens().remove(repository);
    }

    fn keep(&self, repository: &RepositoryId, token: Token) {
        let mut tokens = self.tokens();
        if tokens.len() >= TOKENS_MAX {
            let oldest = tokens.iter().min_by_key(|(_, token)| token.expires_at);
            let oldest = oldest.map(|(repository, _)| repository.clone());
            oldest.map(|repository| tokens.remove(&repository));
        }
        tokens.insert(repository.clone(), token);
    }

    fn tokens(&self) -> MutexGuard<'_, BTreeMap<RepositoryId, Token>> {
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl GitHub {
    /// Asks which installation the App has on a repository. That it is the connection's own proves that whoever installed
    /// the App controls the repository.
    ///
    /// # Errors
    /// [`NoAccess::NotAnApp`] where the connection is no App's, [`Foreign`](crate::Foreign) where the installation is
    /// another one, [`NoAccess::NoRepository`] where the App is not installed there.
    pub async fn installation_of(
        &self,
        repository: &RepositoryId,
        now: Timestamp,
    ) -> Result<Answer<InstallationSeen>, ReadError> {
        let own = self.installation()?.id;
        let question = Question {
            method: Method::GET,
            target: self.target(&format!("/repositories/{repository}/installation"))?,
            body: Bytes::new(),
            asked_as: AskedAs::App,
        };
        let fetched = self.ask(&question, now).await?;
        let Judged::Found = fetched.judged else {
            return Err(ReadError::NoAccess(NoAccess::NoRepository));
        };
        let seen: InstallationAnswer = wire::object(&fetched.body)?;
        if required(seen.id, "installation.id")? != own {
            return Err(mismatch("installation.id"));
        }
        let suspended_at = seen.suspended_at.map(|time| time.0);
        let value = InstallationSeen { id: own, app_id: seen.app_id, suspended_at };
        Ok(Answer { started_at: fetched.started_at, value })
    }

    /// A new token that reads one repository and nothing else.
    pub(crate) async fn installation_token(
        &self,
        app: &Installation,
        repository: &RepositoryId,
        now: Timestamp,
    ) -> Result<HeaderValue, ReadError> {
        let no_installation = ReadError::NoAccess(NoAccess::NoInstallation);
        let Ok(number) = repository.as_str().parse::<u64>() else { return Err(no_installation) };
        let wanted = json!({
            "repository_ids": [number],
            "permissions": {
                "actions": "read",
                "contents": "read",
                "metadata": "read",
                "pull_requests": "read",
            },
        });
        let question = Question {
            method: Method::POST,
            target: self.target(&format!("/app/installations/{}/access_tokens", app.id))?,
            body: wanted.to_string().into(),
            asked_as: AskedAs::App,
        };
        let fetched = match self.ask(&question, now).await {
            // Suspended installations are refused with 403.
            Err(ReadError::NoAccess(NoAccess::Refused { .. })) => return Err(no_installation),
            fetched => fetched?,
        };
        let Judged::Found = fetched.judged else { return Err(no_installation) };
        let answer: TokenAnswer = wire::object(&fetched.body)?;
        let authorization = bearer(&required(answer.token, "token")?);
        let authorization = authorization.ok_or_else(|| unreadable("token"))?;
        let expires_at = required(answer.expires_at, "expires_at")?.0;
        app.keep(repository, Token { authorization: authorization.clone(), expires_at });
        Ok(authorization)
    }
}
