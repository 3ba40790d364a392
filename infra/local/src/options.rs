//! How a stack is started.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use crate::logs::LogOptions;

/// The port that forwarders and examples use.
pub const PORT: u16 = 8780;

/// The folder, relative to the current one, that keeps a stack's state.
pub const STATE_DIRECTORY: &str = ".plumbline";

/// Where nothing listens: a stack whose tokens are made up has nobody to show them to.
const NOWHERE: &str = "http://127.0.0.1:9";

/// Where the description of the infrastructure comes from.
#[derive(Debug, Clone)]
pub enum Description {
    /// A `stack.json`.
    File(PathBuf),
    /// The text of one.
    Text(String),
}

/// Where a stack keeps what outlives it.
#[derive(Debug, Clone)]
pub enum State {
    /// In this directory, with `running.json`.
    Directory(PathBuf),
    /// Nowhere.
    Ephemeral {
        /// Where `running.json` goes; without it, only [`Stack::running`](crate::Stack::running) tells.
        running: Option<PathBuf>,
    },
}

/// How a stack is started.
#[derive(Debug, Clone)]
pub struct StackOptions {
    /// The infrastructure.
    pub description: Description,
    /// Folder of the functions' binaries; by default that of the current executable.
    pub functions: Option<PathBuf>,
    /// What outlives the stack.
    pub state: State,
    /// Port of the door; 0 for any free one.
    pub port: u16,
    /// Base URL, `http` or `https`, of the API that every GitHub connection asks, such as a simulator's; `None` for
    /// those that the description names.
    pub github_api: Option<String>,
    /// Variables added to, or replacing, those of a function, by its short name.
    pub environment: BTreeMap<String, BTreeMap<String, String>>,
    /// Where the functions' output goes besides memory.
    pub logs: LogOptions,
    /// Processes per function.
    pub sandboxes_max: usize,
    /// Pollers per event source mapping.
    pub pollers: usize,
    /// When failed messages become visible again.
    pub retry_after: Duration,
}

impl StackOptions {
    /// A stack that leaves nothing behind, on any free port, whose reads of GitHub fail until `github_api` says where to
    /// go: what tests want.
    #[must_use]
    pub fn ephemeral(description: Description) -> Self {
        Self {
            description,
            functions: None,
            state: State::Ephemeral { running: None },
            port: 0,
            github_api: Some(NOWHERE.to_owned()),
            environment: BTreeMap::new(),
            logs: LogOptions::default(),
            sandboxes_max: 4,
            pollers: 2,
            retry_after: Duration::from_secs(1),
        }
    }

    /// A stack that keeps its state in `directory`, on the usual port, and reads GitHub where the description says.
    #[must_use]
    pub fn persistent(description: Description, directory: impl Into<PathBuf>) -> Self {
        Self {
            state: State::Directory(directory.into()),
            port: PORT,
            github_api: None,
            ..Self::ephemeral(description)
        }
    }

    /// The same, with a variable in the environment of one function.
    #[must_use]
    pub fn with_environment(mut self, function: &str, name: &str, value: &str) -> Self {
        let variables = self.environment.entry(function.to_owned()).or_default();
        variables.insert(name.to_owned(), value.to_owned());
        self
    }
}
