//! `pull_request`: a whole snapshot of a pull request, whatever the action.

use domain::delivery::QuarantineReason;
use domain::ids::{AccountId, CommitId, PullRequestNumber, RepositoryId};
use domain::observation::{Doubt, Fact};
use domain::pull_request::{
    AutoMerge, Labels, Merge, PullRequestContent, PullRequestFact, PullRequestWords,
};
use domain::words::{Text, Word};
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::events::subject::{Beside, IntoFact, Subject, required};
use crate::json::{Str, Strict, Time, shape_mismatch, unreadable};

/// The event's own object, as far as it is mirrored.
#[derive(Debug, Deserialize)]
pub(crate) struct PullRequest<'a> {
    number: Option<u64>,
    #[serde(borrow)]
    state: Option<Str<'a>>,
    merged: Option<bool>,
    draft: Option<bool>,
    #[serde(borrow)]
    merge_commit_sha: Option<Str<'a>>,
    updated_at: Option<Time>,
    merged_at: Option<Time>,
    closed_at: Option<Time>,
    user: Option<Strict<Account>>,
    merged_by: Option<Strict<Account>>,
    auto_merge: Option<Strict<IgnoredObject>>,
    #[serde(borrow)]
    head: Option<Strict<Side<'a>>>,
    #[serde(borrow)]
    base: Option<Strict<Side<'a>>>,
    #[serde(borrow)]
    labels: Option<Vec<Strict<Label<'a>>>>,
}

/// One side of a pull request.
#[derive(Debug, Deserialize)]
struct Side<'a> {
    #[serde(rename = "ref", borrow)]
    branch: Option<Str<'a>>,
    #[serde(borrow)]
    sha: Option<Str<'a>>,
    /// Null once a fork is gone.
    repo: Option<Strict<RepositoryRef>>,
}

#[derive(Debug, Deserialize)]
struct RepositoryRef {
    id: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct Account {
    id: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct Label<'a> {
    #[serde(borrow)]
    name: Option<Str<'a>>,
}

/// An object of which only its presence matters.
#[derive(Debug, Deserialize)]
struct IgnoredObject {
    #[serde(rename = "merge_method")]
    _method: Option<IgnoredAny>,
}

impl Subject for PullRequest<'_> {
    const NAME: &'static str = "pull_request";
    const ACTIONS: &'static [&'static str] = &[
        "assigned",
        "auto_merge_disabled",
        "auto_merge_enabled",
        "closed",
        "converted_to_draft",
        "demilestoned",
        "dequeued",
        "edited",
        "enqueued",
        "labeled",
        "locked",
        "milestoned",
        "opened",
        "ready_for_review",
        "reopened",
        "review_request_removed",
        "review_requested",
        "synchronize",
        "unassigned",
        "unlabeled",
        "unlocked",
    ];
    const COMPANY: &'static [&'static str] = &[];
}

impl IntoFact for PullRequest<'_> {
    const INNER_REPOSITORY: &'static str = "pull_request.base.repo.id";

    fn inner_repository(&self) -> Option<u64> {
        self.base.as_ref()?.0.repo.as_ref()?.0.id
    }

    fn into_fact(self, _: &Beside<'_>) -> Result<(Fact, Option<Doubt>), QuarantineReason> {
        let number = required(self.number, "pull_request.number")?;
        let fact = PullRequestFact {
            number: PullRequestNumber::new(number)
                .map_err(|_| unreadable("pull_request.number is zero"))?,
            updated_at: required(self.updated_at, "pull_request.updated_at")?.0,
            content: self.content()?,
        };
        Ok((Fact::PullRequest(Box::new(fact)), None))
    }
}

impl PullRequest<'_> {
    fn content(&self) -> Result<PullRequestContent, QuarantineReason> {
        let Strict(head) = required(self.head.as_ref(), "pull_request.head")?;
        let Strict(base) = required(self.base.as_ref(), "pull_request.base")?;
        let names = self.labels.iter().flatten().filter_map(|Strict(label)| label.name.as_ref());
        Ok(PullRequestContent {
            words: self.words(head, base)?,
            head_repository: head.repository()?,
            head_branch: text(required(head.branch.as_ref(), "pull_request.head.ref")?),
            base_commit: optional_commit(base.sha.as_ref(), "pull_request.base.sha")?,
            draft: self.draft.unwrap_or_default(),
            auto_merge: if self.auto_merge.is_some() { AutoMerge::On } else { AutoMerge::Off },
            author: account(self.user.as_ref(), "pull_request.user.id is zero")?,
            merged_by: account(self.merged_by.as_ref(), "pull_request.merged_by.id is zero")?,
            merged_at: self.merged_at.map(|time| time.0),
            closed_at: self.closed_at.map(|time| time.0),
            labels: Labels::new(names.map(Str::as_str)),
        })
    }

    fn words(
        &self,
        head: &Side<'_>,
        base: &Side<'_>,
    ) -> Result<PullRequestWords, QuarantineReason> {
        let merged_at = self.merged_at.map(|time| time.0);
        if self.merged.is_none() && merged_at.is_none() {
            // The shape that other events embed: read as a pull request, all that was merged would look closed.
            return Err(shape_mismatch("no pull_request.merged"));
        }
        let is_told_merged = self.merged == Some(true) || merged_at.is_some();
        // Of an open pull request it is a test merge: nothing depends on it, whatever it is.
        let sha = self.merge_commit_sha.as_ref().filter(|_| is_told_merged);
        let commit = optional_commit(sha, "pull_request.merge_commit_sha")?;
        let merge = Merge::told(self.merged, merged_at, commit);
        let sha = required(head.sha.as_ref(), "pull_request.head.sha")?;
        Ok(PullRequestWords {
            state: Word::new(required(self.state.as_ref(), "pull_request.state")?.as_str()),
            merge,
            head: commit_id(sha, "pull_request.head.sha")?,
            base_branch: text(required(base.branch.as_ref(), "pull_request.base.ref")?),
        })
    }
}

impl Side<'_> {
    fn repository(&self) -> Result<Option<RepositoryId>, QuarantineReason> {
        let Some(id) = self.repo.as_ref().and_then(|Strict(repository)| repository.id) else {
            return Ok(None);
        };
        let id = RepositoryId::from_number(id);
        id.map(Some).map_err(|_| unreadable("pull_request.head.repo.id is zero"))
    }
}

fn account(
    account: Option<&Strict<Account>>,
    fault: &str,
) -> Result<Option<AccountId>, QuarantineReason> {
    let Some(id) = account.and_then(|Strict(account)| account.id) else { return Ok(None) };
    AccountId::from_number(id).map(Some).map_err(|_| unreadable(fault))
}

fn commit_id(sha: &Str<'_>, field: &str) -> Result<CommitId, QuarantineReason> {
    CommitId::new(sha.as_str()).map_err(|_| unreadable(&format!("{field} is no commit")))
}

fn optional_commit(
    sha: Option<&Str<'_>>,
    field: &str,
) -> Result<Option<CommitId>, QuarantineReason> {
    sha.map(|sha| commit_id(sha, field)).transpose()
}

fn text(text: &Str<'_>) -> Text {
    Text::new(text.as_str())
}
