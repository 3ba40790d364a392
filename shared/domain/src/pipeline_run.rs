//! The mirrored pipeline run: one per attempt.

use std::fmt;

use jiff::Timestamp;

use crate::delivery::Outcome;
use crate::due::{self, Due, Live};
use crate::events::Announced;
use crate::fold::{AskReason, Content, Finality, Folded, Mirror, Sighting, fold};
use crate::ids::{
    Attempt, PipelineRunId, ProjectId, RepositoryId, RepositoryKey, Revision, RunId,
    SystemOfRecord, TenantId,
};
use crate::words::{Text, Word};

/// The state of a pipeline run or of one of its stages. Only [`Succeeded`](Self::Succeeded) is green.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PipelineRunState {
    /// Accepted, no worker yet.
    Queued,
    /// Held by something: see [`WaitReason`].
    Waiting,
    /// At work.
    Running,
    /// Asked to stop, not yet stopped.
    Cancelling,
    /// The host stopped and a person must act. Final within its attempt: an approval starts the next one.
    ActionRequired,
    /// Ended well.
    Succeeded,
    /// Ended with issues; not green.
    PartiallySucceeded,
    /// Ended badly.
    Failed,
    /// The host ended it for its duration.
    TimedOut,
    /// Ended on request.
    Cancelled,
    /// Never ran; satisfies no gate.
    Skipped,
    /// Ended without a verdict.
    Neutral,
    /// The host gave up on it.
    Abandoned,
    /// Live: a word that we do not know, or words that contradict each other.
    Unknown,
    /// The system of record no longer has the run and never told how it ended.
    Lost,
}

impl PipelineRunState {
    /// Every state.
    pub const ALL: [Self; 15] = [
        Self::Queued,
        Self::Waiting,
        Self::Running,
        Self::Cancelling,
        Self::ActionRequired,
        Self::Succeeded,
        Self::PartiallySucceeded,
        Self::Failed,
        Self::TimedOut,
        Self::Cancelled,
        Self::Skipped,
        Self::Neutral,
        Self::Abandoned,
        Self::Unknown,
        Self::Lost,
    ];

    /// The word that is stored and shown.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "Queued",
            Self::Waiting => "Waiting",
            Self::Running => "Running",
            Self::Cancelling => "Cancelling",
            Self::ActionRequired => "ActionRequired",
            Self::Succeeded => "Succeeded",
            Self::PartiallySucceeded => "PartiallySucceeded",
            Self::Failed => "Failed",
            Self::TimedOut => "TimedOut",
            Self::Cancelled => "Cancelled",
            Self::Skipped => "Skipped",
            Self::Neutral => "Neutral",
            Self::Abandoned => "Abandoned",
            Self::Unknown => "Unknown",
            Self::Lost => "Lost",
        }
    }

    /// The state that [`as_str`](Self::as_str) gave this word for.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }

    /// Whether the state ends its attempt.
    #[must_use]
    pub const fn finality(self) -> Finality {
        match self {
            Self::Queued | Self::Waiting | Self::Running | Self::Cancelling | Self::Unknown => {
                Finality::Live
            }
            Self::ActionRequired
            | Self::Succeeded
            | Self::PartiallySucceeded
            | Self::Failed
            | Self::TimedOut
            | Self::Cancelled
            | Self::Skipped
            | Self::Neutral
            | Self::Abandoned
            | Self::Lost => Finality::Final,
        }
    }
}

impl fmt::Display for PipelineRunState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What holds a waiting run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WaitReason {
    /// A concurrency group: GitHub's `pending`.
    Concurrency,
    /// A deployment protection rule: GitHub's `waiting`.
    ProtectionRule,
}

impl WaitReason {
    /// The word that is stored and shown.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Concurrency => "Concurrency",
            Self::ProtectionRule => "ProtectionRule",
        }
    }
}

/// What a failure or an end without verdict was, beyond its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FailReason {
    /// The run could not start: GitHub's `startup_failure`.
    Startup,
    /// GitHub gave up on it: `stale`.
    Stale,
}

impl FailReason {
    /// The word that is stored and shown.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Startup => "Startup",
            Self::Stale => "Stale",
        }
    }
}

/// What native words mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// The state.
    pub state: PipelineRunState,
    /// What holds it.
    pub wait_reason: Option<WaitReason>,
    /// What its failure was.
    pub fail_reason: Option<FailReason>,
}

/// A provider's own status and result, verbatim.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct NativeWords {
    /// `nativeStatus`: GitHub's `status`.
    pub status: Word,
    /// `nativeResult`: GitHub's `conclusion`.
    pub result: Option<Word>,
}

impl NativeWords {
    /// Reads GitHub's words of a workflow run or job. Compared exactly: GitHub writes them in lower case, and a word
    /// that is not in its published vocabulary means something that we do not know.
    #[must_use]
    pub fn reading(&self) -> Reading {
        let of = |state| Reading { state, wait_reason: None, fail_reason: None };
        let waits = |reason| Reading {
            state: PipelineRunState::Waiting,
            wait_reason: Some(reason),
            fail_reason: None,
        };
        let ends = |state, reason| Reading { state, wait_reason: None, fail_reason: Some(reason) };
        match (self.status.as_str(), self.result.as_ref().map(Word::as_str)) {
            ("requested" | "queued", None) => of(PipelineRunState::Queued),
            ("pending", None) => waits(WaitReason::Concurrency),
            ("waiting", None) => waits(WaitReason::ProtectionRule),
            ("in_progress", None) => of(PipelineRunState::Running),
            ("completed", Some("success")) => of(PipelineRunState::Succeeded),
            ("completed", Some("failure")) => of(PipelineRunState::Failed),
            ("completed", Some("startup_failure")) => {
                ends(PipelineRunState::Failed, FailReason::Startup)
            }
            ("completed", Some("timed_out")) => of(PipelineRunState::TimedOut),
            ("completed", Some("cancelled")) => of(PipelineRunState::Cancelled),
            ("completed", Some("skipped")) => of(PipelineRunState::Skipped),
            ("completed", Some("neutral")) => of(PipelineRunState::Neutral),
            ("completed", Some("stale")) => ends(PipelineRunState::Abandoned, FailReason::Stale),
            ("completed", Some("action_required")) => of(PipelineRunState::ActionRequired),
            // A conclusion before the end, an end without a conclusion, a word of tomorrow.
            _ => of(PipelineRunState::Unknown),
        }
    }
}

/// What an observation says of a run's attempt. The order of the fields is the fixed order of contents.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RunContent {
    /// Status and conclusion.
    pub words: NativeWords,
    /// When this attempt started: `run_started_at`.
    pub started_at: Timestamp,
    /// The commit that runs.
    pub commit: Text,
    /// The pipeline definition's path in the repository, or its id where the host tells no path.
    pub definition: Text,
    /// What triggered it (`push`, `pull_request`, `merge_group`, …); empty where the host does not tell.
    pub event: Word,
    /// The branch, where there is one.
    pub branch: Option<Text>,
    /// The repository that the commit lives in: another one for a fork.
    pub head_repository: Option<RepositoryId>,
    /// The number that people see.
    pub run_number: Option<u64>,
    /// The pipeline's name.
    pub name: Option<Text>,
    /// What the repository was called when this was said. A label: it changes by itself and contradicts nothing.
    pub repository_label: Text,
}

impl Content for RunContent {
    type Words = NativeWords;

    fn words(&self) -> &NativeWords {
        &self.words
    }

    fn finality(&self) -> Finality {
        self.words.reading().state.finality()
    }

    fn is_unknown(&self) -> bool {
        self.words.reading().state == PipelineRunState::Unknown
    }

    fn contradicts(&self, other: &Self) -> bool {
        let unlabelled = |content: &Self| {
            let mut content = content.clone();
            content.repository_label = Text::new("");
            content
        };
        unlabelled(self) != unlabelled(other)
    }
}

/// Who owns a repository: its registration, as far as a fold needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// The tenant.
    pub tenant: TenantId,
    /// Its project.
    pub project: ProjectId,
}

/// What names a run's attempt for ever.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunIdentity {
    /// The derived id.
    pub id: PipelineRunId,
    /// Who owns the repository.
    pub owner: Owner,
    /// The kind of host.
    pub system: SystemOfRecord,
    /// The repository.
    pub repository: RepositoryKey,
    /// The host's run id.
    pub run: RunId,
    /// The attempt.
    pub attempt: Attempt,
}

impl RunIdentity {
    /// The identity of an attempt at GitHub.
    #[must_use]
    pub fn github(owner: Owner, repository: RepositoryKey, run: RunId, attempt: Attempt) -> Self {
        let system = SystemOfRecord::GitHub;
        let id = PipelineRunId::derive(&owner.tenant, system, &repository, run, attempt);
        Self { id, owner, system, repository, run, attempt }
    }
}

/// The PipelineRun aggregate as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PipelineRun {
    /// What it is.
    pub identity: RunIdentity,
    /// What was seen of it.
    pub mirror: Mirror<RunContent>,
    /// What the world may have been told of it.
    pub announced: Option<Announced>,
    /// When it must be read.
    pub due: Option<Due>,
    /// How often it was written.
    pub revision: Revision,
}

/// The result of advancing a stored subject by observations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Advanced<T> {
    /// What to store. `None` when nothing has to be written.
    pub write: Option<T>,
    /// What became of each observation.
    pub outcomes: Vec<Outcome>,
    /// Why the system of record must be asked.
    pub ask_again: Option<AskReason>,
}

impl PipelineRun {
    /// Folds observations into a run. `None` only when there is neither a run nor an observation.
    #[must_use]
    pub fn advance(
        identity: &RunIdentity,
        current: Option<&Self>,
        sightings: &[Sighting<RunContent>],
        now: Timestamp,
    ) -> Option<Advanced<Self>> {
        let folded = fold(current.map(|run| &run.mirror), sightings)?;
        let before = current.and_then(|run| run.due);
        let write = must_write(&folded, before).then(|| {
            let revision = current.map_or(Revision::default(), |run| run.revision).next();
            let announced = current.and_then(|run| run.announced);
            Self {
                identity: identity.clone(),
                announced: Announced::after(announced, &folded.next, revision),
                due: next_due(&folded, before, now),
                mirror: folded.next.clone(),
                revision,
            }
        });
        Some(Advanced { write, outcomes: folded.outcomes, ask_again: folded.ask_again })
    }

    /// A readable, unique reference: the page of this very attempt.
    #[must_use]
    pub fn external_run_ref(&self) -> String {
        let RunIdentity { repository, run, attempt, .. } = &self.identity;
        let label = &self.mirror.content.repository_label;
        format!("https://{}/{label}/actions/runs/{run}/attempts/{attempt}", repository.host)
    }

    /// The pipeline definition at its commit. A path that names its own ref (`owner/repo/path@ref`) keeps it.
    #[must_use]
    pub fn definition_ref(&self) -> String {
        let RunContent { definition, commit, .. } = &self.mirror.content;
        if definition.as_str().contains('@') {
            definition.to_string()
        } else {
            format!("{definition}@{commit}")
        }
    }
}

/// Whether a fold must be stored: what is unchanged and already asked for is not written again.
pub(crate) fn must_write<C: Content>(folded: &Folded<C>, due: Option<Due>) -> bool {
    let already_asked = due.is_some_and(|due| due.asks > 0);
    folded.changed || (folded.ask_again.is_some() && !already_asked)
}

/// When a folded subject is due.
pub(crate) fn next_due<C: Content>(
    folded: &Folded<C>,
    before: Option<Due>,
    now: Timestamp,
) -> Option<Due> {
    let live = if folded.next.is_over() { Live::No } else { Live::Yes };
    due::after_fold(before, live, folded.ask_again, now)
}
