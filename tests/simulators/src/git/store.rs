//! The objects that a repository and its forks share.

use std::{collections::BTreeMap, sync::Arc};

use crate::git::objects::{BadPath, Commit, Files, Sha, blob_sha, tree_sha};

/// Objects by name. Nothing is ever collected: GitHub keeps what no branch reaches for a long time too.
///
/// Cloning shares the objects themselves.
#[derive(Debug, Clone, Default)]
pub struct Objects {
    blobs: BTreeMap<Sha, Arc<[u8]>>,
    trees: BTreeMap<Sha, Arc<Files>>,
    commits: BTreeMap<Sha, Arc<Commit>>,
}

impl Objects {
    /// Keeps a file's content and names it.
    pub fn add_blob(&mut self, content: &[u8]) -> Sha {
        let sha = blob_sha(content);
        self.blobs.entry(sha).or_insert_with(|| content.into());
        sha
    }

    /// Keeps a tree and names it.
    ///
    /// # Errors
    /// [`BadPath`] when no tree can hold these files.
    pub fn add_tree(&mut self, files: Files) -> Result<Sha, BadPath> {
        let sha = tree_sha(&files)?;
        self.trees.entry(sha).or_insert_with(|| Arc::new(files));
        Ok(sha)
    }

    /// Keeps a commit and names it.
    pub fn add_commit(&mut self, commit: Commit) -> Sha {
        let sha = commit.sha();
        self.commits.entry(sha).or_insert_with(|| Arc::new(commit));
        sha
    }

    /// A file's content.
    #[must_use]
    pub fn blob(&self, sha: Sha) -> Option<&[u8]> {
        self.blobs.get(&sha).map(AsRef::as_ref)
    }

    /// A commit.
    #[must_use]
    pub fn commit(&self, sha: Sha) -> Option<&Commit> {
        self.commits.get(&sha).map(AsRef::as_ref)
    }

    /// The files of a commit's tree.
    #[must_use]
    pub fn files(&self, commit: Sha) -> Option<&Files> {
        self.trees.get(&self.commit(commit)?.tree).map(AsRef::as_ref)
    }

    /// The names of a commit's parents; none for an unknown commit.
    pub(crate) fn parents(&self, commit: Sha) -> &[Sha] {
        self.commit(commit).map_or(&[], |commit| &commit.parents)
    }
}
