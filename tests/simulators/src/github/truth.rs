//! What is really so, for tests that compare it with what somebody made of it.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::{
    git::Sha,
    github::{
        GitHub,
        model::{Method, PullRequest, Readiness, RepositoryId, Review, ReviewState, State},
        refusal::Refusal,
        world::World,
    },
};

/// What became of a pull request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It is open.
    Open,
    /// It was closed, and is in no base.
    Closed,
    /// It is part of its base.
    Merged {
        /// Since when.
        at: Timestamp,
        /// By whom; none once the account is deleted.
        by: Option<u64>,
        /// The commit by which it came into its base.
        commit: Sha,
    },
}

/// A pull request as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRequestTruth {
    /// Its number in its repository.
    pub number: u64,
    /// Its number in all of GitHub.
    pub id: u64,
    /// Its title.
    pub title: String,
    /// What became of it.
    pub outcome: Outcome,
    /// Whether it is a draft.
    pub is_draft: bool,
    /// The account that opened it; none once it is deleted.
    pub author: Option<u64>,
    /// Where its commits are; none once that is gone.
    pub head_repository: Option<RepositoryId>,
    /// The branch that its commits are on.
    pub head_branch: String,
    /// Its last commit.
    pub head_sha: Sha,
    /// The branch that it proposes to.
    pub base_branch: String,
    /// That branch's tip when the pull request was last compared with it.
    pub base_sha: Sha,
    /// Its labels.
    pub labels: BTreeSet<String>,
    /// How it is to be merged as soon as it may.
    pub auto_merge: Option<Method>,
    /// When it changed last.
    pub updated_at: Timestamp,
    /// When it was closed or merged.
    pub closed_at: Option<Timestamp>,
    /// Its reviews in the order in which they were written, pending ones too.
    pub reviews: Vec<ReviewTruth>,
}

/// A review as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewTruth {
    /// Its number.
    pub id: u64,
    /// Who wrote it; none once the account is deleted.
    pub author: Option<u64>,
    /// What it says now.
    pub state: ReviewState,
    /// The commit that was looked at.
    pub commit: Sha,
    /// None while it is pending.
    pub submitted_at: Option<Timestamp>,
}

impl GitHub {
    /// The name by which a repository is found now: `owner/name`.
    ///
    /// # Errors
    /// [`Refusal::NoSuchRepository`]
    pub fn full_name(&self, repository: RepositoryId) -> Result<String, Refusal> {
        let simulation = self.lock();
        Ok(simulation.world.full_name(simulation.world.repository(repository)?))
    }

    /// All branches and their tips.
    ///
    /// # Errors
    /// [`Refusal::NoSuchRepository`]
    pub fn branches(&self, repository: RepositoryId) -> Result<BTreeMap<String, Sha>, Refusal> {
        Ok(self.lock().world.repository(repository)?.branches.clone())
    }

    /// All pull requests, by number.
    ///
    /// # Errors
    /// [`Refusal::NoSuchRepository`]
    pub fn pull_requests(
        &self,
        repository: RepositoryId,
    ) -> Result<Vec<PullRequestTruth>, Refusal> {
        let simulation = self.lock();
        let pulls = simulation.world.repository(repository)?.pull_requests.values();
        Ok(pulls.map(|pull| simulation.world.truth(pull)).collect())
    }

    /// One pull request.
    ///
    /// # Errors
    /// [`Refusal::NoSuchPullRequest`], [`Refusal::NoSuchRepository`]
    pub fn pull_request(
        &self,
        repository: RepositoryId,
        number: u64,
    ) -> Result<PullRequestTruth, Refusal> {
        let simulation = self.lock();
        Ok(simulation.world.truth(simulation.world.pull(repository, number)?))
    }
}

impl World {
    fn truth(&self, pull: &PullRequest) -> PullRequestTruth {
        let here = |user: u64| self.account(user).is_ok().then_some(user);
        let head = pull.head.repository;
        let outcome = match pull.state {
            State::Open => Outcome::Open,
            State::Closed => Outcome::Closed,
            State::Merged { at, by, commit } => Outcome::Merged { at, by: here(by), commit },
        };
        let review = |review: &Review| ReviewTruth {
            id: review.id,
            author: here(review.author),
            state: review.state,
            commit: review.commit,
            submitted_at: review.submitted_at,
        };
        PullRequestTruth {
            number: pull.number,
            id: pull.id,
            title: pull.title.clone(),
            outcome,
            is_draft: pull.readiness == Readiness::Draft,
            author: here(pull.author),
            head_repository: self.repository(head).is_ok().then_some(head),
            head_branch: pull.head.branch.clone(),
            head_sha: pull.head.sha,
            base_branch: pull.base.branch.clone(),
            base_sha: pull.base.sha,
            labels: pull.labels.clone(),
            auto_merge: pull.auto_merge.map(|auto| auto.method),
            updated_at: pull.updated_at,
            closed_at: pull.closed_at,
            reviews: pull.reviews.iter().map(review).collect(),
        }
    }
}
