//! Why a tool could not do what it was asked for.

/// The cause of an error.
type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Why a tool could not do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// Look whether the stack still runs.
    #[error("{what} did not answer")]
    Unavailable {
        /// What was asked.
        what: String,
        /// The cause.
        #[source]
        source: Cause,
    },
    /// The stack was started from another description than this tool knows.
    #[error("the stack has no {0}")]
    Missing(String),
    /// Nothing can be signed with this secret.
    #[error(transparent)]
    Secret(#[from] github::verify::SecretError),
    /// Correct the file.
    #[error("{file}: {fault}")]
    File {
        /// Which file.
        file: String,
        /// What is wrong with it.
        fault: String,
    },
    /// Nothing here can be done about it.
    #[error("this machine cannot be used for this")]
    Unusable(#[source] Cause),
}

impl ToolError {
    /// What did not answer, and why.
    pub(crate) fn unavailable(what: impl Into<String>, source: impl Into<Cause>) -> Self {
        Self::Unavailable { what: what.into(), source: source.into() }
    }

    /// What is wrong with a file.
    pub(crate) fn file(file: &std::path::Path, fault: impl ToString) -> Self {
        Self::File { file: file.display().to_string(), fault: fault.to_string() }
    }
}
