//! What the tests ask about: one repository, its answers, and clients of it.

use std::path::Path;
use std::time::Duration;

use domain::ids::{Attempt, CommitId, Host, PullRequestNumber, RepositoryId, RunId};
use domain::words::Text;
use github_api::{
    ApiBaseUrl, Auth, Connection, Foreign, GitHub, Limits, NoAccess, ReadError, Secret,
};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::server::{Reply, Script, Server};

pub(crate) const TOKEN: &str = "ghp_CANARY";
pub(crate) const INSTALLATION: u64 = 77;
pub(crate) const REPOSITORY: &str = "GET /repositories/11";
pub(crate) const MINT: &str = "POST /app/installations/77/access_tokens";

/// When everything happens.
pub(crate) fn now() -> Timestamp {
    "2026-12-01T00:00:00Z".parse().expect("a time")
}

pub(crate) fn later(seconds: i64) -> Timestamp {
    now() + SignedDuration::from_secs(seconds)
}

pub(crate) fn home() -> RepositoryId {
    RepositoryId::from_number(11).expect("an id")
}

pub(crate) fn number(number: u64) -> PullRequestNumber {
    PullRequestNumber::new(number).expect("a number")
}

/// The commit whose id is this digit, forty times.
pub(crate) fn commit_id(digit: char) -> CommitId {
    CommitId::new(&sha(digit)).expect("an id")
}

pub(crate) fn sha(digit: char) -> String {
    digit.to_string().repeat(40)
}

pub(crate) fn run() -> (RunId, Attempt) {
    (RunId(880), Attempt::new(2).expect("an attempt"))
}

pub(crate) fn branch() -> Text {
    Text::new("factory/x")
}

fn connection(url: &str, auth: Auth) -> Connection {
    Connection {
        id: "acme".to_owned(),
        host: Host::new("github.com").expect("a host"),
        api_base_url: ApiBaseUrl::parse(url).expect("a URL"),
        auth,
    }
}

/// A client with a token.
pub(crate) fn github(server: &Server) -> GitHub {
    at(&server.url(), Limits::default())
}

/// A client with a token and small limits.
pub(crate) fn at(url: &str, limits: Limits) -> GitHub {
    let auth = Auth::Token(Secret::new(TOKEN));
    GitHub::with_limits(&connection(url, auth), limits).expect("a client")
}

/// Limits that a test reaches at once.
pub(crate) fn small() -> Limits {
    Limits {
        connect: Duration::from_secs(3),
        attempt: Duration::from_millis(200),
        body_bytes_max: 100_000,
        pages_max: 3,
    }
}

/// Time enough on the busiest machine, and little to read.
pub(crate) fn little() -> Limits {
    Limits { attempt: Limits::default().attempt, ..small() }
}

/// A client of an App's installation.
pub(crate) fn app(server: &Server) -> GitHub {
    let auth = Auth::App {
        issuer: "Iv1.abc".to_owned(),
        private_key_pem: Secret::new(include_str!("../keys/app-pkcs1.pem")),
        installation: INSTALLATION,
    };
    GitHub::new(&connection(&server.url(), auth)).expect("a client")
}

/// A script in which the repository answers.
pub(crate) fn answering() -> Script {
    Script::default().on(REPOSITORY, Reply::json(&repository()))
}

/// The body in a sample delivery.
pub(crate) fn sample(file: &str) -> Value {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../events/github"));
    let text = std::fs::read_to_string(folder.join(file)).expect("a sample");
    serde_json::from_str(&text).expect("JSON")
}

pub(crate) fn repository() -> Value {
    json!({
        "id": 11,
        "full_name": "acme/api",
        "archived": false,
        "default_branch": "main",
        "permissions": { "admin": false, "maintain": false, "push": true, "triage": true, "pull": true },
        "something": { "new": [1, null] },
    })
}

pub(crate) fn pull_request(number: u64, head: char) -> Value {
    json!({
        "number": number,
        "state": "open",
        "merged": false,
        "merge_commit_sha": sha('e'),
        "updated_at": "2026-11-30T23:00:00Z",
        "user": { "id": 5, "login": "mona" },
        "head": { "ref": "factory/x", "sha": sha(head), "repo": { "id": 11 } },
        "base": { "ref": "main", "sha": sha('b'), "repo": { "id": 11 } },
    })
}

pub(crate) fn review(id: u64, state: &str, user: &Value) -> Value {
    json!({
        "id": id,
        "state": state,
        "submitted_at": "2026-11-30T23:30:00Z",
        "commit_id": sha('a'),
        "user": user,
    })
}

pub(crate) fn person() -> Value {
    json!({ "id": 6, "login": "hubot-friend", "type": "User" })
}

pub(crate) fn commit(id: char, tree: char, parents: &[char], message: &str) -> Value {
    let parents: Vec<_> = parents.iter().map(|parent| json!({ "sha": sha(*parent) })).collect();
    json!({
        "sha": sha(id),
        "commit": { "message": message, "tree": { "sha": sha(tree) } },
        "parents": parents,
        "files": [{ "patch": "@@" }],
    })
}

pub(crate) fn workflow_run() -> Value {
    json!({
        "id": 880,
        "run_attempt": 2,
        "run_number": 7,
        "path": ".github/workflows/ci.yml",
        "event": "push",
        "status": "completed",
        "conclusion": "success",
        "head_sha": sha('a'),
        "run_started_at": "2026-11-30T22:00:00Z",
        "updated_at": "2026-11-30T22:05:00Z",
        "repository": { "id": 11, "full_name": "acme/api" },
    })
}

/// A value with a field, named by its path of JSON (RFC 6901), set to another.
pub(crate) fn with(mut value: Value, field: &str, new: Value) -> Value {
    *value.pointer_mut(field).expect("the field") = new;
    value
}

/// A value without a field.
pub(crate) fn without(mut value: Value, object: &str, field: &str) -> Value {
    let object = value.pointer_mut(object).and_then(Value::as_object_mut).expect("the object");
    object.remove(field).expect("the field");
    value
}

/// A read that failed, in few words.
pub(crate) fn failure<T: std::fmt::Debug>(result: Result<T, ReadError>) -> String {
    match result.expect_err("a failure") {
        ReadError::Limited { until } => format!("limited until {}", until.strftime("%T")),
        ReadError::NoAccess(NoAccess::Refused { status }) => format!("refused {status}"),
        ReadError::NoAccess(why) => format!("no access: {why:?}"),
        ReadError::Gone => "gone".to_owned(),
        ReadError::Unavailable(_) => "unavailable".to_owned(),
        ReadError::Foreign(Foreign::Mismatch { field }) => format!("mismatch of {field}"),
        ReadError::Foreign(Foreign::ForeignLink { place }) => format!("foreign {place}"),
        ReadError::Foreign(Foreign::Redirects { limit }) => format!("over {limit} redirects"),
        ReadError::Unreadable { place } => format!("unreadable {place}"),
        ReadError::TooLarge { limit, unit } => format!("over {limit} {unit}"),
    }
}
