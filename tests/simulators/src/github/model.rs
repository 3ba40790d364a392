//! What the simulated GitHub consists of. Fields are the simulation's own; outside they show in webhooks and answers.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use jiff::Timestamp;

use crate::git::Sha;

/// A repository's number, which outlives its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RepositoryId(pub(crate) u64);

impl RepositoryId {
    /// As webhooks and REST tell it.
    #[must_use]
    pub fn number(self) -> u64 {
        self.0
    }
}

impl fmt::Display for RepositoryId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// What kind of account it is: `type` of a user in GitHub's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccountKind {
    /// A person, or a machine account that GitHub takes for one.
    User,
    /// An App's own account, whose login ends with `[bot]`.
    Bot,
    /// Owns repositories, and acts never.
    Organization,
}

impl AccountKind {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::User => "User",
            Self::Bot => "Bot",
            Self::Organization => "Organization",
        }
    }
}

/// An account as it was when it was created: hand it to what it shall do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// GitHub's number for it.
    pub id: u64,
    /// Its name.
    pub login: String,
    /// Person, bot or organization.
    pub kind: AccountKind,
}

/// What somebody may do in a repository, each including those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Permission {
    /// `pull`
    Read,
    /// `triage`
    Triage,
    /// `push`
    Write,
    /// `maintain`
    Maintain,
    /// `admin`
    Admin,
}

/// Who sees a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visibility {
    /// Everybody.
    Public,
    /// Its owner, those whom it was granted to, and Apps that are installed on it.
    Private,
}

/// How a pull request becomes part of its base.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// A commit with both as parents.
    Merge,
    /// One new commit for all.
    Squash,
    /// A new commit for each.
    Rebase,
}

impl Method {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Merge => "merge",
            Self::Squash => "squash",
            Self::Rebase => "rebase",
        }
    }
}

/// What a review says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewState {
    /// May be merged.
    Approved,
    /// Must not be merged.
    ChangesRequested,
    /// Neither.
    Commented,
    /// Counted once, and counts no more.
    Dismissed,
    /// Not submitted: only its author sees it.
    Pending,
}

impl ReviewState {
    /// REST's word; webhooks write it in lower case.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Approved => "APPROVED",
            Self::ChangesRequested => "CHANGES_REQUESTED",
            Self::Commented => "COMMENTED",
            Self::Dismissed => "DISMISSED",
            Self::Pending => "PENDING",
        }
    }
}

/// Whether something is still there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presence {
    Here,
    Deleted,
}

#[derive(Debug, Clone)]
pub(crate) struct Account {
    pub(crate) user: User,
    pub(crate) presence: Presence,
}

#[derive(Debug, Clone)]
pub(crate) struct Repository {
    pub(crate) id: RepositoryId,
    pub(crate) owner: u64,
    pub(crate) name: String,
    pub(crate) visibility: Visibility,
    pub(crate) presence: Presence,
    pub(crate) activity: Activity,
    pub(crate) parent: Option<RepositoryId>,
    /// Whose objects it shares.
    pub(crate) network: RepositoryId,
    pub(crate) default_branch: String,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
    pub(crate) pushed_at: Timestamp,
    pub(crate) branches: BTreeMap<String, Sha>,
    pub(crate) granted: BTreeMap<u64, Permission>,
    pub(crate) next_number: u64,
    pub(crate) pull_requests: BTreeMap<u64, PullRequest>,
    /// The merge queues of all base branches, in the order of arrival.
    pub(crate) queue: Vec<QueueEntry>,
    pub(crate) runs: BTreeMap<u64, Run>,
}

/// Whether a repository takes changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Activity {
    Active,
    Archived,
}

/// One side of a pull request.
#[derive(Debug, Clone)]
pub(crate) struct Side {
    pub(crate) repository: RepositoryId,
    /// Of the repository when the side was set: what `label` keeps when a fork is gone.
    pub(crate) owner: u64,
    pub(crate) branch: String,
    pub(crate) sha: Sha,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Open,
    Closed,
    Merged { at: Timestamp, by: u64, commit: Sha },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Readiness {
    Draft,
    Ready,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct AutoMerge {
    pub(crate) by: u64,
    pub(crate) method: Method,
}

#[derive(Debug, Clone)]
pub(crate) struct PullRequest {
    pub(crate) id: u64,
    pub(crate) number: u64,
    pub(crate) title: String,
    pub(crate) body: Option<String>,
    pub(crate) author: u64,
    pub(crate) state: State,
    pub(crate) readiness: Readiness,
    pub(crate) head: Side,
    pub(crate) base: Side,
    pub(crate) labels: BTreeSet<String>,
    pub(crate) auto_merge: Option<AutoMerge>,
    /// What an open pull request shows as `merge_commit_sha`: the trial merge, once it was made.
    pub(crate) test_merge: Option<Sha>,
    pub(crate) created_at: Timestamp,
    pub(crate) updated_at: Timestamp,
    pub(crate) closed_at: Option<Timestamp>,
    pub(crate) reviews: Vec<Review>,
}

impl PullRequest {
    pub(crate) fn is_open(&self) -> bool {
        self.state == State::Open
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Review {
    pub(crate) id: u64,
    pub(crate) author: u64,
    pub(crate) state: ReviewState,
    pub(crate) body: String,
    pub(crate) commit: Sha,
    /// None while it is pending.
    pub(crate) submitted_at: Option<Timestamp>,
}

#[derive(Debug, Clone)]
pub(crate) struct QueueEntry {
    pub(crate) number: u64,
    pub(crate) by: u64,
    pub(crate) method: Method,
    /// What the group's commit is made on: the tip of the base, or the group before it.
    pub(crate) base_sha: Sha,
    pub(crate) base_branch: String,
    pub(crate) head_sha: Sha,
    pub(crate) branch: String,
}

/// A run of a workflow, all its attempts.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    pub(crate) id: u64,
    pub(crate) run_number: u64,
    pub(crate) workflow_path: String,
    pub(crate) workflow_id: u64,
    pub(crate) event: String,
    pub(crate) head_branch: Option<String>,
    pub(crate) head_sha: Sha,
    pub(crate) head_repository: RepositoryId,
    pub(crate) actor: u64,
    pub(crate) created_at: Timestamp,
    /// Never empty; the last one is the current one.
    pub(crate) attempts: Vec<RunAttempt>,
}

#[derive(Debug, Clone)]
pub(crate) struct RunAttempt {
    pub(crate) started_at: Timestamp,
    pub(crate) updated_at: Timestamp,
    pub(crate) status: String,
    pub(crate) conclusion: Option<String>,
    pub(crate) triggered_by: u64,
}

impl Repository {
    pub(crate) fn takes_changes(&self) -> bool {
        self.presence == Presence::Here && self.activity == Activity::Active
    }
}
