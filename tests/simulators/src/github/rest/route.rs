//! Which question a path asks.

use std::fmt;

use hyper::Method;
use percent_encoding::percent_decode_str;

/// What is asked, whichever way the repository is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Route {
    /// `GET /app`
    App,
    /// `GET /app/installations`
    AppInstallations,
    /// `GET /app/installations/{id}`
    AppInstallation,
    /// `POST /app/installations/{id}/access_tokens`
    AccessTokens,
    /// `GET /installation/repositories`
    InstallationRepositories,
    /// `GET /repos/{owner}/{repo}`
    Repository,
    /// `GET …/installation`
    RepositoryInstallation,
    /// `GET …/branches/{branch}`
    Branch,
    /// `GET …/git/ref/heads/{branch}`
    Reference,
    /// `GET …/commits/{ref}`
    Commit,
    /// `GET …/git/commits/{sha}`
    GitCommit,
    /// `GET …/commits/{ref}/pulls`
    CommitPulls,
    /// `GET …/compare/{base}...{head}`
    Compare,
    /// `GET …/pulls`
    Pulls,
    /// `GET …/pulls/{number}`
    Pull,
    /// `GET …/pulls/{number}/reviews`
    Reviews,
    /// `GET …/pulls/{number}/commits`
    PullCommits,
    /// `GET …/actions/runs/{id}`
    Run,
    /// `GET …/actions/runs/{id}/attempts/{number}`
    RunAttempt,
    /// Anything else: answered by 404.
    Unknown,
}

impl fmt::Display for Route {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, formatter)
    }
}

/// How the repository is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// No repository is asked about.
    None,
    /// `/repos/{owner}/{repo}`
    Named(String),
    /// `/repositories/{id}`
    Numbered(u64),
}

/// A path, understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) route: Route,
    pub(crate) target: Target,
    /// What the route's placeholders stand for, without the repository.
    pub(crate) arguments: Vec<String>,
    /// The path after the repository, as it was sent.
    pub(crate) rest: String,
}

impl Asked {
    /// A placeholder's text; empty where the route has none.
    pub(crate) fn argument(&self, index: usize) -> &str {
        self.arguments.get(index).map_or("", String::as_str)
    }

    /// A placeholder's number; text that is none finds nothing.
    pub(crate) fn number(&self, index: usize) -> Option<u64> {
        self.argument(index).parse().ok()
    }
}

/// Understands a method and a path, each segment percent-decoded.
pub(crate) fn understand(method: &Method, path: &str) -> Asked {
    let raw: Vec<&str> = path.split('/').skip(1).collect();
    let decoded: Vec<String> =
        raw.iter().map(|part| percent_decode_str(part).decode_utf8_lossy().into_owned()).collect();
    let parts: Vec<&str> = decoded.iter().map(String::as_str).collect();
    let (target, skipped) = match parts.as_slice() {
        ["repos", owner, name, ..] => (Target::Named(format!("{owner}/{name}")), 3),
        ["repositories", id, ..] => (id.parse().map_or(Target::None, Target::Numbered), 2),
        _ => (Target::None, 0),
    };
    let rest = parts.get(skipped..).unwrap_or_default();
    let (route, arguments) = match (&target, method) {
        (Target::None, _) => without_repository(method, rest),
        (Target::Named(_) | Target::Numbered(_), &Method::GET) => of_repository(rest),
        (Target::Named(_) | Target::Numbered(_), _) => (Route::Unknown, Vec::new()),
    };
    let rest = raw.get(skipped..).unwrap_or_default().join("/");
    Asked { route, target, arguments, rest }
}

fn without_repository(method: &Method, parts: &[&str]) -> (Route, Vec<String>) {
    let (route, arguments): (Route, &[&str]) = match (method, parts) {
        (&Method::GET, ["app"]) => (Route::App, &[]),
        (&Method::GET, ["app", "installations"]) => (Route::AppInstallations, &[]),
        (&Method::GET, ["app", "installations", id]) => (Route::AppInstallation, &[id]),
        (&Method::POST, ["app", "installations", id, "access_tokens"]) => {
            (Route::AccessTokens, &[id])
        }
        (&Method::GET, ["installation", "repositories"]) => (Route::InstallationRepositories, &[]),
        _ => (Route::Unknown, &[]),
    };
    (route, arguments.iter().map(|argument| (*argument).to_owned()).collect())
}

fn of_repository(parts: &[&str]) -> (Route, Vec<String>) {
    // A branch may hold slashes, sent as they are or encoded.
    let joined = |parts: &[&str]| vec![parts.join("/")];
    let one = |part: &str| vec![part.to_owned()];
    match parts {
        [] => (Route::Repository, Vec::new()),
        ["installation"] => (Route::RepositoryInstallation, Vec::new()),
        ["branches", branch @ ..] if !branch.is_empty() => (Route::Branch, joined(branch)),
        ["git", "ref", "heads", branch @ ..] => (Route::Reference, joined(branch)),
        ["git", "commits", sha] => (Route::GitCommit, one(sha)),
        ["commits", reference @ .., "pulls"] if !reference.is_empty() => {
            (Route::CommitPulls, joined(reference))
        }
        ["commits", reference @ ..] if !reference.is_empty() => (Route::Commit, joined(reference)),
        ["compare", both @ ..] => {
            let both = both.join("/");
            let (base, head) = both.split_once("...").unwrap_or((&both, ""));
            (Route::Compare, vec![base.to_owned(), head.to_owned()])
        }
        ["pulls"] => (Route::Pulls, Vec::new()),
        ["pulls", number] => (Route::Pull, one(number)),
        ["pulls", number, "reviews"] => (Route::Reviews, one(number)),
        ["pulls", number, "commits"] => (Route::PullCommits, one(number)),
        ["actions", "runs", id] => (Route::Run, one(id)),
        ["actions", "runs", id, "attempts", number] => {
            (Route::RunAttempt, vec![(*id).to_owned(), (*number).to_owned()])
        }
        _ => (Route::Unknown, Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, route: Route, arguments: &[&str]) {
        let asked = understand(&Method::GET, path);
        assert_eq!(
            (asked.route, asked.arguments.as_slice()),
            (route, &own(arguments)[..]),
            "{path}"
        );
    }

    fn own(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn branches_hold_slashes_encoded_or_not() {
        check("/repos/a/b/branches/feat%2Fx", Route::Branch, &["feat/x"]);
        check("/repos/a/b/branches/feat/x", Route::Branch, &["feat/x"]);
        check("/repositories/7/git/ref/heads/feat/x%25", Route::Reference, &["feat/x%"]);
        check("/repos/a/b/compare/main...feat%2Fx", Route::Compare, &["main", "feat/x"]);
        check("/repos/a/b/commits/feat%2Fx/pulls", Route::CommitPulls, &["feat/x"]);
    }

    #[test]
    fn both_ways_to_name_a_repository_ask_the_same() {
        let named = understand(&Method::GET, "/repos/a/b/pulls/7/reviews");
        let numbered = understand(&Method::GET, "/repositories/5/pulls/7/reviews");
        assert_eq!(named.target, Target::Named("a/b".to_owned()));
        assert_eq!(numbered.target, Target::Numbered(5));
        assert_eq!((named.route, numbered.route), (Route::Reviews, Route::Reviews));
        assert_eq!((named.rest.as_str(), named.number(0)), ("pulls/7/reviews", Some(7)));
    }

    #[test]
    fn what_is_not_simulated_is_unknown() {
        check("/", Route::Unknown, &[]);
        check("/repos/a", Route::Unknown, &[]);
        check("/repos/a/b/issues", Route::Unknown, &[]);
        let post = understand(&Method::POST, "/repos/a/b/pulls");
        assert_eq!(post.route, Route::Unknown);
    }
}
