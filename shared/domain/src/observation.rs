//! Observations: everything that is learned about a system of record, from a delivery or from a read.

use std::fmt;

use jiff::{SignedDuration, Timestamp};

use crate::delivery::{Delivery, Scope};
use crate::fold::{Confirmation, Content, Sighting, Version};
use crate::ids::{Attempt, JobId, PullRequestNumber, RepositoryKey, RunId};
use crate::pipeline_run::RunContent;
use crate::pull_request::PullRequestFact;
use crate::stage::StageContent;

/// A version later than the delivery by more than this is not believed: an honest clock is not five minutes ahead,
/// and a version of the year 9999 would outrank every truth that follows.
pub const FUTURE_TOLERANCE: SignedDuration = SignedDuration::from_mins(5);

/// A read is settled when it started this long after the second that its content is stamped with: provider times have
/// one-second resolution and answers may lag.
pub const SETTLED_AFTER: SignedDuration = SignedDuration::from_secs(60);

/// Where an observation comes from: evidence, never an order by arrival.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// A webhook delivery.
    Delivery(Delivery),
    /// An answer of the system of record to our question.
    Read {
        /// Which connection asked.
        connection: String,
        /// When the question was sent: the earlier of our clock and the provider's `Date`.
        started_at: Timestamp,
    },
}

/// Why an observation alone is not enough, although it folds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Doubt {
    /// The event's action says "completed" while the body is a snapshot of something unfinished.
    ActionDisagrees,
}

/// What was seen of one attempt of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunFact {
    /// The run.
    pub run: RunId,
    /// The attempt; each has its own mirror.
    pub attempt: Attempt,
    /// The provider's `updated_at`.
    pub updated_at: Timestamp,
    /// What it said.
    pub content: RunContent,
}

/// What was seen of one job of a run's attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StageFact {
    /// The run that the job belongs to.
    pub run: RunId,
    /// Its attempt.
    pub attempt: Attempt,
    /// The job.
    pub job: JobId,
    /// The latest of the job's own times: GitHub gives jobs no `updated_at`.
    pub at: Timestamp,
    /// `deployment.updated_at`: all that tells `queued → waiting → queued` apart
    /// (three bodies with equal job times, runs-on/runs-on #539).
    pub deployment_at: Option<Timestamp>,
    /// What it said.
    pub content: StageContent,
}

/// A fact about one subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fact {
    /// About an attempt of a run.
    Run(Box<RunFact>),
    /// About a job, which is a stage of its run's attempt.
    Stage(Box<StageFact>),
    /// About a pull request. It feeds a change proposal, or nothing.
    PullRequest(Box<PullRequestFact>),
}

/// What an observation is about, within its repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// One attempt of a run.
    Run {
        /// The run.
        run: RunId,
        /// The attempt.
        attempt: Attempt,
    },
    /// One job of an attempt.
    Stage {
        /// The run.
        run: RunId,
        /// The attempt.
        attempt: Attempt,
        /// The job.
        job: JobId,
    },
    /// One pull request.
    PullRequest {
        /// Its number in its repository.
        number: PullRequestNumber,
    },
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run { run, attempt } => write!(f, "run {run} attempt {attempt}"),
            Self::Stage { run, attempt, job } => write!(f, "run {run} attempt {attempt} job {job}"),
            Self::PullRequest { number } => write!(f, "pull request {number}"),
        }
    }
}

/// One thing that was learned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observation {
    /// What the sender proved.
    pub scope: Scope,
    /// The repository.
    pub repository: RepositoryKey,
    /// What was seen.
    pub fact: Fact,
    /// Why it should be followed by a read.
    pub doubt: Option<Doubt>,
    /// Where it comes from.
    pub origin: Origin,
}

impl Observation {
    /// The thing that the observation is about.
    #[must_use]
    pub const fn subject(&self) -> Subject {
        match &self.fact {
            Fact::Run(fact) => Subject::Run { run: fact.run, attempt: fact.attempt },
            Fact::Stage(fact) => {
                Subject::Stage { run: fact.run, attempt: fact.attempt, job: fact.job }
            }
            Fact::PullRequest(fact) => Subject::PullRequest { number: fact.number },
        }
    }

    /// Whether the version lies too far in the future to be believed (see [`FUTURE_TOLERANCE`]).
    #[must_use]
    pub fn is_from_the_future(&self) -> bool {
        let latest = match &self.fact {
            Fact::Run(fact) => fact.updated_at,
            Fact::Stage(fact) => fact.deployment_at.map_or(fact.at, |at| at.max(fact.at)),
            Fact::PullRequest(fact) => fact.updated_at,
        };
        is_from_the_future(latest, &self.origin)
    }
}

impl RunFact {
    /// The fact as something that folds.
    #[must_use]
    pub fn sighting(&self, origin: &Origin, doubt: Option<Doubt>) -> Sighting<RunContent> {
        sighting(&self.content, (self.updated_at, None), origin, doubt)
    }
}

impl StageFact {
    /// The fact as something that folds.
    #[must_use]
    pub fn sighting(&self, origin: &Origin, doubt: Option<Doubt>) -> Sighting<StageContent> {
        sighting(&self.content, (self.at, self.deployment_at), origin, doubt)
    }
}

/// What was seen as something that folds, by the subject's own time and, for jobs, that of their deployment.
pub(crate) fn sighting<C: Content>(
    content: &C,
    (at, deployment_at): (Timestamp, Option<Timestamp>),
    origin: &Origin,
    doubt: Option<Doubt>,
) -> Sighting<C> {
    let settled = settled(origin, at);
    Sighting {
        version: Version { finality: content.finality(), at, settled, deployment_at },
        content: content.clone(),
        confirmation: settled
            .map(|started_at| Confirmation { started_at, words: content.words().clone() }),
        is_read: matches!(origin, Origin::Read { .. }),
        doubt,
    }
}

/// Whether a version is later than anybody can have seen it (see [`FUTURE_TOLERANCE`]).
pub(crate) fn is_from_the_future(latest: Timestamp, origin: &Origin) -> bool {
    let seen_at = match origin {
        Origin::Delivery(delivery) => delivery.received_at,
        Origin::Read { started_at, .. } => *started_at,
    };
    latest.duration_since(seen_at) > FUTURE_TOLERANCE
}

/// The start of a read, if it is settled for content stamped `at`. A delivery never is.
fn settled(origin: &Origin, at: Timestamp) -> Option<Timestamp> {
    match origin {
        Origin::Delivery(_) => None,
        Origin::Read { started_at, .. } => {
            (started_at.duration_since(at) >= SETTLED_AFTER).then_some(*started_at)
        }
    }
}
