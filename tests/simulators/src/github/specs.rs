//! What a caller asks for: start from `new` and say only what differs.

use std::collections::BTreeMap;

use crate::{
    git::Sha,
    github::model::{Method, Readiness, RepositoryId, ReviewState, User, Visibility},
};

/// A repository to create.
#[derive(Debug, Clone)]
pub struct RepositorySpec {
    pub(crate) name: String,
    pub(crate) visibility: Visibility,
    pub(crate) default_branch: String,
}

impl RepositorySpec {
    /// A public repository whose default branch is `main`, with a first commit on it.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            visibility: Visibility::Public,
            default_branch: "main".to_owned(),
        }
    }

    /// Seen only by those who may.
    #[must_use]
    pub fn private(self) -> Self {
        Self { visibility: Visibility::Private, ..self }
    }

    /// With another default branch.
    #[must_use]
    pub fn default_branch(self, name: &str) -> Self {
        Self { default_branch: name.to_owned(), ..self }
    }
}

/// A commit to make.
#[derive(Debug, Clone)]
pub struct CommitSpec {
    pub(crate) parents: Vec<Sha>,
    pub(crate) message: String,
    pub(crate) changes: BTreeMap<String, Option<Vec<u8>>>,
    pub(crate) author: Option<(String, String)>,
    pub(crate) offset_minutes: i32,
}

impl CommitSpec {
    /// On top of `parent`, with its files. The message is taken byte for byte, trailers included.
    #[must_use]
    pub fn on(parent: Sha, message: &str) -> Self {
        Self { parents: vec![parent], ..Self::first(message) }
    }

    /// Without a parent and without files.
    #[must_use]
    pub fn first(message: &str) -> Self {
        Self {
            parents: Vec::new(),
            message: message.to_owned(),
            changes: BTreeMap::new(),
            author: None,
            offset_minutes: 0,
        }
    }

    /// With one more parent, which adds nothing to the files.
    #[must_use]
    pub fn and_parent(mut self, parent: Sha) -> Self {
        self.parents.push(parent);
        self
    }

    /// With this content at this path.
    #[must_use]
    pub fn file(mut self, path: &str, content: impl AsRef<[u8]>) -> Self {
        self.changes.insert(path.to_owned(), Some(content.as_ref().to_vec()));
        self
    }

    /// Without the file at this path.
    #[must_use]
    pub fn without(mut self, path: &str) -> Self {
        self.changes.insert(path.to_owned(), None);
        self
    }

    /// Written and committed by an account, under the address that GitHub gives it.
    #[must_use]
    pub fn by(self, user: &User) -> Self {
        let author = (user.login.clone(), noreply(user));
        Self { author: Some(author), ..self }
    }

    /// Written and committed under a name and an address that may be nobody's.
    #[must_use]
    pub fn signed(self, name: &str, email: &str) -> Self {
        Self { author: Some((name.to_owned(), email.to_owned())), ..self }
    }

    /// With times in this offset, in minutes east of Greenwich.
    #[must_use]
    pub fn at_offset(self, minutes: i32) -> Self {
        Self { offset_minutes: minutes, ..self }
    }
}

/// The address by which GitHub finds the account of a commit.
pub(crate) fn noreply(user: &User) -> String {
    format!("{}+{}@users.noreply.github.com", user.id, user.login)
}

/// A pull request to open.
#[derive(Debug, Clone)]
pub struct PullRequestSpec {
    pub(crate) head: String,
    pub(crate) head_repository: Option<RepositoryId>,
    pub(crate) base: String,
    pub(crate) title: Option<String>,
    pub(crate) body: Option<String>,
    pub(crate) readiness: Readiness,
}

impl PullRequestSpec {
    /// From one branch to another of the same repository, titled like the head's last commit.
    #[must_use]
    pub fn new(head: &str, base: &str) -> Self {
        Self {
            head: head.to_owned(),
            head_repository: None,
            base: base.to_owned(),
            title: None,
            body: None,
            readiness: Readiness::Ready,
        }
    }

    /// From a branch of this fork.
    #[must_use]
    pub fn from_fork(self, fork: RepositoryId) -> Self {
        Self { head_repository: Some(fork), ..self }
    }

    /// With this title.
    #[must_use]
    pub fn title(self, title: &str) -> Self {
        Self { title: Some(title.to_owned()), ..self }
    }

    /// With this text.
    #[must_use]
    pub fn body(self, body: &str) -> Self {
        Self { body: Some(body.to_owned()), ..self }
    }

    /// Not ready to be merged.
    #[must_use]
    pub fn draft(self) -> Self {
        Self { readiness: Readiness::Draft, ..self }
    }
}

/// A review to write.
#[derive(Debug, Clone)]
pub struct ReviewSpec {
    pub(crate) state: ReviewState,
    pub(crate) body: String,
    pub(crate) commit: Option<Sha>,
}

impl ReviewSpec {
    /// Of the current head, without a text. [`ReviewState::Dismissed`] is not for writing.
    #[must_use]
    pub fn new(state: ReviewState) -> Self {
        Self { state, body: String::new(), commit: None }
    }

    /// With a text.
    #[must_use]
    pub fn body(self, body: &str) -> Self {
        Self { body: body.to_owned(), ..self }
    }

    /// Of this commit, which need not be the head any more.
    #[must_use]
    pub fn of_commit(self, commit: Sha) -> Self {
        Self { commit: Some(commit), ..self }
    }
}

/// How to merge a pull request.
#[derive(Debug, Clone)]
pub struct MergeSpec {
    pub(crate) method: Method,
    pub(crate) title: Option<String>,
    pub(crate) message: Option<String>,
}

impl MergeSpec {
    /// With GitHub's own words for the commit.
    #[must_use]
    pub fn new(method: Method) -> Self {
        Self { method, title: None, message: None }
    }

    /// With these words for the commit. A rebase has none.
    #[must_use]
    pub fn words(self, title: &str, message: &str) -> Self {
        Self { title: Some(title.to_owned()), message: Some(message.to_owned()), ..self }
    }
}
