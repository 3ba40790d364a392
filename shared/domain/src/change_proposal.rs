//! The change proposal: what the Factory declared, what was seen of it, and the state that follows.
//!
//! The state is derived from all that was seen, never stepped: whatever was lost on the way, the same sights give the same
//! state. What is seen joins, as everything does that folds; what is derived from it needs no order.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use jiff::Timestamp;
use uuid::Uuid;

use crate::delivery::Outcome;
use crate::due::{self, Due, Live};
use crate::fold::{AskReason, Irregular, Mirror, Sighting, fold};
use crate::ids::{
    AgentReleaseId, ArtifactRef, CommitId, ProposalId, PullRequestNumber, RepositoryKey, Revision,
    Sha256Digest, SystemOfRecord, TreeId,
};
use crate::observation::SETTLED_AFTER;
use crate::pipeline_run::{Advanced, Owner};
use crate::proposal_events::ProposalAnnounced;
use crate::provenance::{Claim, CommitKey, Provenance, SeenCommit};
use crate::pull_request::{PullRequestContent, PullRequestState};
use crate::review::{Overall, Reviews};
use crate::words::Text;

/// How many pull requests of one branch are kept: the first ones, so that a merge is never pushed out by what comes after
/// it.
pub const PULL_REQUESTS_MAX: usize = 32;

/// The state of a change proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProposalState {
    /// Declared; nothing of it was seen.
    Proposed,
    /// Its branch was pushed.
    BranchCreated,
    /// Its pull request is open, and no verdict on its head stands.
    PullRequestOpen,
    /// A review of its head asks for changes.
    ChangesRequested,
    /// A review of its head approves it, and none asks for changes.
    Approved,
    /// Merged, for ever.
    Merged,
    /// Closed without a merge, or its branch deleted without a pull request.
    Abandoned,
}

impl ProposalState {
    /// Every state.
    pub const ALL: [Self; 7] = [
        Self::Proposed,
        Self::BranchCreated,
        Self::PullRequestOpen,
        Self::ChangesRequested,
        Self::Approved,
        Self::Merged,
        Self::Abandoned,
    ];

    /// The word that is stored and shown.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Proposed => "Proposed",
            Self::BranchCreated => "BranchCreated",
            Self::PullRequestOpen => "PullRequestOpen",
            Self::ChangesRequested => "ChangesRequested",
            Self::Approved => "Approved",
            Self::Merged => "Merged",
            Self::Abandoned => "Abandoned",
        }
    }

    /// The state that [`as_str`](Self::as_str) gave this word for.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }
}

impl fmt::Display for ProposalState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Whether a change of state is one that the diagram of states draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Transition {
    /// It is drawn, or nothing changed.
    Expected,
    /// It is not: a merge that skipped the approval, steps that were never seen, or something that should not happen. It is
    /// applied, because it happened, and flagged.
    Irregular,
}

/// How a proposal may go from one state to the next.
#[must_use]
pub const fn transition(old: ProposalState, new: ProposalState) -> Transition {
    use ProposalState as S;
    let drawn = match old {
        S::Proposed => matches!(new, S::Proposed | S::BranchCreated),
        S::BranchCreated => matches!(new, S::BranchCreated | S::PullRequestOpen | S::Abandoned),
        S::PullRequestOpen | S::ChangesRequested => {
            matches!(new, S::PullRequestOpen | S::ChangesRequested | S::Approved | S::Abandoned)
        }
        S::Approved => matches!(
            new,
            S::PullRequestOpen | S::ChangesRequested | S::Approved | S::Merged | S::Abandoned
        ),
        S::Merged => matches!(new, S::Merged),
        S::Abandoned => matches!(new, S::Abandoned | S::PullRequestOpen),
    };
    if drawn { Transition::Expected } else { Transition::Irregular }
}

/// A reference to a change set, with the digest of what it refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeSetRef {
    /// Where the `change-set-v1` document is.
    pub artifact: ArtifactRef,
    /// Its digest.
    pub sha256: Sha256Digest,
}

/// What the Factory declared. It never changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declared {
    /// The proposal.
    pub id: ProposalId,
    /// The tenant, and its project.
    pub owner: Owner,
    /// The Factory run that made it.
    pub run: Uuid,
    /// The attempt of that run.
    pub attempt: Uuid,
    /// The agent that made it.
    pub agent_release: AgentReleaseId,
    /// What is proposed.
    pub change_set: ChangeSetRef,
    /// The kind of host.
    pub system: SystemOfRecord,
    /// The repository.
    pub repository: RepositoryKey,
    /// The branch that the Factory pushes.
    pub branch: Text,
    /// The commit on which the change set was made.
    pub base_commit: CommitId,
    /// The tree of the base commit with the change set applied: what proves a commit.
    pub expected_tree: TreeId,
}

impl Declared {
    /// What makes a commit this proposal's.
    #[must_use]
    pub fn claim(&self) -> Claim<'_> {
        Claim {
            repository: &self.repository.id,
            base: &self.base_commit,
            tree: &self.expected_tree,
            run: self.run,
            change_set: &self.change_set.sha256,
        }
    }

    /// Whether a pull request goes from this proposal's branch. A fork's branch of the same name is another branch.
    #[must_use]
    pub fn is_its_branch(&self, content: &PullRequestContent) -> bool {
        content.head_repository.as_ref() == Some(&self.repository.id)
            && content.head_branch == self.branch
    }
}

/// What reads told of the branch. Deliveries carry no version of a branch, so they only ask for a read; reads are ordered by
/// when they started.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Branch {
    /// The latest read that found it, and its head.
    pub found: Option<(Timestamp, CommitId)>,
    /// The latest read that did not.
    pub absent_at: Option<Timestamp>,
}

/// Whether a branch is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum BranchState {
    /// No read ever found it.
    NeverSeen,
    /// It is there.
    Exists,
    /// It was there, and a settled read no longer found it. An answer may lag behind a push, so a read that follows one
    /// too closely deletes nothing.
    Deleted,
}

impl Branch {
    /// A read found it.
    #[must_use]
    pub const fn found(read_at: Timestamp, head: CommitId) -> Self {
        Self { found: Some((read_at, head)), absent_at: None }
    }

    /// A read of a repository that answers did not find it.
    #[must_use]
    pub const fn absent(read_at: Timestamp) -> Self {
        Self { found: None, absent_at: Some(read_at) }
    }

    /// The least that knows what both know.
    #[must_use]
    pub fn join(self, other: Self) -> Self {
        Self { found: self.found.max(other.found), absent_at: self.absent_at.max(other.absent_at) }
    }

    /// Whether it is there.
    #[must_use]
    pub fn state(&self) -> BranchState {
        match (&self.found, self.absent_at) {
            (None, _) => BranchState::NeverSeen,
            (Some((found_at, _)), Some(absent_at))
                if absent_at.duration_since(*found_at) >= SETTLED_AFTER =>
            {
                BranchState::Deleted
            }
            (Some(_), _) => BranchState::Exists,
        }
    }

    /// Its head, as it was last seen.
    #[must_use]
    pub fn head(&self) -> Option<&CommitId> {
        self.found.as_ref().map(|(_, head)| head)
    }
}

/// What was seen of one pull request from the proposal's branch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PullRequest {
    /// Its snapshots.
    pub mirror: Option<Mirror<PullRequestContent>>,
    /// Its reviews.
    pub reviews: Reviews,
}

impl PullRequest {
    fn join(self, other: Self) -> Self {
        let mirror = match (self.mirror, other.mirror) {
            (Some(one), Some(two)) => Some(one.join(two)),
            (one, two) => one.or(two),
        };
        Self { mirror, reviews: self.reviews.join(other.reviews) }
    }
}

/// All that was seen of a proposal.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Observed {
    /// Its branch.
    pub branch: Branch,
    /// The pull requests that go from the branch.
    pub pull_requests: BTreeMap<PullRequestNumber, PullRequest>,
    /// The commits that were read on the branch and in its pull requests; each is stored as a row of its own.
    pub commits: BTreeMap<CommitKey, SeenCommit>,
}

impl Observed {
    /// The least that knows what both know.
    #[must_use]
    pub fn join(mut self, other: Self) -> Self {
        for (number, pull_request) in other.pull_requests {
            let before = self.pull_requests.remove(&number).unwrap_or_default();
            self.pull_requests.insert(number, before.join(pull_request));
        }
        while self.pull_requests.len() > PULL_REQUESTS_MAX {
            self.pull_requests.pop_last();
        }
        for (key, commit) in other.commits {
            let commit = match self.commits.remove(&key) {
                Some(before) => before.join(commit),
                None => commit,
            };
            self.commits.insert(key, commit);
        }
        self.branch = self.branch.join(other.branch);
        self
    }
}

/// One thing that was seen of a proposal.
#[derive(Debug, Clone, PartialEq)]
pub enum ProposalSighting {
    /// A snapshot of a pull request in the proposal's repository.
    PullRequest {
        /// Which one.
        number: PullRequestNumber,
        /// What was seen.
        sighting: Box<Sighting<PullRequestContent>>,
    },
    /// A read of a pull request's reviews.
    Reviews {
        /// Which pull request's.
        number: PullRequestNumber,
        /// What it told.
        reviews: Reviews,
    },
    /// A read of the branch.
    Branch(Branch),
    /// A read of commits.
    Commits(BTreeMap<CommitKey, SeenCommit>),
}

/// Whether a pull request feeds the proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Binding {
    /// It goes from the proposal's branch, and has a commit that is the Factory's.
    Bound,
    /// It goes from a branch of that name, and its commits have not been read. A name proves nothing.
    Candidate,
    /// It is somebody else's.
    Foreign,
}

/// Whether a merge had the approval that it should have had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MergeApproval {
    /// Nothing was merged.
    NotMerged,
    /// A person had approved the head that was merged, and nobody wanted it changed.
    Given,
    /// Nobody had: `mergedWithoutApproval`.
    Missing,
    /// The reviews have not been read since.
    Unread,
}

/// The change proposal as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeProposal {
    /// What was declared.
    pub declared: Declared,
    /// What was seen.
    pub observed: Observed,
    /// What the world may have been told.
    pub announced: Option<ProposalAnnounced>,
    /// When it must be read.
    pub due: Option<Due>,
    /// How often it was written.
    pub revision: Revision,
}

impl ChangeProposal {
    /// A proposal of which nothing was seen.
    #[must_use]
    pub fn propose(declared: Declared, now: Timestamp) -> Self {
        let mut proposal = Self {
            declared,
            observed: Observed::default(),
            announced: None,
            due: due::after_fold(None, Live::Yes, None, now),
            revision: Revision::default().next(),
        };
        proposal.announced = ProposalAnnounced::after(None, &proposal, proposal.revision);
        proposal
    }

    /// Folds what was seen into a proposal.
    #[must_use]
    pub fn advance(&self, sightings: &[ProposalSighting], now: Timestamp) -> Advanced<Self> {
        let mut next = self.clone();
        let mut outcomes = Vec::with_capacity(sightings.len());
        let mut ask = None;
        for sighting in sightings {
            let (outcome, reason) = next.see(sighting);
            outcomes.push(outcome);
            ask = ask.or(reason);
        }
        let changed = next.observed != self.observed;
        let ask_again = if changed { next.needs_a_read().or(ask) } else { ask };
        let already_asked = self.due.is_some_and(|due| due.asks > 0);
        let write = (changed || (ask_again.is_some() && !already_asked)).then(|| {
            next.revision = self.revision.next();
            next.announced = ProposalAnnounced::after(self.announced, &next, next.revision);
            next.due = due::after_fold(self.due, next.live(), ask_again, now);
            next
        });
        Advanced { write, outcomes, ask_again }
    }

    /// The state that follows from all that was seen.
    #[must_use]
    pub fn state(&self) -> ProposalState {
        let factory = self.factory_commits();
        if let Some(leading) = self.leading_among(&factory) {
            return match leading.mirror.reading() {
                PullRequestState::Merged => ProposalState::Merged,
                PullRequestState::Closed => ProposalState::Abandoned,
                PullRequestState::Open | PullRequestState::Unknown => {
                    match leading.reviews.overall(&leading.mirror.content.words.head, None) {
                        Overall::None => ProposalState::PullRequestOpen,
                        Overall::Approved => ProposalState::Approved,
                        Overall::ChangesRequested => ProposalState::ChangesRequested,
                    }
                }
            };
        }
        match self.observed.branch.state() {
            // A branch of that name without a commit of ours is somebody else's.
            _ if factory.is_empty() => ProposalState::Proposed,
            BranchState::NeverSeen => ProposalState::Proposed,
            BranchState::Exists => ProposalState::BranchCreated,
            BranchState::Deleted => ProposalState::Abandoned,
        }
    }

    /// The pull request that the state follows from: the first that was merged, or else the latest that is open, or else
    /// the latest. Only a bound one leads.
    #[must_use]
    pub fn leading(&self) -> Option<Leading<'_>> {
        self.leading_among(&self.factory_commits())
    }

    /// Whether a pull request feeds the proposal. None when it was never seen.
    #[must_use]
    pub fn binding(&self, number: PullRequestNumber) -> Option<Binding> {
        let mirror = self.observed.pull_requests.get(&number)?.mirror.as_ref()?;
        Some(self.binding_among(&self.factory_commits(), number, &mirror.content))
    }

    /// Whose each commit is.
    #[must_use]
    pub fn provenance(&self) -> BTreeMap<&CommitKey, Provenance> {
        let claim = self.declared.claim();
        let factory = self.factory_commits();
        let judge = |(key, commit)| (key, claim.judge(key, commit, &factory));
        self.observed.commits.iter().map(judge).collect()
    }

    /// The commit that a merge made.
    #[must_use]
    pub fn merged_commit(&self) -> Option<&CommitId> {
        self.leading()?.mirror.content.merged_commit()
    }

    /// Whether the merge had its approval: as the reviews stood when it was merged, on the head that was merged.
    #[must_use]
    pub fn merge_approval(&self) -> MergeApproval {
        let Some(leading) = self.leading() else { return MergeApproval::NotMerged };
        let mirror = leading.mirror;
        if mirror.reading() != PullRequestState::Merged {
            return MergeApproval::NotMerged;
        }
        let merged_at = mirror.content.merged_at.or(mirror.ended_at).unwrap_or(mirror.version.at);
        let is_settled = |read_at: Timestamp| read_at.duration_since(merged_at) >= SETTLED_AFTER;
        if !leading.reviews.read_at.is_some_and(is_settled) {
            return MergeApproval::Unread;
        }
        match leading.reviews.overall(&mirror.content.words.head, Some(merged_at)) {
            Overall::Approved => MergeApproval::Given,
            Overall::None | Overall::ChangesRequested => MergeApproval::Missing,
        }
    }

    /// Whether it is known to have been merged without the approval that it should have had.
    #[must_use]
    pub fn merged_without_approval(&self) -> bool {
        self.merge_approval() == MergeApproval::Missing
    }

    /// Whether settled reads confirm the pull request and its reviews: only then may a decision rest on the state.
    #[must_use]
    pub fn is_confirmed(&self) -> bool {
        self.leading().is_some_and(|leading| {
            let seen_at = leading.mirror.version.at;
            leading.mirror.is_confirmed()
                && leading.reviews.needs_a_read().is_none()
                && leading
                    .reviews
                    .read_at
                    .is_some_and(|read_at| read_at.duration_since(seen_at) >= SETTLED_AFTER)
        })
    }

    /// What the system of record did out of order with the pull request that leads.
    #[must_use]
    pub fn irregular(&self) -> Vec<Irregular> {
        self.leading().map(|leading| leading.mirror.irregular()).unwrap_or_default()
    }

    /// Whether the state may be told to the world: nothing that it follows from is contested or unknown.
    #[must_use]
    pub fn is_publishable(&self) -> bool {
        self.leading().is_none_or(|leading| {
            let told =
                !leading.mirror.contested && leading.mirror.reading() != PullRequestState::Unknown;
            // What ended does not follow from reviews.
            told && (leading.mirror.reading() != PullRequestState::Open
                || leading.reviews.needs_a_read().is_none())
        })
    }

    /// Why the system of record must be asked about what was seen.
    #[must_use]
    pub fn needs_a_read(&self) -> Option<AskReason> {
        let factory = self.factory_commits();
        let of_pull_request = |(number, pull_request): (&PullRequestNumber, &PullRequest)| {
            let mirror = pull_request.mirror.as_ref()?;
            match self.binding_among(&factory, *number, &mirror.content) {
                Binding::Foreign => None,
                Binding::Candidate => Some(AskReason::Unproven),
                Binding::Bound => {
                    mirror.needs_a_read().or_else(|| pull_request.reviews.needs_a_read())
                }
            }
        };
        let asked = self.observed.pull_requests.iter().find_map(of_pull_request);
        let unread = |head: &CommitId| factory.is_empty() && !self.has_read(head);
        let branch = self.observed.branch.head().is_some_and(unread);
        asked.or_else(|| branch.then_some(AskReason::Unproven))
    }

    /// Whether more is expected: until a merge whose reviews were read, or a confirmed end without a merge.
    fn live(&self) -> Live {
        let is_over = match self.leading() {
            Some(leading) => {
                leading.mirror.is_over() && self.merge_approval() != MergeApproval::Unread
            }
            None => self.state() == ProposalState::Abandoned,
        };
        if is_over { Live::No } else { Live::Yes }
    }

    /// Folds one thing in. What goes from another branch is never kept: it feeds nothing.
    fn see(&mut self, sighting: &ProposalSighting) -> (Outcome, Option<AskReason>) {
        match sighting {
            ProposalSighting::PullRequest { number, sighting } => {
                self.see_pull_request(*number, sighting)
            }
            ProposalSighting::Reviews { number, reviews } => {
                let seen = PullRequest { mirror: None, reviews: reviews.clone() };
                self.learn(Observed {
                    pull_requests: BTreeMap::from([(*number, seen)]),
                    ..Observed::default()
                })
            }
            ProposalSighting::Branch(branch) => {
                self.learn(Observed { branch: branch.clone(), ..Observed::default() })
            }
            ProposalSighting::Commits(commits) => {
                self.learn(Observed { commits: commits.clone(), ..Observed::default() })
            }
        }
    }

    fn see_pull_request(
        &mut self,
        number: PullRequestNumber,
        sighting: &Sighting<PullRequestContent>,
    ) -> (Outcome, Option<AskReason>) {
        if !self.declared.is_its_branch(&sighting.content) {
            return (Outcome::NoOp, None);
        }
        let before = self.observed.pull_requests.get(&number).and_then(|seen| seen.mirror.as_ref());
        let Some(mut folded) = fold(before, std::slice::from_ref(sighting)) else {
            return (Outcome::NoOp, None);
        };
        let seen = PullRequest { mirror: Some(folded.next), reviews: Reviews::default() };
        self.learn(Observed {
            pull_requests: BTreeMap::from([(number, seen)]),
            ..Observed::default()
        });
        (folded.outcomes.pop().unwrap_or(Outcome::NoOp), folded.ask_again)
    }

    fn learn(&mut self, seen: Observed) -> (Outcome, Option<AskReason>) {
        let before = self.observed.clone();
        self.observed = std::mem::take(&mut self.observed).join(seen);
        let outcome = if self.observed == before { Outcome::NoOp } else { Outcome::Applied };
        (outcome, None)
    }

    fn factory_commits(&self) -> BTreeSet<&CommitId> {
        self.declared.claim().factory_commits(&self.observed.commits)
    }

    fn leading_among(&self, factory: &BTreeSet<&CommitId>) -> Option<Leading<'_>> {
        let bound = self.observed.pull_requests.iter().filter_map(|(number, seen)| {
            let mirror = seen.mirror.as_ref()?;
            match self.binding_among(factory, *number, &mirror.content) {
                Binding::Bound => Some(Leading { number: *number, mirror, reviews: &seen.reviews }),
                Binding::Candidate | Binding::Foreign => None,
            }
        });
        let rank = |leading: &Leading<'_>| {
            let number = leading.number.get();
            match leading.mirror.reading() {
                PullRequestState::Merged => (2, u64::MAX - number),
                PullRequestState::Open | PullRequestState::Unknown => (1, number),
                PullRequestState::Closed => (0, number),
            }
        };
        bound.max_by_key(rank)
    }

    fn binding_among(
        &self,
        factory: &BTreeSet<&CommitId>,
        number: PullRequestNumber,
        content: &PullRequestContent,
    ) -> Binding {
        if !self.declared.is_its_branch(content) {
            return Binding::Foreign;
        }
        let head = &content.words.head;
        let listed = || {
            self.observed.commits.iter().any(|((repository, id), commit)| {
                *repository == self.declared.repository.id
                    && factory.contains(id)
                    && commit.listed_in.contains(&number)
            })
        };
        if factory.contains(head) || listed() {
            Binding::Bound
        } else if self.has_read(head) {
            Binding::Foreign
        } else {
            Binding::Candidate
        }
    }

    fn has_read(&self, commit: &CommitId) -> bool {
        let key = (self.declared.repository.id.clone(), commit.clone());
        self.observed.commits.contains_key(&key)
    }
}

/// The pull request that a proposal's state follows from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leading<'a> {
    /// Its number: the proposal's `pullRequestRef`.
    pub number: PullRequestNumber,
    /// Its snapshots.
    pub mirror: &'a Mirror<PullRequestContent>,
    /// Its reviews.
    pub reviews: &'a Reviews,
}
