//! Deliveries and what became of them: the vocabulary of the ledger.

use std::fmt;

use jiff::Timestamp;

use crate::ids::{DeliveryId, RepositoryKey, SourceId, TenantId};
use crate::words::{Text, Word};

/// What a verified delivery's sender proved by its signature.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// A hook's secret belongs to one tenant.
    Tenant(TenantId),
    /// A GitHub App's one secret proves only GitHub; the tenant follows from the repository's registration,
    /// and the installation id that GitHub signed must be the registered one.
    Installation(Option<u64>),
}

/// One delivery as evidence: who sent what, when. Never an order of facts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Delivery {
    /// The configured source whose secret verified the body.
    pub source: SourceId,
    /// The hook's id, where the sender tells it.
    pub hook: Option<u64>,
    /// The sender's id of the delivery; two hooks share it, and so do redeliveries.
    pub id: DeliveryId,
    /// The event's name, as the header said.
    pub event: Word,
    /// The action, as the body said.
    pub action: Option<Word>,
    /// SHA-256 of the body's exact bytes, 64 lower-case hex digits.
    pub body_sha256: String,
    /// When ingest took it.
    pub received_at: Timestamp,
}

/// Why a verified delivery could not be folded. Its place is named, its content never repeated.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum QuarantineReason {
    /// The body is not JSON.
    NotJson,
    /// The body lacks something, or holds something of another type. `place` says where, as the parser tells it.
    Unreadable {
        /// The parser's words: field and position, no content.
        place: Text,
    },
    /// The body's shape belongs to another event than the header names.
    ShapeMismatch {
        /// What gave it away.
        place: Text,
    },
    /// The version lies more than five minutes after the delivery: it would outrank every later truth.
    FutureVersion,
    /// The store refuses the item for what it is, not for now; retrying can't help.
    Unstorable,
}

impl QuarantineReason {
    /// The reason's name, as stored, logged and counted.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::NotJson => "not JSON",
            Self::Unreadable { .. } => "Unreadable",
            Self::ShapeMismatch { .. } => "ShapeMismatch",
            Self::FutureVersion => "FutureVersion",
            Self::Unstorable => "Unstorable",
        }
    }

    /// Where in the body, if a place can be named.
    #[must_use]
    pub const fn place(&self) -> Option<&Text> {
        match self {
            Self::Unreadable { place } | Self::ShapeMismatch { place } => Some(place),
            Self::NotJson | Self::FutureVersion | Self::Unstorable => None,
        }
    }
}

impl fmt::Display for QuarantineReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place() {
            Some(place) => write!(f, "{}: {place}", self.as_str()),
            None => f.write_str(self.as_str()),
        }
    }
}

/// What became of an accepted delivery.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// It moved the mirror.
    Applied,
    /// The mirror knew it, or something newer, already.
    NoOp,
    /// It says something else than another observation of the same version; a read is asked.
    Contested,
    /// Nobody has claimed the repository.
    Unregistered,
    /// The repository belongs to somebody else than the source's tenant: a security event.
    OutOfScope,
    /// It tells of something that the Factory did not make, and of which no mirror is kept.
    NotMirrored,
    /// It could not be folded.
    Quarantined(QuarantineReason),
}

impl Outcome {
    /// The word that is stored and shown.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Applied => "applied",
            Self::NoOp => "no-op",
            Self::Contested => "contested",
            Self::Unregistered => "unregistered",
            Self::OutOfScope => "out of scope",
            Self::NotMirrored => "not mirrored",
            Self::Quarantined(_) => "quarantined",
        }
    }
}

/// One row of the delivery ledger. It answers "where did it go?"; correctness never depends on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerEntry {
    /// The delivery.
    pub delivery: Delivery,
    /// The tenant under whom it was judged; absent where none is known.
    pub tenant: Option<TenantId>,
    /// The repository that the body names, if it could be read.
    pub repository: Option<RepositoryKey>,
    /// The subject that it told of, as a readable reference.
    pub subject: Option<String>,
    /// What became of it.
    pub outcome: Outcome,
    /// When it was judged.
    pub judged_at: Timestamp,
}
