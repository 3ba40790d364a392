//! One attempt of a run: the same snapshot that deliveries carry, and read the same way.

use domain::ids::{Attempt, RepositoryId, RunId};
use domain::observation::RunFact;
use domain::pipeline_run::{NativeWords, RunContent};
use domain::words::{Text, Word};
use github::json::{Strict, Time};
use serde::Deserialize;

use crate::error::ReadError;
use crate::wire::{Numbered, optional_repository, required, same, same_repository};

#[derive(Debug, Deserialize)]
pub(crate) struct Run {
    id: Option<u64>,
    run_attempt: Option<u64>,
    run_number: Option<u64>,
    workflow_id: Option<u64>,
    name: Option<String>,
    path: Option<String>,
    event: Option<String>,
    status: Option<String>,
    conclusion: Option<String>,
    head_branch: Option<String>,
    head_sha: Option<String>,
    created_at: Option<Time>,
    run_started_at: Option<Time>,
    updated_at: Option<Time>,
    head_repository: Option<Strict<Numbered>>,
    repository: Option<Strict<Named>>,
}

#[derive(Debug, Deserialize)]
struct Named {
    id: Option<u64>,
    full_name: Option<String>,
}

impl Run {
    pub(crate) fn fact(
        self,
        repository: &RepositoryId,
        run: RunId,
        attempt: Attempt,
    ) -> Result<RunFact, ReadError> {
        same(self.id, run.0, "id")?;
        // A host that knows no attempts counts its only one as the first, as deliveries do.
        same(self.run_attempt.or(Some(1)), u64::from(attempt.get()), "run_attempt")?;
        let Strict(named) = required(self.repository.as_ref(), "repository")?;
        same_repository(named.id, repository, "repository.id")?;
        let label = named.full_name.as_deref().unwrap_or(repository.as_str());
        Ok(RunFact {
            run,
            attempt,
            updated_at: required(self.updated_at, "updated_at")?.0,
            content: self.content(Text::new(label))?,
        })
    }

    fn content(&self, repository_label: Text) -> Result<RunContent, ReadError> {
        let started_at = self.run_started_at.or(self.created_at).or(self.updated_at);
        Ok(RunContent {
            words: NativeWords {
                status: Word::new(required(self.status.as_deref(), "status")?),
                result: self.conclusion.as_deref().map(Word::new),
            },
            started_at: required(started_at, "run_started_at")?.0,
            commit: Text::new(required(self.head_sha.as_deref(), "head_sha")?),
            definition: self.definition(),
            event: Word::new(self.event.as_deref().unwrap_or_default()),
            branch: non_empty(self.head_branch.as_deref()),
            head_repository: optional_repository(
                self.head_repository.as_ref(),
                "head_repository.id",
            )?,
            run_number: self.run_number,
            name: non_empty(self.name.as_deref()),
            repository_label,
        })
    }

    /// The definition's path; hosts before 2022 tell its id only.
    fn definition(&self) -> Text {
        match (non_empty(self.path.as_deref()), self.workflow_id) {
            (Some(path), _) => path,
            (None, Some(id)) => Text::new(&format!("workflow:{id}")),
            (None, None) => Text::new("unknown"),
        }
    }
}

fn non_empty(text: Option<&str>) -> Option<Text> {
    text.filter(|text| !text.is_empty()).map(Text::new)
}
