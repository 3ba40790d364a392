//! Answers before they become HTTP, and GitHub's words for what it refuses.

use serde_json::{Value, json};

use crate::github::refusal::Refusal;

/// An answer.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Value,
}

impl Answer {
    pub(crate) fn ok(body: Value) -> Self {
        Self { status: 200, headers: Vec::new(), body }
    }

    pub(crate) fn refused(status: u16, message: &str) -> Self {
        let body = json!({
            "message": message,
            "documentation_url": "https://docs.github.com/rest",
            "status": status.to_string(),
        });
        Self { status, headers: Vec::new(), body }
    }

    pub(crate) fn not_found() -> Self {
        Self::refused(404, "Not Found")
    }

    pub(crate) fn bad_credentials() -> Self {
        Self::refused(401, "Bad credentials")
    }

    pub(crate) fn not_accessible() -> Self {
        Self::refused(403, "Resource not accessible by integration")
    }

    /// A repository that is called otherwise now.
    pub(crate) fn moved(to: &str) -> Self {
        let mut answer = Self::refused(301, "Moved Permanently");
        crate::github::render::set(&mut answer.body, "url", json!(to));
        answer.with("location", to)
    }

    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// A question that finds nothing is answered as GitHub answers it.
impl From<Refusal> for Answer {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::NoSuchBranch(_) => Self::refused(404, "Branch not found"),
            Refusal::NoSuchCommit(sha) => {
                Self::refused(422, &format!("No commit found for SHA: {sha}"))
            }
            Refusal::NoSuchAccount(_)
            | Refusal::NoSuchRepository(_)
            | Refusal::NoSuchPullRequest(_)
            | Refusal::NoSuchReview(_)
            | Refusal::NoSuchRun(_)
            | Refusal::NoSuchApp(_)
            | Refusal::NoSuchInstallation(_) => Self::not_found(),
            // These refuse changes, and no change is made by REST.
            Refusal::NameTaken(_)
            | Refusal::Archived(_)
            | Refusal::BadPath(_)
            | Refusal::NotFastForward(_)
            | Refusal::DefaultBranch(_)
            | Refusal::NothingToMerge { .. }
            | Refusal::AlreadyOpen(_)
            | Refusal::NotOpen(_)
            | Refusal::NotReopenable(_)
            | Refusal::Draft(_)
            | Refusal::Conflict(_)
            | Refusal::OwnPullRequest(_)
            | Refusal::ReviewState(_)
            | Refusal::Queue(_)
            | Refusal::RunState(_) => Self::refused(422, "Validation Failed"),
        }
    }
}
