//! The rules of the simulated GitHub, seen from outside: by what is sent and what is answered.

mod apps;
mod faults;
mod merging;
mod pull_requests;
mod repositories;
mod rest;
mod reviews;
mod runs;
mod truth;
mod webhooks;

use serde_json::Value;

use crate::{
    git::Sha,
    github::{
        AccountKind, CommitSpec, Delivery, GitHub, Permission, PullRequestSpec, RepositoryId,
        RepositorySpec, Server, User,
    },
};

/// An organization with one repository, whose hook hears of everything, and two people who write to it.
struct Scene {
    github: GitHub,
    acme: User,
    ada: User,
    bob: User,
    repository: RepositoryId,
}

impl Scene {
    fn new() -> Self {
        let github = GitHub::at("2026-03-01T12:00:00Z".parse().unwrap());
        let acme = github.create_user("acme", AccountKind::Organization).unwrap();
        let ada = github.create_user("ada", AccountKind::User).unwrap();
        let bob = github.create_user("bob", AccountKind::User).unwrap();
        let repository = github.create_repository(&acme, RepositorySpec::new("api")).unwrap();
        github.grant(repository, &ada, Permission::Write).unwrap();
        github.grant(repository, &bob, Permission::Maintain).unwrap();
        github.add_hook(repository).unwrap();
        Self { github, acme, ada, bob, repository }
    }

    /// One more commit on a branch, which starts at `main` when it is new.
    fn push(&self, branch: &str, file: &str, content: &str) -> Sha {
        let (github, repository) = (&self.github, self.repository);
        let parent = github.branch(repository, branch);
        let parent = parent.unwrap_or_else(|_| github.branch(repository, "main").unwrap());
        let spec = CommitSpec::on(parent, &format!("Change {file}")).file(file, content);
        let sha = github.commit(repository, spec.by(&self.ada)).unwrap();
        github.push(repository, branch, sha, &self.ada).unwrap();
        sha
    }

    /// A pull request of ada's into `main`, from a branch with one commit.
    fn open(&self, branch: &str) -> u64 {
        self.push(branch, &format!("{branch}.txt"), "1\n");
        self.propose(branch)
    }

    fn propose(&self, branch: &str) -> u64 {
        let spec = PullRequestSpec::new(branch, "main").title(&format!("Propose {branch}"));
        self.github.open_pull_request(self.repository, spec, &self.ada).unwrap()
    }

    fn tip(&self, branch: &str) -> Sha {
        self.github.branch(self.repository, branch).unwrap()
    }

    fn taken(&self) -> Vec<Delivery> {
        self.github.take_deliveries()
    }

    /// What was raised and not yet looked at: `push`, `pull_request.opened`, …
    fn events(&self) -> Vec<String> {
        self.taken().iter().map(name).collect()
    }

    /// The body of the last delivery of this name; all that was raised counts as looked at.
    fn last(&self, wanted: &str) -> Value {
        let taken = self.taken();
        let last = taken.iter().rfind(|delivery| name(delivery) == wanted);
        last.unwrap_or_else(|| panic!("no {wanted} in {taken:?}")).json()
    }
}

fn name(delivery: &Delivery) -> String {
    let action = delivery.action();
    if action.is_empty() { delivery.event.clone() } else { format!("{}.{action}", delivery.event) }
}

/// A client with a token.
struct Client {
    server: Server,
    token: String,
}

/// What came back.
struct Reply {
    status: u16,
    headers: reqwest::header::HeaderMap,
    json: Value,
}

impl Client {
    fn new(github: &GitHub, user: &User) -> Self {
        let token = github.issue_token(user).unwrap();
        Self { server: Server::start(github).unwrap(), token }
    }

    async fn get(&self, path: &str) -> Reply {
        self.send(self.request(reqwest::Method::GET, path)).await
    }

    /// A good answer.
    async fn read(&self, path: &str) -> Value {
        let reply = self.get(path).await;
        assert_eq!(reply.status, 200, "{path}: {}", reply.json);
        reply.json
    }

    fn request(&self, method: reqwest::Method, path: &str) -> reqwest::RequestBuilder {
        let url = format!("{}{path}", self.server.url());
        let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
        let request = client.build().unwrap().request(method, url);
        request.bearer_auth(&self.token).header("user-agent", "test")
    }

    async fn send(&self, request: reqwest::RequestBuilder) -> Reply {
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let json = serde_json::from_slice(&response.bytes().await.unwrap()).unwrap_or_default();
        Reply { status, headers, json }
    }
}

impl Reply {
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    fn message(&self) -> &str {
        self.json["message"].as_str().unwrap_or_default()
    }
}

/// One field of each item of a list.
fn column(list: &Value, field: &str) -> Vec<Value> {
    list.as_array().unwrap().iter().map(|item| item[field].clone()).collect()
}
