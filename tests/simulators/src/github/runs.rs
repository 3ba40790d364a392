//! Runs of workflows and their attempts.

use serde_json::{Value, json};

use crate::{
    git::Sha,
    github::{
        GitHub,
        deliveries::fields,
        model::{Repository, RepositoryId, Run, RunAttempt, User},
        refusal::Refusal,
        render::{Urls, View, node_id},
        world::Simulation,
    },
};

/// The words of a run that is over.
const COMPLETED: &str = "completed";

/// A run to start.
#[derive(Debug, Clone)]
pub struct RunSpec {
    pub(crate) path: String,
    pub(crate) event: String,
    pub(crate) head_sha: Sha,
    pub(crate) head_branch: Option<String>,
    pub(crate) head_repository: Option<RepositoryId>,
}

impl RunSpec {
    /// A run of `.github/workflows/ci.yml` because of a push to a branch.
    #[must_use]
    pub fn of(head_branch: &str, head_sha: Sha) -> Self {
        Self {
            path: ".github/workflows/ci.yml".to_owned(),
            event: "push".to_owned(),
            head_sha,
            head_branch: Some(head_branch.to_owned()),
            head_repository: None,
        }
    }

    /// Because of this event: `pull_request`, `merge_group`, `workflow_dispatch`, …
    #[must_use]
    pub fn event(self, event: &str) -> Self {
        Self { event: event.to_owned(), ..self }
    }

    /// Of this workflow file.
    #[must_use]
    pub fn workflow(self, path: &str) -> Self {
        Self { path: path.to_owned(), ..self }
    }

    /// Of a commit in this fork.
    #[must_use]
    pub fn from_fork(self, fork: RepositoryId) -> Self {
        Self { head_repository: Some(fork), ..self }
    }
}

impl GitHub {
    /// Starts a run, queued, and gives its id.
    ///
    /// # Errors
    /// [`Refusal::NoSuchCommit`], [`Refusal::NoSuchRepository`]
    pub fn start_run(
        &self,
        repository: RepositoryId,
        spec: RunSpec,
        by: &User,
    ) -> Result<u64, Refusal> {
        self.change(|simulation| {
            let id = simulation.add_run(repository, spec, by.id)?;
            simulation.raise_run(repository, id, "requested", by.id)?;
            Ok(id)
        })
    }

    /// Lets the current attempt of a run run.
    ///
    /// # Errors
    /// [`Refusal::RunState`] when it is over, [`Refusal::NoSuchRun`]
    pub fn run_in_progress(&self, repository: RepositoryId, run: u64) -> Result<(), Refusal> {
        self.change(|simulation| {
            let by = simulation.move_run(repository, run, ("in_progress", None))?;
            simulation.raise_run(repository, run, "in_progress", by)
        })
    }

    /// Ends the current attempt of a run with a conclusion in GitHub's words: `success`, `failure`, `cancelled`, …
    ///
    /// # Errors
    /// [`Refusal::RunState`] when it is over, [`Refusal::NoSuchRun`]
    pub fn complete_run(
        &self,
        repository: RepositoryId,
        run: u64,
        conclusion: &str,
    ) -> Result<(), Refusal> {
        self.change(|simulation| {
            let by = simulation.move_run(repository, run, (COMPLETED, Some(conclusion)))?;
            simulation.raise_run(repository, run, "completed", by)
        })
    }

    /// Runs it again under the same id, as a new attempt without a conclusion.
    ///
    /// # Errors
    /// [`Refusal::RunState`] when it is not over, [`Refusal::NoSuchRun`]
    pub fn rerun(&self, repository: RepositoryId, run: u64, by: &User) -> Result<(), Refusal> {
        self.change(|simulation| {
            let now = simulation.now();
            let attempts = &mut simulation.run_mut(repository, run)?.attempts;
            if attempts.last().is_none_or(|attempt| attempt.status != COMPLETED) {
                return Err(Refusal::RunState(run));
            }
            attempts.push(RunAttempt {
                started_at: now,
                updated_at: now,
                status: "queued".to_owned(),
                conclusion: None,
                triggered_by: by.id,
            });
            simulation.raise_run(repository, run, "requested", by.id)
        })
    }
}

impl Simulation {
    fn add_run(
        &mut self,
        repository: RepositoryId,
        spec: RunSpec,
        by: u64,
    ) -> Result<u64, Refusal> {
        let objects = self.world.objects_of(repository)?;
        objects.commit(spec.head_sha).ok_or(Refusal::NoSuchCommit(spec.head_sha))?;
        let (id, now) = (self.ids.next(), self.now());
        let new_workflow = self.ids.next();
        let runs = &mut self.world_mut().active(repository)?.runs;
        let siblings = runs.values().filter(|run| run.workflow_path == spec.path);
        let run_number = 1 + siblings.clone().map(|run| run.run_number).max().unwrap_or_default();
        let workflow_id = siblings.map(|run| run.workflow_id).next().unwrap_or(new_workflow);
        let attempt = RunAttempt {
            started_at: now,
            updated_at: now,
            status: "queued".to_owned(),
            conclusion: None,
            triggered_by: by,
        };
        let run = Run {
            id,
            run_number,
            workflow_path: spec.path,
            workflow_id,
            event: spec.event,
            head_branch: spec.head_branch,
            head_sha: spec.head_sha,
            head_repository: spec.head_repository.unwrap_or(repository),
            actor: by,
            created_at: now,
            attempts: vec![attempt],
        };
        runs.insert(id, run);
        Ok(id)
    }

    fn run_mut(&mut self, repository: RepositoryId, run: u64) -> Result<&mut Run, Refusal> {
        let row = self.world_mut().repository_mut(repository)?.runs.get_mut(&run);
        row.ok_or(Refusal::NoSuchRun(run))
    }

    /// Moves the current attempt, and gives who triggered it.
    fn move_run(
        &mut self,
        repository: RepositoryId,
        run: u64,
        (status, conclusion): (&str, Option<&str>),
    ) -> Result<u64, Refusal> {
        let now = self.now();
        let attempt = self.run_mut(repository, run)?.attempts.last_mut();
        let attempt = attempt.filter(|attempt| attempt.status != COMPLETED);
        let attempt = attempt.ok_or(Refusal::RunState(run))?;
        attempt.status = status.to_owned();
        attempt.conclusion = conclusion.map(str::to_owned);
        attempt.updated_at = now;
        Ok(attempt.triggered_by)
    }

    fn raise_run(
        &mut self,
        repository: RepositoryId,
        id: u64,
        action: &'static str,
        by: u64,
    ) -> Result<(), Refusal> {
        let view = View::of(&self.world, Urls::github());
        let row = self.world.repository(repository)?;
        let run = row.runs.get(&id).ok_or(Refusal::NoSuchRun(id))?;
        let told = fields([
            ("action", json!(action)),
            ("workflow_run", view.run(row, run, run.attempts.len())?),
            ("workflow", view.workflow(row, run)),
        ]);
        self.raise("workflow_run", repository, by, told)
    }
}

impl View<'_> {
    /// One attempt of a run, counted from 1.
    pub(crate) fn run(
        &self,
        repository: &Repository,
        run: &Run,
        number: usize,
    ) -> Result<Value, Refusal> {
        let attempt = number.checked_sub(1).and_then(|index| run.attempts.get(index));
        let attempt = attempt.ok_or(Refusal::NoSuchRun(run.id))?;
        let Run { id, head_sha, workflow_id, .. } = run;
        let url = format!("{}/actions/runs/{id}", self.api(repository));
        let head = self.world.repository(run.head_repository).ok();
        let previous = (1 < number).then(|| format!("{url}/attempts/{}", number - 1));
        let title = self.world.objects(repository)?.commit(*head_sha).map(|it| it.title());
        Ok(json!({
            "id": id,
            "name": workflow_name(&run.workflow_path),
            "node_id": node_id("WFR_kwLO", *id),
            "head_branch": run.head_branch,
            "head_sha": head_sha.to_string(),
            "path": run.workflow_path,
            "display_title": title,
            "run_number": run.run_number,
            "run_attempt": number,
            "event": run.event,
            "status": attempt.status,
            "conclusion": attempt.conclusion,
            "workflow_id": workflow_id,
            "check_suite_id": id + 1_000_000_000,
            "check_suite_node_id": node_id("CS_kwDO", *id),
            "url": url,
            "html_url": format!("{}/actions/runs/{id}", self.page(repository)),
            "pull_requests": self.pulls_of_run(repository, run),
            "created_at": run.created_at.to_string(),
            "updated_at": attempt.updated_at.to_string(),
            "run_started_at": attempt.started_at.to_string(),
            "actor": self.user(run.actor),
            "triggering_actor": self.user(attempt.triggered_by),
            "referenced_workflows": [],
            "jobs_url": format!("{url}/jobs"),
            "previous_attempt_url": previous,
            "head_commit": self.head_commit(repository, *head_sha)?,
            "repository": self.repository(repository),
            "head_repository": head.map(|head| self.repository(head)),
        }))
    }

    /// Open pull requests whose head this is; none for a fork's.
    fn pulls_of_run(&self, repository: &Repository, run: &Run) -> Vec<Value> {
        let pulls = repository.pull_requests.values();
        let told = pulls.filter(|pull| {
            pull.is_open()
                && run.head_repository == repository.id
                && pull.head.repository == repository.id
                && Some(&pull.head.branch) == run.head_branch.as_ref()
        });
        let side = |side: &crate::github::model::Side| {
            json!({ "ref": side.branch, "sha": side.sha.to_string(), "repo": {
                "id": repository.id.number(),
                "url": self.api(repository),
                "name": repository.name,
            } })
        };
        let told = told.map(|pull| {
            json!({
                "id": pull.id,
                "number": pull.number,
                "url": format!("{}/pulls/{}", self.api(repository), pull.number),
                "head": side(&pull.head),
                "base": side(&pull.base),
            })
        });
        told.collect()
    }

    fn workflow(&self, repository: &Repository, run: &Run) -> Value {
        let id = run.workflow_id;
        json!({
            "id": id,
            "node_id": node_id("W_kwDO", id),
            "name": workflow_name(&run.workflow_path),
            "path": run.workflow_path,
            "state": "active",
            "created_at": super::render::with_thousandths(repository.created_at),
            "updated_at": super::render::with_thousandths(repository.created_at),
            "url": format!("{}/actions/workflows/{id}", self.api(repository)),
            "html_url": format!("{}/blob/{}/{}", self.page(repository), repository.default_branch, run.workflow_path),
        })
    }
}

fn workflow_name(path: &str) -> &str {
    let file = path.rsplit_once('/').map_or(path, |(_, file)| file);
    file.split_once('.').map_or(file, |(name, _)| name)
}
