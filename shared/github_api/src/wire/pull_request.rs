//! A pull request: the same snapshot that deliveries carry, and read the same way.

use domain::ids::{PullRequestNumber, RepositoryId};
use domain::pull_request::{
    AutoMerge, Labels, Merge, PullRequestContent, PullRequestFact, PullRequestWords,
};
use domain::words::{Text, Word};
use github::json::{Strict, Time};
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::error::{ReadError, unreadable};
use crate::wire::{
    Numbered, account, commit_id, optional_commit, optional_repository, required, same,
    same_repository,
};

#[derive(Debug, Deserialize)]
pub(crate) struct PullRequest {
    number: Option<u64>,
    state: Option<String>,
    merged: Option<bool>,
    draft: Option<bool>,
    merge_commit_sha: Option<String>,
    updated_at: Option<Time>,
    merged_at: Option<Time>,
    closed_at: Option<Time>,
    user: Option<Strict<Numbered>>,
    merged_by: Option<Strict<Numbered>>,
    auto_merge: Option<Strict<Ignored>>,
    head: Option<Strict<Side>>,
    base: Option<Strict<Side>>,
    labels: Option<Vec<Strict<Label>>>,
}

/// One side of a pull request.
#[derive(Debug, Deserialize)]
struct Side {
    #[serde(rename = "ref")]
    branch: Option<String>,
    sha: Option<String>,
    /// Null once a fork is gone.
    repo: Option<Strict<Numbered>>,
}

#[derive(Debug, Deserialize)]
struct Label {
    name: Option<String>,
}

/// An object of which only its presence matters.
#[derive(Debug, Deserialize)]
struct Ignored {
    #[serde(rename = "merge_method")]
    _method: Option<IgnoredAny>,
}

/// A pull request of a list: its number, and the repository that its head lives in.
#[derive(Debug, Deserialize)]
pub(crate) struct Listed {
    number: Option<u64>,
    head: Option<Strict<Side>>,
    base: Option<Strict<Side>>,
}

impl Listed {
    /// The number, if its head is this very branch of the repository. A fork may have the branch's name, and a list may
    /// hold more than was asked for.
    pub(crate) fn number_if_from(
        self,
        repository: &RepositoryId,
        branch: &Text,
    ) -> Result<Option<PullRequestNumber>, ReadError> {
        base_is(self.base.as_ref(), repository)?;
        let number = number(self.number)?;
        let Strict(head) = required(self.head, "head")?;
        let is_its = optional_repository(head.repo.as_ref(), "head.repo.id")?.as_ref()
            == Some(repository)
            && Text::new(&required(head.branch, "head.ref")?) == *branch;
        Ok(is_its.then_some(number))
    }
}

impl PullRequest {
    pub(crate) fn fact(
        self,
        repository: &RepositoryId,
        asked: PullRequestNumber,
    ) -> Result<PullRequestFact, ReadError> {
        same(self.number, asked.get(), "number")?;
        base_is(self.base.as_ref(), repository)?;
        Ok(PullRequestFact {
            number: asked,
            updated_at: required(self.updated_at, "updated_at")?.0,
            content: self.content()?,
        })
    }

    fn content(&self) -> Result<PullRequestContent, ReadError> {
        let Strict(head) = required(self.head.as_ref(), "head")?;
        let Strict(base) = required(self.base.as_ref(), "base")?;
        let names = self.labels.iter().flatten().filter_map(|Strict(label)| label.name.as_deref());
        Ok(PullRequestContent {
            words: self.words(head, base)?,
            head_repository: optional_repository(head.repo.as_ref(), "head.repo.id")?,
            head_branch: Text::new(required(head.branch.as_deref(), "head.ref")?),
            base_commit: optional_commit(base.sha.as_deref(), "base.sha")?,
            draft: self.draft.unwrap_or_default(),
            auto_merge: if self.auto_merge.is_some() { AutoMerge::On } else { AutoMerge::Off },
            author: account(self.user.as_ref(), "user.id")?,
            merged_by: account(self.merged_by.as_ref(), "merged_by.id")?,
            merged_at: self.merged_at.map(|time| time.0),
            closed_at: self.closed_at.map(|time| time.0),
            labels: Labels::new(names),
        })
    }

    fn words(&self, head: &Side, base: &Side) -> Result<PullRequestWords, ReadError> {
        let merged_at = self.merged_at.map(|time| time.0);
        if self.merged.is_none() && merged_at.is_none() {
            return Err(unreadable("merged is missing"));
        }
        // Of an open pull request it is a test merge: nothing depends on it, whatever it is.
        let is_told_merged = self.merged == Some(true) || merged_at.is_some();
        let sha = self.merge_commit_sha.as_deref().filter(|_| is_told_merged);
        let commit = optional_commit(sha, "merge_commit_sha")?;
        Ok(PullRequestWords {
            state: Word::new(required(self.state.as_deref(), "state")?),
            merge: Merge::told(self.merged, merged_at, commit),
            head: commit_id(required(head.sha.as_deref(), "head.sha")?, "head.sha")?,
            base_branch: Text::new(required(base.branch.as_deref(), "base.ref")?),
        })
    }
}

fn number(number: Option<u64>) -> Result<PullRequestNumber, ReadError> {
    let number = required(number, "number")?;
    PullRequestNumber::new(number).map_err(|_| unreadable("number is zero"))
}

fn base_is(base: Option<&Strict<Side>>, repository: &RepositoryId) -> Result<(), ReadError> {
    let Strict(base) = required(base, "base")?;
    let told = base.repo.as_ref().and_then(|Strict(repository)| repository.id);
    same_repository(told, repository, "base.repo.id")
}
