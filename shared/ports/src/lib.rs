//! What we ask of the world: one small trait per ability, and the errors that its caller acts on.
//!
//! A trait stands here only where a test puts something else in the adapter's place. A handler's bounds read like its
//! grants: who has only [`ObservationQueue`] can send, and nothing else.

use std::collections::{BTreeMap, BTreeSet};

use domain::delivery::LedgerEntry;
use domain::ids::{JobId, PipelineRunId, RepositoryKey};
use domain::observation::{Observation, Subject};
use domain::pipeline_run::{PipelineRun, RunIdentity};
use domain::registration::Registration;
use domain::stage::Stage;
use jiff::Timestamp;

/// The cause of an error, for the log of whoever handles it.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// What ingest hands to the writer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// Something was observed.
    Observation(Box<Observation>),
    /// A verified delivery could not be read: only the ledger takes note.
    Quarantine(Box<QuarantinedDelivery>),
}

/// A verified delivery that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuarantinedDelivery {
    /// What the sender proved.
    pub scope: domain::delivery::Scope,
    /// The delivery.
    pub delivery: domain::delivery::Delivery,
    /// The repository that the body names, where that could be read.
    pub repository: Option<RepositoryKey>,
    /// Why it could not be read.
    pub reason: domain::delivery::QuarantineReason,
}

/// Why a message was not sent.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// The queue did not take it: answer 503, nothing is lost by us.
    #[error("the observations queue did not take the message")]
    Unavailable(#[source] BoxError),
    /// The message is larger than the queue's format allows; it would never be taken.
    #[error("the message has {bytes} bytes, more than {limit}")]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
}

/// The queue of observations, seen from ingest.
pub trait ObservationQueue {
    /// Sends one message. When this returns, the queue has it.
    async fn send(&self, message: &Message) -> Result<(), SendError>;
}

/// Why a secret could not be read.
#[derive(Debug, thiserror::Error)]
pub enum SecretStoreError {
    /// The store did not answer, or refused: the caller goes on with what it has, or answers 503.
    #[error("the secret store did not give the secret")]
    Unavailable(#[source] BoxError),
    /// What the store holds is no usable secret.
    #[error("the stored secret is unusable: {0}")]
    Unusable(&'static str),
}

/// The secret store.
pub trait SecretStore {
    /// Reads a secret's text by its id (an ARN or a name).
    async fn read(&self, secret_id: &str) -> Result<String, SecretStoreError>;
}

/// Why a read of the mirrors failed: leave the messages on the queue.
#[derive(Debug, thiserror::Error)]
#[error("the mirror tables did not answer")]
pub struct LoadError(#[source] pub BoxError);

/// Why a write of one item failed.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// Another writer changed the item first: read again, fold again.
    #[error("another writer changed the item first")]
    Conflict,
    /// The store did not answer or is busy: leave the messages on the queue.
    #[error("the mirror tables did not take the item")]
    Unavailable(#[source] BoxError),
    /// The store refuses the item for what it is; retrying can't help: quarantine.
    #[error("the mirror tables refuse the item for what it is")]
    Unstorable(#[source] BoxError),
}

/// What one load asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Registrations.
    pub repositories: BTreeSet<RepositoryKey>,
    /// Runs.
    pub runs: BTreeSet<PipelineRunId>,
    /// Stages, by run and job.
    pub stages: BTreeSet<(PipelineRunId, JobId)>,
}

/// A stored item that this code can't read: a newer deployment wrote it, or somebody else did. Only its own messages fail.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the stored item can't be read: {place}")]
pub struct UnreadableItem {
    /// Which attribute, and why.
    pub place: String,
}

/// What one load found; what is absent does not exist.
#[derive(Debug, Default)]
pub struct Loaded {
    /// Registrations.
    pub repositories: BTreeMap<RepositoryKey, Result<Registration, UnreadableItem>>,
    /// Runs.
    pub runs: BTreeMap<PipelineRunId, Result<PipelineRun, UnreadableItem>>,
    /// Stages.
    pub stages: BTreeMap<(PipelineRunId, JobId), Result<Stage, UnreadableItem>>,
}

/// The mirrors, seen from the writer.
pub trait Mirrors {
    /// Reads all that is wanted, in as few requests as the store allows.
    async fn load(&self, wanted: &Wanted) -> Result<Loaded, LoadError>;

    /// Stores a run, if the stored revision is still the one before `run.revision`.
    async fn put_run(&self, run: &PipelineRun) -> Result<(), WriteError>;

    /// Stores a stage, if the stored revision is still the one before `stage.revision`.
    async fn put_stage(&self, stage: &Stage) -> Result<(), WriteError>;

    /// Makes a subject due that has no mirror of its own to carry the due time.
    async fn put_ask(&self, ask: &Ask) -> Result<(), WriteError>;
}

/// A subject of which nothing believable was seen, and which must be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// The attempt that it is, or belongs to.
    pub run: RunIdentity,
    /// The subject.
    pub subject: Subject,
    /// When it is due.
    pub due_at: Timestamp,
}

/// The delivery ledger.
pub trait Ledger {
    /// Notes what became of a delivery. A no-op never hides that the same delivery was applied before.
    async fn record(&self, entry: &LedgerEntry) -> Result<(), WriteError>;
}
