//! Why a read told nothing, divided by what its caller does next.

use jiff::Timestamp;
use ports::BoxError;

/// Why a read told nothing. No variant holds a token, a body or a URL.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Ask nothing more over this connection until then. Other connections are not concerned.
    #[error("the connection's rate limit is used up until {until}")]
    Limited {
        /// When questions are answered again, as far as GitHub tells.
        until: Timestamp,
    },
    /// The connection may not read this, or no longer: nothing is known of the subject. Somebody must look at the connection.
    #[error("the connection has no access: {0}")]
    NoAccess(NoAccess),
    /// The repository answers, and does not have this: it was deleted, or never was.
    #[error("the repository does not have it")]
    Gone,
    /// GitHub did not answer, not in time, or with a fault of its own: ask again later.
    #[error("GitHub did not answer")]
    Unavailable(#[source] BoxError),
    /// The answer is about something else, or leads somewhere else: nothing of it is used, and somebody must look.
    #[error(transparent)]
    Foreign(#[from] Foreign),
    /// The answer lacks something that is needed, or is no such answer at all. Asking again gives the same.
    #[error("the answer can't be read: {place}")]
    Unreadable {
        /// Which field, header or status, never its value.
        place: String,
    },
    /// The answer is larger than what is read. What was read of it is not used.
    #[error("the answer is too large: more than {limit} {unit}")]
    TooLarge {
        /// The limit.
        limit: u64,
        /// Of what.
        unit: &'static str,
    },
}

/// What kept a connection out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoAccess {
    /// The credentials are not accepted: 401, or an answer that was made for a browser (203, HTML).
    #[error("the credentials are not accepted")]
    Unauthenticated,
    /// They are, and do not suffice: 403, or 451 for what the law withholds.
    #[error("the answer was refused with status {status}")]
    Refused {
        /// The status.
        status: u16,
    },
    /// The repository itself does not answer. GitHub says 404 of what one may not see, too.
    #[error("the repository does not answer")]
    NoRepository,
    /// The installation gives no token for this repository: it is suspended, removed, does not have it, or was not granted
    /// the permissions.
    #[error("the installation gives no token for the repository")]
    NoInstallation,
    /// The connection is no App's, and only an App has an installation.
    #[error("the connection is not an App's")]
    NotAnApp,
}

/// An answer that is not ours to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Foreign {
    /// A link or redirect leads away from the connection's origin. No request was sent there.
    #[error("{place} leads away from the connection's origin")]
    ForeignLink {
        /// The header: `link` or `location`.
        place: &'static str,
    },
    /// The answer is about another subject than the one that was asked about.
    #[error("{field} is not what was asked for")]
    Mismatch {
        /// The field that tells.
        field: &'static str,
    },
    /// Redirects follow redirects.
    #[error("more than {limit} redirects follow each other")]
    Redirects {
        /// How many are followed.
        limit: usize,
    },
}

/// An answer that lacks what is needed, or is none.
pub(crate) fn unreadable(place: impl Into<String>) -> ReadError {
    ReadError::Unreadable { place: place.into() }
}

/// An answer about something else.
pub(crate) fn mismatch(field: &'static str) -> ReadError {
    ReadError::Foreign(Foreign::Mismatch { field })
}
