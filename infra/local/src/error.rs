//! Why a local stack does not start.

use std::{io, path::PathBuf};

/// Why a local stack did not start. Each message says what to do next.
#[derive(Debug, thiserror::Error)]
pub enum StackError {
    /// `stack.json` is missing, unreadable, or describes what cannot be run here.
    #[error("stack description: {0}")]
    Description(String),
    /// Another process listens on the door's port.
    #[error(
        "port {port} is already in use; choose another with --port, or --port 0 for any free one"
    )]
    PortTaken {
        /// The port that was asked for.
        port: u16,
    },
    /// Another stack has the state directory open.
    #[error("{} is in use by another local stack{}; stop that one, or choose another directory with --state", directory.display(), holder(pid))]
    StateInUse {
        /// The directory.
        directory: PathBuf,
        /// Process that holds it, where known.
        pid: Option<u32>,
    },
    /// A stored table has other keys than the description.
    #[error(
        "table {table} in {state} has other keys or indexes than the stack description; move that state away, or choose another directory with --state"
    )]
    TableDiffers {
        /// Deployed name of the table.
        table: String,
        /// Where the table is stored.
        state: String,
    },
    /// A function has no binary.
    #[error("function {function} has no binary at {}; build it with `cargo build -p {function}`, or name the folder with --functions", path.display())]
    NoBinary {
        /// Short name of the function.
        function: String,
        /// Where its binary was looked for.
        path: PathBuf,
    },
    /// One of the embedded services refused a described resource.
    #[error("{resource}: {reason}")]
    Refused {
        /// The resource.
        resource: String,
        /// What the service said.
        reason: String,
    },
    /// A file or socket could not be used.
    #[error("{what}")]
    Io {
        /// What was tried, with the path or address.
        what: String,
        /// The cause.
        #[source]
        source: io::Error,
    },
}

impl StackError {
    /// Names what was tried when `source` happened.
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }
}

fn holder(pid: &Option<u32>) -> String {
    pid.map(|pid| format!(" (process {pid})")).unwrap_or_default()
}
