//! Pull requests: opened, changed, closed, reopened.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::{
    git::Sha,
    github::{
        GitHub,
        deliveries::fields,
        model::{AutoMerge, Method, PullRequest, Readiness, RepositoryId, Side, State, User},
        refusal::Refusal,
        render::{Shape, Urls, View},
        specs::PullRequestSpec,
        world::Simulation,
    },
};

impl GitHub {
    /// Opens a pull request and gives its number.
    ///
    /// # Errors
    /// [`Refusal::NoSuchBranch`], [`Refusal::NothingToMerge`], [`Refusal::AlreadyOpen`], [`Refusal::NoSuchRepository`],
    /// [`Refusal::NoSuchCommit`] when the head's repository is no fork of this one, [`Refusal::Archived`]
    pub fn open_pull_request(
        &self,
        repository: RepositoryId,
        spec: PullRequestSpec,
        by: &User,
    ) -> Result<u64, Refusal> {
        self.change(|simulation| {
            let number = simulation.add_pull(repository, spec, by.id)?;
            simulation.raise_pull(repository, number, "opened", by.id)?;
            simulation.try_merge(repository, number)?;
            Ok(number)
        })
    }

    /// Closes a pull request without merging it.
    ///
    /// # Errors
    /// [`Refusal::NotOpen`], [`Refusal::NoSuchPullRequest`], [`Refusal::Archived`]
    pub fn close(&self, repository: RepositoryId, number: u64, by: &User) -> Result<(), Refusal> {
        self.change(|simulation| simulation.close(repository, number, by.id))
    }

    /// Opens a closed pull request again, with what was pushed to its head meanwhile.
    ///
    /// # Errors
    /// [`Refusal::NotReopenable`], [`Refusal::AlreadyOpen`], [`Refusal::NoSuchPullRequest`], [`Refusal::Archived`]
    pub fn reopen(&self, repository: RepositoryId, number: u64, by: &User) -> Result<(), Refusal> {
        self.change(|simulation| {
            let pull = simulation.world.pull(repository, number)?;
            let head = simulation.world.branch(pull.head.repository, &pull.head.branch);
            let base = simulation.world.branch(repository, &pull.base.branch);
            let (Ok(head), Ok(base)) = (head, base) else {
                return Err(Refusal::NotReopenable(number));
            };
            let objects = simulation.world.objects_of(repository)?;
            let has_commits = !objects.range(base, head).is_empty();
            let is_kept = objects.descends(head, pull.head.sha);
            if pull.state != State::Closed || !is_kept || !has_commits {
                return Err(Refusal::NotReopenable(number));
            }
            simulation.must_be_only(repository, pull)?;
            let pull = simulation.touched(repository, number)?;
            pull.state = State::Open;
            pull.closed_at = None;
            (pull.head.sha, pull.base.sha) = (head, base);
            simulation.raise_pull(repository, number, "reopened", by.id)?;
            simulation.try_merge(repository, number)
        })
    }

    /// Lets a pull request propose to another branch.
    ///
    /// # Errors
    /// [`Refusal::NotOpen`], [`Refusal::NoSuchBranch`], [`Refusal::NothingToMerge`], [`Refusal::NoSuchPullRequest`]
    pub fn retarget(
        &self,
        repository: RepositoryId,
        number: u64,
        base: &str,
        by: &User,
    ) -> Result<(), Refusal> {
        self.change(|simulation| simulation.retarget(repository, number, base, by.id))
    }

    /// Gives a pull request another title.
    ///
    /// # Errors
    /// [`Refusal::NoSuchPullRequest`], [`Refusal::Archived`]
    pub fn retitle(
        &self,
        repository: RepositoryId,
        number: u64,
        title: &str,
        by: &User,
    ) -> Result<(), Refusal> {
        self.change(|simulation| {
            let pull = simulation.touched(repository, number)?;
            let from = std::mem::replace(&mut pull.title, title.to_owned());
            let changes = ("changes", json!({ "title": { "from": from } }));
            simulation.raise_pull_with(repository, number, ("edited", vec![changes]), by.id)
        })
    }

    /// Gives a pull request another text.
    ///
    /// # Errors
    /// [`Refusal::NoSuchPullRequest`], [`Refusal::Archived`]
    pub fn rewrite(
        &self,
        repository: RepositoryId,
        number: u64,
        body: &str,
        by: &User,
    ) -> Result<(), Refusal> {
        self.change(|simulation| {
            let pull = simulation.touched(repository, number)?;
            let body = (!body.is_empty()).then(|| body.to_owned());
            let from = std::mem::replace(&mut pull.body, body);
            let changes = ("changes", json!({ "body": { "from": from.unwrap_or_default() } }));
            simulation.raise_pull_with(repository, number, ("edited", vec![changes]), by.id)
        })
    }

    /// Says that a draft is ready.
    ///
    /// # Errors
    /// [`Refusal::NotOpen`], also when it is ready already; [`Refusal::NoSuchPullRequest`], [`Refusal::Archived`]
    pub fn mark_ready(
        &self,
        repository: RepositoryId,
        number: u64,
        by: &User,
    ) -> Result<(), Refusal> {
        let told = (Readiness::Ready, "ready_for_review");
        self.change(|simulation| simulation.set_readiness(repository, number, told, by.id))
    }

    /// Makes a draft of it.
    ///
    /// # Errors
    /// [`Refusal::NotOpen`], also when it is a draft already; [`Refusal::NoSuchPullRequest`], [`Refusal::Archived`]
    pub fn convert_to_draft(
        &self,
        repository: RepositoryId,
        number: u64,
        by: &User,
    ) -> Result<(), Refusal> {
        let told = (Readiness::Draft, "converted_to_draft");
        self.change(|simulation| simulation.set_readiness(repository, number, told, by.id))
    }

    /// Puts a label on it; one that it has already changes nothing.
    ///
    /// # Errors
    /// [`Refusal::NoSuchPullRequest`], [`Refusal::Archived`]
    pub fn add_label(
        &self,
        repository: RepositoryId,
        number: u64,
        label: &str,
        by: &User,
    ) -> Result<(), Refusal> {
        self.change(|simulation| {
            let labels = &mut simulation.world_mut().pull_mut(repository, number)?.labels;
            if !labels.insert(label.to_owned()) {
                return Ok(());
            }
            simulation.raise_label(repository, number, ("labeled", label), by.id)
        })
    }

    /// Takes a label off; one that it has not changes nothing.
    ///
    /// # Errors
    /// [`Refusal::NoSuchPullRequest`], [`Refusal::Archived`]
    pub fn remove_label(
        &self,
        repository: RepositoryId,
        number: u64,
        label: &str,
        by: &User,
    ) -> Result<(), Refusal> {
        self.change(|simulation| {
            let labels = &mut simulation.world_mut().pull_mut(repository, number)?.labels;
            if !labels.remove(label) {
                return Ok(());
            }
            simulation.raise_label(repository, number, ("unlabeled", label), by.id)
        })
    }

    /// Asks for the merge as soon as it is allowed. Merging stays the caller's to do: requirements are not simulated.
    ///
    /// # Errors
    /// [`Refusal::NotOpen`], [`Refusal::Draft`], [`Refusal::NoSuchPullRequest`], [`Refusal::Archived`]
    pub fn enable_auto_merge(
        &self,
        repository: RepositoryId,
        number: u64,
        method: Method,
        by: &User,
    ) -> Result<(), Refusal> {
        self.change(|simulation| {
            simulation.mergeable(repository, number)?;
            let auto_merge = Some(AutoMerge { by: by.id, method });
            simulation.touched(repository, number)?.auto_merge = auto_merge;
            simulation.raise_pull(repository, number, "auto_merge_enabled", by.id)
        })
    }

    /// Takes that back.
    ///
    /// # Errors
    /// [`Refusal::NotOpen`], [`Refusal::NoSuchPullRequest`], [`Refusal::Archived`]
    pub fn disable_auto_merge(
        &self,
        repository: RepositoryId,
        number: u64,
        by: &User,
    ) -> Result<(), Refusal> {
        self.change(|simulation| {
            simulation.open_pull(repository, number)?;
            simulation.touched(repository, number)?.auto_merge = None;
            let reason = ("reason", json!("User disabled auto-merge"));
            let told = ("auto_merge_disabled", vec![reason]);
            simulation.raise_pull_with(repository, number, told, by.id)
        })
    }
}

impl Simulation {
    fn add_pull(
        &mut self,
        repository: RepositoryId,
        spec: PullRequestSpec,
        by: u64,
    ) -> Result<u64, Refusal> {
        self.world.account(by)?;
        let head = self.side(spec.head_repository.unwrap_or(repository), &spec.head)?;
        let base = self.side(repository, &spec.base)?;
        let objects = self.world.objects_of(repository)?;
        let last = objects.commit(head.sha).ok_or(Refusal::NoSuchCommit(head.sha))?;
        let title = spec.title.unwrap_or_else(|| last.title().to_owned());
        let now = self.now();
        let id = self.ids.next();
        let row = self.world_mut().active(repository)?;
        let number = row.next_number;
        row.next_number += 1;
        let pull = PullRequest {
            id,
            number,
            title,
            body: spec.body.filter(|body| !body.is_empty()),
            author: by,
            state: State::Open,
            readiness: spec.readiness,
            head,
            base,
            labels: BTreeSet::new(),
            auto_merge: None,
            test_merge: None,
            created_at: now,
            updated_at: now,
            closed_at: None,
            reviews: Vec::new(),
        };
        self.must_propose(repository, &pull)?;
        self.must_be_only(repository, &pull)?;
        self.world_mut().active(repository)?.pull_requests.insert(number, pull);
        Ok(number)
    }

    fn side(&self, repository: RepositoryId, branch: &str) -> Result<Side, Refusal> {
        let sha = self.world.branch(repository, branch)?;
        let owner = self.world.repository(repository)?.owner;
        Ok(Side { repository, owner, branch: branch.to_owned(), sha })
    }

    fn must_propose(&self, repository: RepositoryId, pull: &PullRequest) -> Result<(), Refusal> {
        let (head, base) = (&pull.head, &pull.base);
        if self.world.objects_of(repository)?.range(base.sha, head.sha).is_empty() {
            let (head, base) = (head.branch.clone(), base.branch.clone());
            return Err(Refusal::NothingToMerge { base, head });
        }
        Ok(())
    }

    fn must_be_only(&self, repository: RepositoryId, pull: &PullRequest) -> Result<(), Refusal> {
        let others = self.world.repository(repository)?.pull_requests.values();
        let same = |side: &Side, other: &Side| {
            (side.repository, &side.branch) == (other.repository, &other.branch)
        };
        let mut open = others.filter(|other| other.is_open() && other.number != pull.number);
        let other =
            open.find(|other| same(&other.head, &pull.head) && same(&other.base, &pull.base));
        other.map_or(Ok(()), |other| Err(Refusal::AlreadyOpen(other.number)))
    }

    pub(crate) fn open_pull(
        &self,
        repository: RepositoryId,
        number: u64,
    ) -> Result<&PullRequest, Refusal> {
        let pull = self.world.pull(repository, number)?;
        if pull.is_open() { Ok(pull) } else { Err(Refusal::NotOpen(number)) }
    }

    /// A pull request to change, stamped with this second.
    pub(crate) fn touched(
        &mut self,
        repository: RepositoryId,
        number: u64,
    ) -> Result<&mut PullRequest, Refusal> {
        let now = self.now();
        let pull = self.world_mut().pull_mut(repository, number)?;
        pull.updated_at = now;
        Ok(pull)
    }

    pub(crate) fn close(
        &mut self,
        repository: RepositoryId,
        number: u64,
        by: u64,
    ) -> Result<(), Refusal> {
        self.open_pull(repository, number)?;
        self.leave_queue(repository, number, by)?;
        let pull = self.touched(repository, number)?;
        pull.state = State::Closed;
        pull.closed_at = Some(pull.updated_at);
        self.raise_pull(repository, number, "closed", by)
    }

    /// What a push to the head does. A head that has nothing left to propose closes the pull request.
    pub(crate) fn synchronize(
        &mut self,
        repository: RepositoryId,
        number: u64,
        head: Sha,
        by: u64,
    ) -> Result<(), Refusal> {
        self.leave_queue(repository, number, by)?;
        let base = self.world.pull(repository, number)?.base.clone();
        let base = self.world.branch(repository, &base.branch).unwrap_or(base.sha);
        let pull = self.touched(repository, number)?;
        let before = std::mem::replace(&mut pull.head.sha, head);
        pull.base.sha = base;
        let pushed =
            vec![("before", json!(before.to_string())), ("after", json!(head.to_string()))];
        self.raise_pull_with(repository, number, ("synchronize", pushed), by)?;
        if self.world.objects_of(repository)?.range(base, head).is_empty() {
            return self.close(repository, number, by);
        }
        self.try_merge(repository, number)
    }

    pub(crate) fn retarget(
        &mut self,
        repository: RepositoryId,
        number: u64,
        branch: &str,
        by: u64,
    ) -> Result<(), Refusal> {
        self.open_pull(repository, number)?;
        let base = self.side(repository, branch)?;
        let pull = self.touched(repository, number)?;
        let from = std::mem::replace(&mut pull.base, base);
        let pull = pull.clone();
        self.must_propose(repository, &pull)?;
        self.must_be_only(repository, &pull)?;
        let from =
            json!({ "ref": { "from": from.branch }, "sha": { "from": from.sha.to_string() } });
        let changes = vec![("changes", json!({ "base": from }))];
        self.raise_pull_with(repository, number, ("edited", changes), by)?;
        self.try_merge(repository, number)
    }

    fn set_readiness(
        &mut self,
        repository: RepositoryId,
        number: u64,
        (readiness, action): (Readiness, &'static str),
        by: u64,
    ) -> Result<(), Refusal> {
        if self.open_pull(repository, number)?.readiness == readiness {
            return Err(Refusal::NotOpen(number));
        }
        self.touched(repository, number)?.readiness = readiness;
        self.raise_pull(repository, number, action, by)
    }

    fn raise_label(
        &mut self,
        repository: RepositoryId,
        number: u64,
        (action, label): (&'static str, &str),
        by: u64,
    ) -> Result<(), Refusal> {
        self.touched(repository, number)?;
        let row = self.world.repository(repository)?;
        let label = View::of(&self.world, Urls::github()).label(row, label);
        self.raise_pull_with(repository, number, (action, vec![("label", label)]), by)
    }

    pub(crate) fn raise_pull(
        &mut self,
        repository: RepositoryId,
        number: u64,
        action: &'static str,
        by: u64,
    ) -> Result<(), Refusal> {
        self.raise_pull_with(repository, number, (action, Vec::new()), by)
    }

    pub(crate) fn raise_pull_with(
        &mut self,
        repository: RepositoryId,
        number: u64,
        (action, more): (&'static str, Vec<(&'static str, Value)>),
        by: u64,
    ) -> Result<(), Refusal> {
        let view = View::of(&self.world, Urls::github());
        let row = self.world.repository(repository)?;
        let pull = view.pull(row, self.world.pull(repository, number)?, Shape::Full)?;
        let told = [("action", json!(action)), ("number", json!(number)), ("pull_request", pull)];
        self.raise("pull_request", repository, by, fields(told.into_iter().chain(more)))
    }
}
