//! Why GitHub does not do something.

use thiserror::Error;

use crate::{
    git::{BadPath, MergeConflict, Sha},
    github::model::RepositoryId,
};

/// A change that GitHub refuses; nothing was changed and no webhook raised.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Refusal {
    /// No such account, or it was deleted.
    #[error("no account with id {0}")]
    NoSuchAccount(u64),
    /// No such repository, or it was deleted.
    #[error("no repository with id {0}")]
    NoSuchRepository(RepositoryId),
    /// No such branch.
    #[error("no branch {0:?}")]
    NoSuchBranch(String),
    /// The repository and its forks have no such commit.
    #[error("no commit {0}")]
    NoSuchCommit(Sha),
    /// No such pull request.
    #[error("no pull request {0}")]
    NoSuchPullRequest(u64),
    /// No such review.
    #[error("no review {0}")]
    NoSuchReview(u64),
    /// No such run of a workflow.
    #[error("no workflow run {0}")]
    NoSuchRun(u64),
    /// No such App.
    #[error("no App with id {0}")]
    NoSuchApp(u64),
    /// No such installation.
    #[error("no installation with id {0}")]
    NoSuchInstallation(u64),
    /// The name is taken.
    #[error("the name {0:?} is taken")]
    NameTaken(String),
    /// Archived repositories are read-only.
    #[error("repository {0} is archived")]
    Archived(RepositoryId),
    /// The tree cannot hold these files.
    #[error(transparent)]
    BadPath(#[from] BadPath),
    /// The push would lose commits, and was not forced.
    #[error("the push to {0:?} is no fast-forward")]
    NotFastForward(String),
    /// The default branch cannot be deleted.
    #[error("{0:?} is the default branch")]
    DefaultBranch(String),
    /// The head has nothing that the base has not.
    #[error("no commits between {base:?} and {head:?}")]
    NothingToMerge {
        /// The base branch.
        base: String,
        /// The head branch.
        head: String,
    },
    /// There is an open pull request between these branches.
    #[error("pull request {0} is open for these branches")]
    AlreadyOpen(u64),
    /// Only an open pull request allows this.
    #[error("pull request {0} is not open")]
    NotOpen(u64),
    /// The pull request is open or merged, or its head is gone or was rewritten.
    #[error("pull request {0} cannot be reopened")]
    NotReopenable(u64),
    /// A draft is neither merged nor queued.
    #[error("pull request {0} is a draft")]
    Draft(u64),
    /// The trees cannot be merged.
    #[error(transparent)]
    Conflict(#[from] MergeConflict),
    /// Authors neither approve their own pull request nor request changes to it.
    #[error("pull request {0} is the reviewer's own")]
    OwnPullRequest(u64),
    /// The review's state does not allow this.
    #[error("review {0} is in another state")]
    ReviewState(u64),
    /// The pull request is, or is not, in the merge queue.
    #[error("pull request {0} and the merge queue: already in it, not in it, or not first")]
    Queue(u64),
    /// The run's state does not allow this.
    #[error("workflow run {0} is in another state")]
    RunState(u64),
}
