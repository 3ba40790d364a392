//! What a verified delivery says: one reading per event, in the core's words.
//!
//! The event's name is a header, and no header is signed: whoever captured a body can send it again under another name.
//! So a body counts only when its shape fits the name ([`QuarantineReason::ShapeMismatch`] otherwise), and what it says
//! is ordered by its own times.

mod pull_request;
mod subject;
#[cfg(test)]
mod tests;
mod workflow_job;
mod workflow_run;

use domain::delivery::QuarantineReason;
use domain::ids::{Host, RepositoryKey};
use domain::observation::{Doubt, Fact};
use domain::words::Word;

use crate::body;
use crate::events::pull_request::PullRequest;
use crate::events::workflow_job::WorkflowJob;
use crate::events::workflow_run::WorkflowRun;
use crate::headers::Headers;
use crate::json;
use crate::verify::Verified;

/// The events that are understood. Every other one is ignored, by name.
pub const UNDERSTOOD: [&str; 4] = ["ping", "pull_request", "workflow_job", "workflow_run"];

/// What a verified delivery says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reading {
    /// GitHub tried the hook. Nothing to store; answer 200.
    Ping,
    /// An event that is not understood. Nothing to store; answer 202.
    Ignored {
        /// Its name, cut at 64 characters.
        event: Word,
    },
    /// Something was observed.
    Observed(SeenFact),
    /// The body can't be read, now or ever: the ledger takes note, and the answer is 202, lest it come again for ever.
    Quarantined(Quarantined),
}

/// A fact, as far as a body can tell it: the caller adds who proved it and by which delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenFact {
    /// The repository that the body names.
    pub repository: RepositoryKey,
    /// The App installation that the body names, where a GitHub App sent it.
    pub installation: Option<u64>,
    /// What was seen.
    pub fact: Fact,
    /// Why it should be followed by a read.
    pub doubt: Option<Doubt>,
    /// The event's action.
    pub action: Word,
}

/// A body that can't be read, with whatever could be read of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quarantined {
    /// Why. Names places, repeats no content.
    pub reason: QuarantineReason,
    /// The action, if it could be read and looks like one.
    pub action: Option<Word>,
    /// The repository, if it could be read and the body does not contradict itself about it.
    pub repository: Option<RepositoryKey>,
}

impl From<QuarantineReason> for Quarantined {
    fn from(reason: QuarantineReason) -> Self {
        Self { reason, action: None, repository: None }
    }
}

/// Reads a verified delivery. `host` is where the source's repositories live; the body is not asked.
#[must_use]
pub fn read(verified: &Verified<'_>, headers: &Headers<'_>, host: &Host) -> Reading {
    let text = match body::json_text(verified, headers.content_type()) {
        Ok(text) => text,
        Err(reason) => return Reading::Quarantined(reason.into()),
    };
    match headers.event() {
        Some("pull_request") => subject::read::<PullRequest<'_>>(&text, host),
        Some("workflow_run") => subject::read::<WorkflowRun<'_>>(&text, host),
        Some("workflow_job") => subject::read::<WorkflowJob<'_>>(&text, host),
        event => match (json::check(&text), event) {
            (Err(reason), _) => Reading::Quarantined(reason.into()),
            (Ok(()), Some("ping")) => Reading::Ping,
            (Ok(()), Some(name)) => Reading::Ignored { event: Word::new(name) },
            (Ok(()), None) => {
                Reading::Quarantined(json::shape_mismatch("no X-GitHub-Event header").into())
            }
        },
    }
}
