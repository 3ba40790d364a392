//! `workflow_job`: one job, which is a stage of its run's attempt.

use domain::delivery::QuarantineReason;
use domain::ids::{JobId, RunId};
use domain::observation::{Doubt, Fact, StageFact};
use domain::stage::StageContent;
use domain::words::Text;
use serde::Deserialize;

use crate::events::subject::{Beside, IntoFact, Subject, attempt, doubt, id, required, words};
use crate::json::{Str, Time};

/// The event's own object, as far as it is mirrored.
#[derive(Debug, Deserialize)]
pub(crate) struct WorkflowJob<'a> {
    id: Option<u64>,
    run_id: Option<u64>,
    run_attempt: Option<u32>,
    #[serde(borrow)]
    name: Option<Str<'a>>,
    #[serde(borrow)]
    status: Option<Str<'a>>,
    #[serde(borrow)]
    conclusion: Option<Str<'a>>,
    created_at: Option<Time>,
    started_at: Option<Time>,
    completed_at: Option<Time>,
}

impl Subject for WorkflowJob<'_> {
    const NAME: &'static str = "workflow_job";
    const ACTIONS: &'static [&'static str] = &["queued", "waiting", "in_progress", "completed"];
    // A job that deploys brings its deployment along.
    const COMPANY: &'static [&'static str] = &["deployment"];
}

impl IntoFact for WorkflowJob<'_> {
    const INNER_REPOSITORY: &'static str = "workflow_job";

    fn inner_repository(&self) -> Option<u64> {
        None
    }

    fn into_fact(self, beside: &Beside<'_>) -> Result<(Fact, Option<Doubt>), QuarantineReason> {
        let status = required(self.status.as_ref(), "workflow_job.status")?;
        let words = words(status, self.conclusion.as_ref());
        let doubt = doubt(beside.action, &words);
        let content = StageContent {
            words,
            name: Text::new(self.name.as_ref().map(Str::as_str).unwrap_or_default()),
            created_at: self.created_at.map(|time| time.0),
            started_at: self.started_at.map(|time| time.0),
            completed_at: self.completed_at.map(|time| time.0),
        };
        let times = [content.created_at, content.started_at, content.completed_at];
        let fact = StageFact {
            run: RunId(id(self.run_id, "workflow_job.run_id")?),
            attempt: attempt(self.run_attempt, "workflow_job.run_attempt")?,
            job: JobId(id(self.id, "workflow_job.id")?),
            at: required(times.into_iter().flatten().max(), "every time of workflow_job")?,
            deployment_at: beside.deployment_at.map(|time| time.0),
            content,
        };
        Ok((Fact::Stage(Box::new(fact)), doubt))
    }
}
