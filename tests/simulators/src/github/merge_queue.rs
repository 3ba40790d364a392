//! The merge queue: groups of one pull request each, every one on top of the one before.

use serde_json::json;

use crate::{
    git::Sha,
    github::{
        GitHub,
        deliveries::fields,
        model::{AccountKind, Method, QueueEntry, RepositoryId, User},
        refusal::Refusal,
        render::{Urls, View},
        specs::MergeSpec,
        world::Simulation,
    },
};

/// The account that acts for the queue.
const QUEUE_LOGIN: &str = "github-merge-queue[bot]";

/// A pull request in the merge queue, as it was queued.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeGroup {
    /// The branch that the group's runs are for: `gh-readonly-queue/{base}/pr-{number}-{base sha}`.
    pub branch: String,
    /// The commit by which the base ends once the group is merged.
    pub head_sha: Sha,
    /// What it is on top of.
    pub base_sha: Sha,
}

/// Why a pull request leaves the queue unmerged, in the words of `dequeued`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DequeueReason {
    /// Somebody took it out.
    Manual,
    /// Its checks failed.
    CiFailure,
    /// Its checks took too long.
    CiTimeout,
    /// It no longer merges.
    MergeConflict,
}

impl DequeueReason {
    fn word(self) -> &'static str {
        match self {
            Self::Manual => "MANUAL",
            Self::CiFailure => "CI_FAILURE",
            Self::CiTimeout => "CI_TIMEOUT",
            Self::MergeConflict => "MERGE_CONFLICT",
        }
    }
}

impl GitHub {
    /// Puts a pull request at the end of its base's queue, with a branch of its own on which checks are requested.
    ///
    /// # Errors
    /// [`Refusal::Queue`], [`Refusal::NotOpen`], [`Refusal::Draft`], [`Refusal::Conflict`], [`Refusal::NoSuchPullRequest`]
    pub fn enqueue(
        &self,
        repository: RepositoryId,
        number: u64,
        method: Method,
        by: &User,
    ) -> Result<MergeGroup, Refusal> {
        self.change(|simulation| {
            let base = simulation.mergeable(repository, number)?.base.branch.clone();
            let queue = &simulation.world.repository(repository)?.queue;
            if queue.iter().any(|entry| entry.number == number) {
                return Err(Refusal::Queue(number));
            }
            let last = queue.iter().rfind(|entry| entry.base_branch == base);
            let base_sha = match last {
                Some(entry) => entry.head_sha,
                None => simulation.world.branch(repository, &base)?,
            };
            simulation.touched(repository, number)?;
            simulation.raise_pull(repository, number, "enqueued", by.id)?;
            let entry = simulation.queue_entry(repository, number, (base_sha, method), by.id)?;
            let QueueEntry { head_sha, branch, .. } = entry.clone();
            simulation.world_mut().active(repository)?.queue.push(entry.clone());
            let queue = simulation.queue_account()?;
            simulation.set_branch(repository, &branch, head_sha, queue)?;
            simulation.raise_group(repository, &entry, ("checks_requested", None), queue)?;
            Ok(MergeGroup { branch, head_sha, base_sha })
        })
    }

    /// Takes a pull request out of the queue. Those behind it are queued anew.
    ///
    /// # Errors
    /// [`Refusal::Queue`], [`Refusal::NoSuchRepository`], [`Refusal::Conflict`]
    pub fn dequeue(
        &self,
        repository: RepositoryId,
        number: u64,
        reason: DequeueReason,
        by: &User,
    ) -> Result<(), Refusal> {
        self.change(|simulation| simulation.dequeue(repository, number, reason, by.id))
    }

    /// Merges the first pull request of its base's queue: the group's commit becomes the base's.
    ///
    /// # Errors
    /// [`Refusal::Queue`], [`Refusal::NoSuchRepository`]
    pub fn merge_group(&self, repository: RepositoryId, number: u64) -> Result<Sha, Refusal> {
        self.change(|simulation| {
            let queue = &simulation.world.repository(repository)?.queue;
            let entry = queue.iter().find(|entry| entry.number == number);
            let entry = entry.ok_or(Refusal::Queue(number))?.clone();
            let tip = simulation.world.branch(repository, &entry.base_branch)?;
            if entry.base_sha != tip {
                return Err(Refusal::Queue(number));
            }
            let by = simulation.queue_account()?;
            simulation.world_mut().active(repository)?.queue.retain(|it| it.number != number);
            simulation.raise_dequeued(repository, number, "MERGE", by)?;
            simulation.finish_merge(repository, number, entry.head_sha, by)?;
            simulation.end_group(repository, &entry, "merged")?;
            Ok(entry.head_sha)
        })
    }
}

impl Simulation {
    fn queue_entry(
        &mut self,
        repository: RepositoryId,
        number: u64,
        (base_sha, method): (Sha, Method),
        by: u64,
    ) -> Result<QueueEntry, Refusal> {
        let base_branch = self.world.pull(repository, number)?.base.branch.clone();
        let spec = MergeSpec::new(method);
        let head_sha = self.merged(repository, number, (base_sha, &spec), by)?;
        let branch = format!("gh-readonly-queue/{base_branch}/pr-{number}-{base_sha}");
        Ok(QueueEntry { number, by, method, base_sha, base_branch, head_sha, branch })
    }

    pub(crate) fn dequeue(
        &mut self,
        repository: RepositoryId,
        number: u64,
        reason: DequeueReason,
        by: u64,
    ) -> Result<(), Refusal> {
        let queue = self.world.repository(repository)?.queue.clone();
        let at = queue.iter().position(|entry| entry.number == number);
        let at = at.ok_or(Refusal::Queue(number))?;
        let (before, rest) = queue.split_at(at);
        let Some((entry, behind)) = rest.split_first() else { return Err(Refusal::Queue(number)) };
        self.world_mut().active(repository)?.queue = before.to_vec();
        self.touched(repository, number)?;
        self.raise_dequeued(repository, number, reason.word(), by)?;
        self.end_group(repository, entry, "dequeued")?;
        let mut base_sha = entry.base_sha;
        for old in behind {
            if old.base_branch != entry.base_branch {
                self.world_mut().active(repository)?.queue.push(old.clone());
                continue;
            }
            self.end_group(repository, old, "invalidated")?;
            let place = (base_sha, old.method);
            let new = match self.queue_entry(repository, old.number, place, old.by) {
                Ok(new) => new,
                Err(Refusal::Conflict(_)) => {
                    self.touched(repository, old.number)?;
                    let reason = DequeueReason::MergeConflict.word();
                    self.raise_dequeued(repository, old.number, reason, by)?;
                    continue;
                }
                Err(refusal) => return Err(refusal),
            };
            base_sha = new.head_sha;
            self.world_mut().active(repository)?.queue.push(new.clone());
            let queue = self.queue_account()?;
            self.set_branch(repository, &new.branch, new.head_sha, queue)?;
            self.raise_group(repository, &new, ("checks_requested", None), queue)?;
        }
        Ok(())
    }

    /// What leaves the queue because it is closed, merged by hand, or has other commits now.
    pub(crate) fn leave_queue(
        &mut self,
        repository: RepositoryId,
        number: u64,
        by: u64,
    ) -> Result<(), Refusal> {
        let queue = &self.world.repository(repository)?.queue;
        if queue.iter().any(|entry| entry.number == number) {
            self.dequeue(repository, number, DequeueReason::Manual, by)?;
        }
        Ok(())
    }

    fn end_group(
        &mut self,
        repository: RepositoryId,
        entry: &QueueEntry,
        reason: &'static str,
    ) -> Result<(), Refusal> {
        let queue = self.queue_account()?;
        self.raise_group(repository, entry, ("destroyed", Some(reason)), queue)?;
        self.drop_branch(repository, &entry.branch, queue)
    }

    fn raise_dequeued(
        &mut self,
        repository: RepositoryId,
        number: u64,
        reason: &'static str,
        by: u64,
    ) -> Result<(), Refusal> {
        let reason = vec![("reason", json!(reason))];
        self.raise_pull_with(repository, number, ("dequeued", reason), by)
    }

    fn raise_group(
        &mut self,
        repository: RepositoryId,
        entry: &QueueEntry,
        (action, reason): (&'static str, Option<&'static str>),
        by: u64,
    ) -> Result<(), Refusal> {
        let view = View::of(&self.world, Urls::github());
        let row = self.world.repository(repository)?;
        let group = json!({
            "head_sha": entry.head_sha.to_string(),
            "head_ref": format!("refs/heads/{}", entry.branch),
            "base_sha": entry.base_sha.to_string(),
            "base_ref": format!("refs/heads/{}", entry.base_branch),
            "head_commit": view.head_commit(row, entry.head_sha)?,
        });
        let told = [("action", json!(action)), ("merge_group", group)];
        let reason = reason.map(|reason| ("reason", json!(reason)));
        self.raise("merge_group", repository, by, fields(told.into_iter().chain(reason)))
    }

    fn queue_account(&mut self) -> Result<u64, Refusal> {
        let mut accounts = self.world.accounts.values();
        match accounts.find(|account| account.user.login == QUEUE_LOGIN) {
            Some(account) => Ok(account.user.id),
            None => Ok(self.create_user(QUEUE_LOGIN, AccountKind::Bot)?.id),
        }
    }
}
