//! Who asks, and whether they may.

use jiff::Timestamp;

use crate::github::{
    clock::later,
    model::{Permission, Repository, Visibility},
    rest::{answer::Answer, jwt, route::Route},
    world::{Access, Bearer, InstallationToken, Simulation, Used, World},
};

/// Documented: the least that an installation gets.
const REQUESTS_PER_HOUR: u64 = 5_000;

const HOUR_SECONDS: i64 = 3_600;

/// Who asks.
#[derive(Clone)]
pub(crate) enum Caller {
    User(u64),
    Installation(InstallationToken),
    /// By a JWT.
    App(u64),
}

/// What is left of a token's hour.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Allowance {
    pub(crate) limit: u64,
    pub(crate) used: u64,
    pub(crate) resets_at: Timestamp,
}

/// The token of an `Authorization` header.
pub(crate) fn token(header: Option<&str>) -> Result<&str, Answer> {
    let header = header.ok_or_else(|| Answer::refused(401, "Requires authentication"))?;
    let (scheme, token) = header.split_once(' ').ok_or_else(Answer::bad_credentials)?;
    let is_known = scheme.eq_ignore_ascii_case("bearer") || scheme.eq_ignore_ascii_case("token");
    if is_known { Ok(token.trim()) } else { Err(Answer::bad_credentials()) }
}

impl Route {
    /// Whether only an App itself asks this, by a JWT.
    fn is_for_apps(self) -> bool {
        matches!(
            self,
            Self::App
                | Self::AppInstallations
                | Self::AppInstallation
                | Self::AccessTokens
                | Self::RepositoryInstallation
        )
    }

    /// What an installation must be allowed to read.
    pub(crate) fn permission(self) -> &'static str {
        match self {
            Self::Branch | Self::Reference | Self::Commit | Self::GitCommit | Self::Compare => {
                "contents"
            }
            Self::CommitPulls | Self::Pulls | Self::Pull | Self::Reviews | Self::PullCommits => {
                "pull_requests"
            }
            Self::Run | Self::RunAttempt => "actions",
            Self::App
            | Self::AppInstallations
            | Self::AppInstallation
            | Self::AccessTokens
            | Self::InstallationRepositories
            | Self::Repository
            | Self::RepositoryInstallation
            | Self::Unknown => "metadata",
        }
    }
}

impl Simulation {
    /// Who shows this token. Tokens and suspensions are never late.
    pub(crate) fn caller(&self, token: &str, route: Route) -> Result<Caller, Answer> {
        if route.is_for_apps() {
            return Ok(Caller::App(jwt::verify(&self.world, token, self.now())?.id));
        }
        match self.tokens.get(token) {
            None => Err(Answer::bad_credentials()),
            Some(Bearer::User(user)) => {
                self.world.account(*user).map_err(|_| Answer::bad_credentials())?;
                Ok(Caller::User(*user))
            }
            Some(Bearer::Installation(issued)) => {
                let installation = self.world.installations.get(&issued.installation);
                let installation = installation.ok_or_else(Answer::bad_credentials)?;
                if issued.expires_at <= self.now() {
                    return Err(Answer::bad_credentials());
                }
                if installation.suspended.is_some() {
                    return Err(Answer::refused(403, "This installation has been suspended"));
                }
                Ok(Caller::Installation(issued.clone()))
            }
        }
    }

    /// Counts a request, and says what is left; an error when nothing was.
    pub(crate) fn count(&mut self, token: &str) -> (Allowance, Result<(), Answer>) {
        let now = self.now();
        let limit = self.rate.limit.unwrap_or(REQUESTS_PER_HOUR);
        let fresh = Used { requests: 0, resets_at: later(now, HOUR_SECONDS) };
        let used = self.rate.used.entry(token.to_owned()).or_insert(fresh);
        if used.resets_at <= now {
            *used = fresh;
        }
        let counted = if used.requests < limit {
            used.requests += 1;
            Ok(())
        } else {
            Err(Answer::refused(403, "API rate limit exceeded"))
        };
        let Used { requests, resets_at } = *used;
        (Allowance { limit, used: requests, resets_at }, counted)
    }

    /// Takes a request back that turned out to cost nothing.
    pub(crate) fn uncount(&mut self, token: &str) {
        if let Some(used) = self.rate.used.get_mut(token) {
            used.requests = used.requests.saturating_sub(1);
        }
    }
}

/// Whether a caller may ask about a repository.
pub(crate) fn may_ask(
    world: &World,
    caller: &Caller,
    repository: &Repository,
    route: Route,
) -> Result<(), Answer> {
    match caller {
        Caller::App(_) => Ok(()),
        Caller::User(user) => {
            let held = world.permission(*user, repository);
            let may = held.is_some_and(|held| Permission::Read <= held);
            if may { Ok(()) } else { Err(Answer::not_found()) }
        }
        Caller::Installation(issued) => {
            let is_reached = reaches(world, issued, repository);
            let may = allowed(world, issued, route.permission());
            match (is_reached, may, repository.visibility) {
                (true, true, _) => Ok(()),
                (false, _, Visibility::Private) => Err(Answer::not_found()),
                (true, false, _) | (false, _, Visibility::Public) => Err(Answer::not_accessible()),
            }
        }
    }
}

/// Whether a token reaches a repository: by itself, and by its installation as it is now.
pub(crate) fn reaches(world: &World, issued: &InstallationToken, repository: &Repository) -> bool {
    let installation = world.installations.get(&issued.installation);
    installation.is_some_and(|installation| world.reaches(installation, repository))
        && issued.repositories.as_ref().is_none_or(|some| some.contains(&repository.id))
}

fn allowed(world: &World, issued: &InstallationToken, permission: &str) -> bool {
    let installation = world.installations.get(&issued.installation);
    let held = installation.and_then(|installation| installation.permissions.get(permission));
    let of_token = issued.permissions.get(permission);
    [held, of_token].into_iter().all(|access| access.is_some_and(|it| Access::Read <= *it))
}
