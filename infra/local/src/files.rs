//! The files that a stack keeps, and `running.json`, which it must not leave behind.

use serde::{Serialize, de::DeserializeOwned};

use crate::{
    error::StackError,
    options::State,
    running::{RUNNING_FILE, Running},
    secrets::Secrets,
    sqs::StoredMessage,
    stack::Stopped,
    state::StateDirectory,
};

pub(crate) const DATABASE_FILE: &str = "dynamodb.sqlite";
pub(crate) const QUEUES_FILE: &str = "queues.json";
pub(crate) const SECRETS_FILE: &str = "secrets.json";

/// The files of a stack, and the duty to remove `running.json`.
#[derive(Debug)]
pub(crate) struct Files {
    /// Locked while the stack runs; holds `running.json`.
    directory: Option<StateDirectory>,
    keeps_state: bool,
}

impl Files {
    /// Creates and locks what the options name.
    pub(crate) fn open(state: &State) -> Result<Self, StackError> {
        let (directory, keeps_state) = match state {
            State::Directory(path) => (Some(path), true),
            State::Ephemeral { running } => (running.as_ref(), false),
        };
        let directory = directory.map(|path| StateDirectory::open(path)).transpose()?;
        Ok(Self { directory, keeps_state })
    }

    /// The directory, where state is kept at all.
    pub(crate) fn state(&self) -> Option<&StateDirectory> {
        self.directory.as_ref().filter(|_| self.keeps_state)
    }

    /// Writes `running.json`.
    pub(crate) fn announce(&self, running: &Running) -> Result<(), StackError> {
        let Some(directory) = &self.directory else { return Ok(()) };
        let text = serde_json::to_string_pretty(running).unwrap_or_default();
        directory.write(RUNNING_FILE, &format!("{text}\n"))
    }

    /// What an earlier run left under this name.
    pub(crate) fn read_json<T: DeserializeOwned>(
        &self,
        name: &str,
    ) -> Result<Option<T>, StackError> {
        let Some(state) = self.state() else { return Ok(None) };
        let Some(text) = state.read(name)? else { return Ok(None) };
        let path = state.file(name);
        let read = serde_json::from_str(&text).map_err(std::io::Error::other);
        read.map(Some).map_err(StackError::io(format!("file {}", path.display())))
    }

    /// Leaves something for a later run.
    pub(crate) fn write_json(&self, name: &str, value: &impl Serialize) -> Result<(), StackError> {
        let Some(state) = self.state() else { return Ok(()) };
        state.write(name, &serde_json::to_string_pretty(value).unwrap_or_default())
    }

    /// Leaves what has to outlive this run.
    pub(crate) fn store(
        &self,
        messages: &[StoredMessage],
        secrets: &Secrets,
    ) -> Result<Stopped, StackError> {
        if self.state().is_none() {
            return Ok(Stopped { messages_stored: 0, messages_lost: messages.len() });
        }
        self.write_json(SECRETS_FILE, &secrets.values())?;
        if !messages.is_empty() {
            self.write_json(QUEUES_FILE, &messages)?;
            tracing::info!(
                messages = messages.len(),
                "stored {} queued messages for the next start",
                messages.len()
            );
        }
        Ok(Stopped { messages_stored: messages.len(), messages_lost: 0 })
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        if let Some(directory) = &self.directory {
            directory.remove(RUNNING_FILE);
        }
    }
}
