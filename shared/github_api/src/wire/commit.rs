//! A commit.

use std::collections::BTreeSet;

use domain::ids::{CommitId, PullRequestNumber, TreeId};
use domain::provenance::SeenCommit;
use domain::trailers::{FactoryTrailers, Trailers};
use github::json::Strict;
use serde::Deserialize;

use crate::error::{ReadError, unreadable};
use crate::wire::{commit_id, required};

#[derive(Debug, Deserialize)]
pub(crate) struct Commit {
    sha: Option<String>,
    commit: Option<Strict<Content>>,
    parents: Option<Vec<Strict<Object>>>,
}

#[derive(Debug, Deserialize)]
struct Content {
    message: Option<String>,
    tree: Option<Strict<Object>>,
}

#[derive(Debug, Deserialize)]
struct Object {
    sha: Option<String>,
}

impl Commit {
    /// What was seen of the commit, in the list of which pull request if in one.
    pub(crate) fn seen(
        self,
        listed_in: Option<PullRequestNumber>,
    ) -> Result<(CommitId, SeenCommit), ReadError> {
        let id = commit_id(&required(self.sha, "sha")?, "sha")?;
        let Strict(content) = required(self.commit, "commit")?;
        let Strict(tree) = required(content.tree, "commit.tree")?;
        let tree = TreeId::new(&required(tree.sha, "commit.tree.sha")?)
            .map_err(|_| unreadable("commit.tree.sha is no tree"))?;
        let parents = required(self.parents, "parents")?.into_iter().map(|Strict(parent)| {
            commit_id(&required(parent.sha, "parents[].sha")?, "parents[].sha")
        });
        let message = required(content.message, "commit.message")?;
        let seen = SeenCommit {
            tree,
            parents: parents.collect::<Result<_, _>>()?,
            trailers: FactoryTrailers::read(&Trailers::read(&message)),
            listed_in: BTreeSet::from_iter(listed_in),
        };
        Ok((id, seen))
    }
}
