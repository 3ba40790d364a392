//! `workflow_run`: one attempt of a run.

use domain::delivery::QuarantineReason;
use domain::ids::{RepositoryId, RunId};
use domain::observation::{Doubt, Fact, RunFact};
use domain::pipeline_run::{NativeWords, RunContent};
use domain::words::{Text, Word};
use serde::Deserialize;

use crate::events::subject::{Beside, IntoFact, Subject, attempt, doubt, id, required, words};
use crate::json::{Str, Strict, Time, unreadable};

/// The event's own object, as far as it is mirrored.
#[derive(Debug, Deserialize)]
pub(crate) struct WorkflowRun<'a> {
    id: Option<u64>,
    run_attempt: Option<u32>,
    run_number: Option<u64>,
    workflow_id: Option<u64>,
    #[serde(borrow)]
    name: Option<Str<'a>>,
    #[serde(borrow)]
    path: Option<Str<'a>>,
    #[serde(borrow)]
    event: Option<Str<'a>>,
    #[serde(borrow)]
    status: Option<Str<'a>>,
    #[serde(borrow)]
    conclusion: Option<Str<'a>>,
    #[serde(borrow)]
    head_branch: Option<Str<'a>>,
    #[serde(borrow)]
    head_sha: Option<Str<'a>>,
    created_at: Option<Time>,
    run_started_at: Option<Time>,
    updated_at: Option<Time>,
    head_repository: Option<Strict<RepositoryRef>>,
    repository: Option<Strict<RepositoryRef>>,
}

/// Another repository, named by its id.
#[derive(Debug, Deserialize)]
struct RepositoryRef {
    id: Option<u64>,
}

impl Subject for WorkflowRun<'_> {
    const NAME: &'static str = "workflow_run";
    const ACTIONS: &'static [&'static str] = &["requested", "in_progress", "completed"];
    const COMPANY: &'static [&'static str] = &[];
}

impl IntoFact for WorkflowRun<'_> {
    const INNER_REPOSITORY: &'static str = "workflow_run.repository.id";

    fn inner_repository(&self) -> Option<u64> {
        self.repository.as_ref()?.0.id
    }

    fn into_fact(self, beside: &Beside<'_>) -> Result<(Fact, Option<Doubt>), QuarantineReason> {
        let status = required(self.status.as_ref(), "workflow_run.status")?;
        let words = words(status, self.conclusion.as_ref());
        let doubt = doubt(beside.action, &words);
        let fact = RunFact {
            run: RunId(id(self.id, "workflow_run.id")?),
            attempt: attempt(self.run_attempt, "workflow_run.run_attempt")?,
            updated_at: required(self.updated_at, "workflow_run.updated_at")?.0,
            content: self.content(words, beside)?,
        };
        Ok((Fact::Run(Box::new(fact)), doubt))
    }
}

impl WorkflowRun<'_> {
    fn content(
        &self,
        words: NativeWords,
        beside: &Beside<'_>,
    ) -> Result<RunContent, QuarantineReason> {
        // Hosts that know no attempts know no start of an attempt either.
        let started_at = self.run_started_at.or(self.created_at).or(self.updated_at);
        Ok(RunContent {
            words,
            started_at: required(started_at, "workflow_run.run_started_at")?.0,
            commit: text(required(self.head_sha.as_ref(), "workflow_run.head_sha")?),
            definition: self.definition(),
            event: Word::new(self.event.as_ref().map(Str::as_str).unwrap_or_default()),
            branch: non_empty(self.head_branch.as_ref()).map(text),
            head_repository: self.head_repository()?,
            run_number: self.run_number,
            name: non_empty(self.name.as_ref()).map(text),
            repository_label: Text::new(&beside.repository_label),
        })
    }

    /// The definition's path; hosts before 2022 tell its id only.
    fn definition(&self) -> Text {
        match (non_empty(self.path.as_ref()), self.workflow_id) {
            (Some(path), _) => text(path),
            (None, Some(id)) => Text::new(&format!("workflow:{id}")),
            (None, None) => Text::new("unknown"),
        }
    }

    /// Where the commit lives. Null once that repository is gone.
    fn head_repository(&self) -> Result<Option<RepositoryId>, QuarantineReason> {
        let Some(id) = self.head_repository.as_ref().and_then(|Strict(head)| head.id) else {
            return Ok(None);
        };
        let id = RepositoryId::from_number(id);
        id.map(Some).map_err(|_| unreadable("workflow_run.head_repository.id is zero"))
    }
}

fn text(text: &Str<'_>) -> Text {
    Text::new(text.as_str())
}

fn non_empty<'s, 'a>(text: Option<&'s Str<'a>>) -> Option<&'s Str<'a>> {
    text.filter(|text| !text.as_str().is_empty())
}
