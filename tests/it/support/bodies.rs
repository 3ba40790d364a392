//! Bodies of deliveries, as small as GitHub's schema allows, with invented values.

use serde_json::{Value, json};

/// The repository of tenant t1.
pub(crate) const REPOSITORY: u64 = 11;
/// The repository of tenant t2.
pub(crate) const OTHER_REPOSITORY: u64 = 22;

/// What a `workflow_run` body says.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    pub(crate) repository: u64,
    pub(crate) id: u64,
    pub(crate) attempt: u64,
    pub(crate) action: &'static str,
    pub(crate) status: String,
    pub(crate) conclusion: Option<String>,
    /// Seconds after noon of 2026-11-01.
    pub(crate) at: i64,
}

impl Run {
    /// Attempt 1 of run 880 of repository 11.
    pub(crate) fn of(status: &str, conclusion: Option<&str>, at: i64) -> Self {
        Self {
            repository: REPOSITORY,
            id: 880,
            attempt: 1,
            action: match status {
                "completed" => "completed",
                "in_progress" => "in_progress",
                _ => "requested",
            },
            status: status.to_owned(),
            conclusion: conclusion.map(str::to_owned),
            at,
        }
    }

    pub(crate) fn attempt(self, attempt: u64) -> Self {
        Self { attempt, ..self }
    }

    pub(crate) fn id(self, id: u64) -> Self {
        Self { id, ..self }
    }

    pub(crate) fn repository(self, repository: u64) -> Self {
        Self { repository, ..self }
    }

    pub(crate) fn json(&self) -> Value {
        let repository = json!({ "id": self.repository, "full_name": "acme/storefront" });
        json!({
            "action": self.action,
            "repository": repository,
            "workflow": null,
            "sender": { "login": "octavia-storm", "id": 7 },
            "workflow_run": {
                "id": self.id,
                "name": "ci",
                "node_id": "n",
                "run_number": 41,
                "run_attempt": self.attempt,
                "status": self.status,
                "conclusion": self.conclusion,
                "event": "push",
                "head_branch": "main",
                "head_sha": "5f0d3c5a8a2d4f4cb59cf4a1ce3e7b1df0a1b2c3",
                "head_repository": { "id": self.repository },
                "path": ".github/workflows/ci.yml",
                "workflow_id": 3,
                "created_at": at(0),
                "run_started_at": at(0),
                "updated_at": at(self.at),
                "repository": repository,
                "pull_requests": [],
            },
        })
    }

    pub(crate) fn body(&self) -> String {
        self.json().to_string()
    }
}

/// What a `workflow_job` body says.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    pub(crate) run: u64,
    pub(crate) attempt: u64,
    pub(crate) id: u64,
    pub(crate) status: String,
    pub(crate) conclusion: Option<String>,
    pub(crate) started_at: i64,
    pub(crate) completed_at: Option<i64>,
    pub(crate) deployment_at: Option<i64>,
}

impl Job {
    /// Job 5 of attempt 1 of run 880.
    pub(crate) fn of(status: &str, conclusion: Option<&str>, at: i64) -> Self {
        Self {
            run: 880,
            attempt: 1,
            id: 5,
            status: status.to_owned(),
            conclusion: conclusion.map(str::to_owned),
            started_at: at,
            completed_at: conclusion.map(|_| at),
            deployment_at: None,
        }
    }

    pub(crate) fn id(self, id: u64) -> Self {
        Self { id, ..self }
    }

    pub(crate) fn run(self, run: u64, attempt: u64) -> Self {
        Self { run, attempt, ..self }
    }

    pub(crate) fn deployed(self, at: i64) -> Self {
        Self { deployment_at: Some(at), ..self }
    }

    pub(crate) fn json(&self) -> Value {
        let mut body = json!({
            "action": self.status,
            "repository": { "id": REPOSITORY, "full_name": "acme/storefront" },
            "sender": { "login": "octavia-storm", "id": 7 },
            "workflow_job": {
                "id": self.id,
                "run_id": self.run,
                "run_attempt": self.attempt,
                "name": "build",
                "workflow_name": "ci",
                "head_branch": "main",
                "head_sha": "5f0d3c5a8a2d4f4cb59cf4a1ce3e7b1df0a1b2c3",
                "status": self.status,
                "conclusion": self.conclusion,
                "created_at": at(0),
                "started_at": at(self.started_at),
                "completed_at": self.completed_at.map(at),
                "labels": [],
                "steps": [],
            },
        });
        if let Some(updated_at) = self.deployment_at {
            body["deployment"] = json!({ "id": 1, "updated_at": at(updated_at) });
        }
        body
    }

    pub(crate) fn body(&self) -> String {
        self.json().to_string()
    }
}

/// A time as GitHub writes it, in seconds after noon of 2026-11-01.
pub(crate) fn at(seconds: i64) -> String {
    let noon: jiff::Timestamp = "2026-11-01T12:00:00Z".parse().unwrap();
    (noon + jiff::SignedDuration::from_secs(seconds)).to_string()
}

/// A `pull_request` body of a repository, some seconds after noon of 2026-11-01.
pub(crate) fn pull_request(repository: u64, action: &str, seconds: i64) -> Value {
    let time = at(seconds);
    let side = |name: &str, digit: &str| {
        let repo = json!({ "id": repository, "full_name": "acme/storefront" });
        json!({ "label": format!("acme:{name}"), "ref": name, "sha": digit.repeat(40), "repo": repo })
    };
    json!({
        "action": action,
        "number": 41,
        "pull_request": {
            "number": 41, "state": "open", "merged": false, "draft": false,
            "updated_at": time, "user": { "login": "octavia-storm", "id": 7 },
            "head": side("factory/delivery-date", "a"), "base": side("main", "b"), "labels": [],
        },
        "repository": { "id": repository, "full_name": "acme/storefront" },
        "sender": { "login": "octavia-storm", "id": 7 },
    })
}
