//! A branch.

use domain::ids::CommitId;
use github::json::Strict;
use serde::Deserialize;

use crate::error::ReadError;
use crate::wire::{commit_id, required};

#[derive(Debug, Deserialize)]
pub(crate) struct Branch {
    pub(crate) name: Option<String>,
    commit: Option<Strict<Head>>,
}

#[derive(Debug, Deserialize)]
struct Head {
    sha: Option<String>,
}

impl Branch {
    pub(crate) fn head(self) -> Result<CommitId, ReadError> {
        let Strict(head) = required(self.commit, "commit")?;
        commit_id(&required(head.sha, "commit.sha")?, "commit.sha")
    }
}
