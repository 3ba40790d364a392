//! Commits, and branches that point to them.

use serde_json::{Value, json};

use crate::{
    git::{Commit, Files, Sha, Signature},
    github::{
        GitHub,
        deliveries::fields,
        model::{PullRequest, Repository, RepositoryId, State, User},
        refusal::Refusal,
        render::{PushedCommits, Urls, View},
        specs::CommitSpec,
        world::Simulation,
    },
};

/// Whether a push may lose commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Force {
    No,
    Yes,
}

impl GitHub {
    /// The commit that a branch points to.
    ///
    /// # Errors
    /// [`Refusal::NoSuchBranch`], [`Refusal::NoSuchRepository`]
    pub fn branch(&self, repository: RepositoryId, branch: &str) -> Result<Sha, Refusal> {
        self.lock().world.branch(repository, branch)
    }

    /// A commit of the repository or of one of its forks.
    ///
    /// # Errors
    /// [`Refusal::NoSuchCommit`], [`Refusal::NoSuchRepository`]
    pub fn read_commit(&self, repository: RepositoryId, sha: Sha) -> Result<Commit, Refusal> {
        let simulation = self.lock();
        let commit = simulation.world.objects_of(repository)?.commit(sha);
        commit.cloned().ok_or(Refusal::NoSuchCommit(sha))
    }

    /// Makes a commit that no branch points to yet. Nothing is raised.
    ///
    /// # Errors
    /// [`Refusal::NoSuchCommit`] for a parent, [`Refusal::BadPath`], [`Refusal::NoSuchRepository`]
    pub fn commit(&self, repository: RepositoryId, spec: CommitSpec) -> Result<Sha, Refusal> {
        self.change(|simulation| simulation.commit(repository, spec))
    }

    /// Moves a branch forward, or creates it. What the branch is head or base of follows: pull requests get new commits, or are
    /// merged by what was pushed to their base. A push of what is there already does nothing.
    ///
    /// # Errors
    /// [`Refusal::NotFastForward`], [`Refusal::NoSuchCommit`], [`Refusal::NoSuchRepository`], [`Refusal::Archived`]
    pub fn push(
        &self,
        repository: RepositoryId,
        branch: &str,
        to: Sha,
        by: &User,
    ) -> Result<(), Refusal> {
        self.change(|simulation| simulation.push(repository, (branch, to), by.id, Force::No))
    }

    /// The same, wherever the branch was.
    ///
    /// # Errors
    /// [`Refusal::NoSuchCommit`], [`Refusal::NoSuchRepository`], [`Refusal::Archived`]
    pub fn force_push(
        &self,
        repository: RepositoryId,
        branch: &str,
        to: Sha,
        by: &User,
    ) -> Result<(), Refusal> {
        self.change(|simulation| simulation.push(repository, (branch, to), by.id, Force::Yes))
    }

    /// Deletes a branch. Pull requests from it are closed. Those into it follow the pull request by which it was merged, or are closed.
    ///
    /// # Errors
    /// [`Refusal::DefaultBranch`], [`Refusal::NoSuchBranch`], [`Refusal::NoSuchRepository`], [`Refusal::Archived`]
    pub fn delete_branch(
        &self,
        repository: RepositoryId,
        branch: &str,
        by: &User,
    ) -> Result<(), Refusal> {
        self.change(|simulation| {
            let row = simulation.world_mut().active(repository)?;
            if row.default_branch == branch {
                return Err(Refusal::DefaultBranch(branch.to_owned()));
            }
            simulation.drop_branch(repository, branch, by.id)?;
            simulation.close_pulls_of(repository, branch, by.id)
        })
    }
}

impl Simulation {
    pub(crate) fn commit(
        &mut self,
        repository: RepositoryId,
        spec: CommitSpec,
    ) -> Result<Sha, Refusal> {
        let at_seconds = self.now().as_second();
        let objects = self.world_mut().objects_mut(repository)?;
        if let Some(missing) = spec.parents.iter().find(|sha| objects.commit(**sha).is_none()) {
            return Err(Refusal::NoSuchCommit(*missing));
        }
        let mut files: Files =
            spec.parents.first().and_then(|sha| objects.files(*sha)).cloned().unwrap_or_default();
        for (path, content) in spec.changes {
            match content {
                Some(content) => files.insert(path, objects.add_blob(&content)),
                None => files.remove(&path),
            };
        }
        let (name, email) = spec
            .author
            .unwrap_or_else(|| ("Somebody".to_owned(), "somebody@example.com".to_owned()));
        let author = Signature { name, email, at_seconds, offset_minutes: spec.offset_minutes };
        let tree = objects.add_tree(files)?;
        let committer = author.clone();
        let parents = spec.parents;
        Ok(objects.add_commit(Commit { tree, parents, author, committer, message: spec.message }))
    }

    fn push(
        &mut self,
        repository: RepositoryId,
        (branch, to): (&str, Sha),
        by: u64,
        force: Force,
    ) -> Result<(), Refusal> {
        let objects = self.world.objects_of(repository)?;
        objects.commit(to).ok_or(Refusal::NoSuchCommit(to))?;
        let before = self.world.branch(repository, branch).ok();
        let is_forward = before.is_none_or(|before| objects.descends(to, before));
        if force == Force::No && !is_forward {
            return Err(Refusal::NotFastForward(branch.to_owned()));
        }
        self.set_branch(repository, branch, to, by)
    }

    /// Lets a branch point to a commit, with all that follows.
    pub(crate) fn set_branch(
        &mut self,
        repository: RepositoryId,
        branch: &str,
        to: Sha,
        by: u64,
    ) -> Result<(), Refusal> {
        let now = self.now();
        let row = self.world_mut().active(repository)?;
        let before = row.branches.insert(branch.to_owned(), to);
        if before == Some(to) {
            return Ok(());
        }
        row.pushed_at = now;
        if before.is_none() {
            self.raise_reference("create", repository, branch, by)?;
        }
        let pushed = PushedCommits { before: before.unwrap_or(Sha::ZERO), after: to };
        self.raise_push(repository, branch, pushed, by)?;
        for (base, number) in self.open_pulls(|_, pull| is_head(pull, repository, branch)) {
            self.synchronize(base, number, to, by)?;
        }
        let is_base = |row: &Repository, pull: &PullRequest| {
            row.id == repository && pull.base.branch == branch
        };
        for (_, number) in self.open_pulls(is_base) {
            self.merge_indirectly(repository, number, pushed, by)?;
        }
        Ok(())
    }

    /// Removes a branch, without regard to pull requests.
    pub(crate) fn drop_branch(
        &mut self,
        repository: RepositoryId,
        branch: &str,
        by: u64,
    ) -> Result<(), Refusal> {
        let row = self.world_mut().active(repository)?;
        let before = row.branches.remove(branch);
        let before = before.ok_or_else(|| Refusal::NoSuchBranch(branch.to_owned()))?;
        self.raise_reference("delete", repository, branch, by)?;
        let pushed = PushedCommits { before, after: Sha::ZERO };
        self.raise_push(repository, branch, pushed, by)
    }

    fn close_pulls_of(
        &mut self,
        repository: RepositoryId,
        branch: &str,
        by: u64,
    ) -> Result<(), Refusal> {
        for (base, number) in self.open_pulls(|_, pull| is_head(pull, repository, branch)) {
            self.close(base, number, by)?;
        }
        let pulls = self.world.repository(repository)?.pull_requests.values();
        let mut merged = pulls.filter(|pull| {
            matches!(pull.state, State::Merged { .. }) && is_head(pull, repository, branch)
        });
        let heir = merged.next_back().map(|pull| pull.base.branch.clone());
        let is_base = |row: &Repository, pull: &PullRequest| {
            row.id == repository && pull.base.branch == branch
        };
        for (_, number) in self.open_pulls(is_base) {
            match &heir {
                Some(heir) => self.retarget(repository, number, heir, by)?,
                None => self.close(repository, number, by)?,
            }
        }
        Ok(())
    }

    fn raise_reference(
        &mut self,
        event: &str,
        repository: RepositoryId,
        branch: &str,
        by: u64,
    ) -> Result<(), Refusal> {
        let created = (event == "create").then(|| {
            let default = self.world.repository(repository).map(|it| it.default_branch.clone());
            [("master_branch", json!(default.unwrap_or_default())), ("description", Value::Null)]
        });
        let told =
            [("ref", json!(branch)), ("ref_type", json!("branch")), ("pusher_type", json!("user"))];
        let told = fields(told.into_iter().chain(created.into_iter().flatten()));
        self.raise(event, repository, by, told)
    }

    fn raise_push(
        &mut self,
        repository: RepositoryId,
        branch: &str,
        pushed: PushedCommits,
        by: u64,
    ) -> Result<(), Refusal> {
        let PushedCommits { before, after } = pushed;
        let row = self.world.repository(repository)?;
        let view = View::of(&self.world, Urls::github());
        let (is_new, is_gone) = (before == Sha::ZERO, after == Sha::ZERO);
        let is_forced = !is_new && !is_gone && !self.world.objects(row)?.descends(after, before);
        let (commits, head_commit) = view.pushed(row, pushed)?;
        let compare = format!("{}/compare/{before}...{after}", view.page(row));
        let pusher = self.world.account(by)?;
        let pusher =
            json!({ "name": pusher.login, "email": crate::github::specs::noreply(pusher) });
        let told = fields([
            ("ref", json!(format!("refs/heads/{branch}"))),
            ("before", json!(before.to_string())),
            ("after", json!(after.to_string())),
            ("created", json!(is_new)),
            ("deleted", json!(is_gone)),
            ("forced", json!(is_forced)),
            ("base_ref", Value::Null),
            ("compare", json!(compare)),
            ("commits", commits),
            ("head_commit", head_commit),
            ("pusher", pusher),
            ("repository", view.pushed_repository(row)),
        ]);
        self.raise("push", repository, by, told)
    }

    /// Open pull requests that are as asked for, in repositories that take changes.
    pub(crate) fn open_pulls(
        &self,
        wanted: impl Fn(&Repository, &PullRequest) -> bool,
    ) -> Vec<(RepositoryId, u64)> {
        let mut open = Vec::new();
        for repository in self.world.repositories.values().filter(|it| it.takes_changes()) {
            let pulls = repository.pull_requests.values();
            let wanted = pulls.filter(|pull| pull.is_open() && wanted(repository, pull));
            open.extend(wanted.map(|pull| (repository.id, pull.number)));
        }
        open
    }
}

fn is_head(pull: &PullRequest, repository: RepositoryId, branch: &str) -> bool {
    pull.head.repository == repository && pull.head.branch == branch
}
