//! Playing a story on a running stack.

use std::{collections::BTreeMap, time::Duration};

use domain::{
    delivery::{LedgerEntry, Outcome},
    ids::{Host, ProjectId, RepositoryId, RepositoryKey, TenantId},
    pipeline_run::Owner,
    registration::Registration,
};
use jiff::Timestamp;
use tokio::time::timeout;

use super::{
    Claim, Compared, MirrorReport, MirrorView, Report, Step, StepReport, Story, Telling, Told,
    story::Delivery,
};
use crate::{
    Source, Stack,
    tools::{Clients, Detail, Hookshot, Outgoing, RunRecord, StageRecord, ToolError, run_records},
};

/// A message that no function can handle leaves its queue after five tries; this is longer.
const IDLE_WITHIN: Duration = Duration::from_secs(60);

/// What a story is played with.
struct Player<'a> {
    stack: &'a Stack,
    clients: Clients,
    hookshot: Hookshot,
}

/// Plays a story on a fresh stack, and calls `told` after each step.
///
/// Each delivery is made only when the one before has been judged. Queues promise no order: what happens to
/// deliveries that are on their way at the same time is certain in the end, and not on the way there.
///
/// # Errors
/// [`ToolError`] when something did not answer at all. What happened otherwise than the story says is no error: see
/// [`Report::is_as_told`].
pub async fn play(
    stack: &Stack,
    story: &Story,
    mut told: impl FnMut(&StepReport),
) -> Result<Report, ToolError> {
    let clients = Clients::new(stack.running())?;
    let player = Player { stack, clients, hookshot: Hookshot::new()? };
    for claim in &story.registrations {
        player.register(claim).await?;
    }
    let mut steps = Vec::new();
    for step in &story.steps {
        let report = player.step(step).await?;
        told(&report);
        steps.push(report);
    }
    Ok(Report { steps, mirrors: compare_mirrors(&story.mirrors, player.mirrors().await?) })
}

impl Player<'_> {
    async fn register(&self, claim: &Claim) -> Result<(), ToolError> {
        let registration = registration(claim).map_err(|fault| {
            ToolError::Unusable(format!("{}: {fault}", claim.repository).into())
        })?;
        let registered = self.clients.store().register(&registration).await;
        registered.map_err(|error| ToolError::unavailable("the registration", error))
    }

    async fn step(&self, step: &Step) -> Result<StepReport, ToolError> {
        let mut deliveries = Vec::new();
        for (delivery, expected) in step.deliveries.iter().zip(&step.expected.deliveries) {
            let answers = self.deliver(delivery).await?;
            let ledger = self.ledger(delivery).await?;
            deliveries.push(Telling { answers, ledger, ..expected.clone() });
        }
        let mut found = self.mirrors().await?;
        let keys: Vec<_> = step.expected.mirrors.iter().map(MirrorView::key).collect();
        found.retain(|mirror| keys.contains(&mirror.key()));
        found.sort_by_key(|mirror| keys.iter().position(|key| *key == mirror.key()));
        let observed = Told { deliveries, mirrors: found };
        Ok(Compared::new(&step.name, step.expected.clone(), observed))
    }

    /// Makes a delivery as often as the story says, and waits until it has been judged.
    async fn deliver(&self, delivery: &Delivery) -> Result<Vec<u16>, ToolError> {
        let source = self.source(&delivery.source)?;
        let secret = match &delivery.secret {
            Some(secret) => secret.clone(),
            None => self.clients.secret(source, Timestamp::now()).await,
        };
        let outgoing = Outgoing {
            event: &delivery.event,
            delivery_id: &delivery.delivery_id,
            body: &delivery.body,
            content_type: delivery.content_type,
        };
        let mut answers = Vec::new();
        for _ in 0..delivery.times {
            answers.push(self.hookshot.send(source, &secret, &outgoing).await?.status);
            let idle = timeout(IDLE_WITHIN, self.stack.idle()).await;
            idle.map_err(|_| ToolError::unavailable("the queue", "messages are left on it"))?;
        }
        Ok(answers)
    }

    fn source(&self, id: &str) -> Result<&Source, ToolError> {
        let found = self.stack.running().sources.iter().find(|source| source.id == id);
        found.ok_or_else(|| ToolError::Missing(format!("source {id}")))
    }

    /// What the ledger says of a delivery, if anything.
    async fn ledger(&self, delivery: &Delivery) -> Result<Option<String>, ToolError> {
        let scanned = self.clients.ledger().await?;
        if let Some(error) = scanned.unreadable.first() {
            return Err(ToolError::unavailable("the ledger", error.to_string()));
        }
        let is = |entry: &&LedgerEntry| {
            entry.delivery.source.as_str() == delivery.source
                && entry.delivery.id.as_str() == delivery.delivery_id
        };
        Ok(scanned.found.iter().find(is).map(|entry| outcome(&entry.outcome)))
    }

    async fn mirrors(&self) -> Result<Vec<MirrorView>, ToolError> {
        let scanned = self.clients.mirrors().await?;
        if let Some(error) = scanned.unreadable.first() {
            return Err(ToolError::unavailable("the mirrors", error.to_string()));
        }
        Ok(run_records(&scanned.found, Detail::Folded).into_iter().map(view).collect())
    }
}

fn registration(claim: &Claim) -> Result<Registration, domain::ids::IdError> {
    Ok(Registration {
        repository: RepositoryKey {
            host: Host::new(&claim.host)?,
            id: RepositoryId::from_number(claim.repository_id)?,
        },
        owner: Owner {
            tenant: TenantId::new(&claim.tenant_id)?,
            project: ProjectId::new(&claim.project_id)?,
        },
        label: claim.repository.clone(),
        installation: None,
    })
}

fn outcome(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Quarantined(reason) => format!("{}: {}", outcome.as_str(), reason.as_str()),
        Outcome::Applied
        | Outcome::NoOp
        | Outcome::Contested
        | Outcome::Unregistered
        | Outcome::OutOfScope
        | Outcome::NotMirrored => outcome.as_str().to_owned(),
    }
}

fn view(run: RunRecord) -> MirrorView {
    let mut stages = BTreeMap::new();
    for stage in run.stages {
        let state = stage_words(&stage);
        // A matrix may give two jobs one name.
        let name = if stages.contains_key(&stage.name) {
            format!("{} {}", stage.name, stage.job_id)
        } else {
            stage.name
        };
        stages.insert(name, state);
    }
    MirrorView {
        tenant_id: run.tenant_id,
        project_id: run.project_id,
        repository: run.repository,
        external_run_id: run.external_run_id,
        attempt: run.attempt,
        state: run.state.to_owned(),
        contested: run.contested,
        irregular: run.irregular.into_iter().map(str::to_owned).collect(),
        stages,
    }
}

fn stage_words(stage: &StageRecord) -> String {
    let contested = stage.contested.then_some("contested");
    let words = [stage.state].into_iter().chain(contested).chain(stage.irregular.iter().copied());
    words.collect::<Vec<_>>().join(" ")
}

/// Each mirror that was told, and each that is there without having been told.
fn compare_mirrors(told: &[MirrorView], mut found: Vec<MirrorView>) -> Vec<MirrorReport> {
    let mut reports = Vec::new();
    for expected in told {
        let place = found.iter().position(|mirror| mirror.key() == expected.key());
        let observed = place.map(|place| found.swap_remove(place));
        reports.push(Compared::new(mirror_name(expected), Some(expected.clone()), observed));
    }
    reports.extend(
        found.into_iter().map(|mirror| Compared::new(mirror_name(&mirror), None, Some(mirror))),
    );
    reports
}

fn mirror_name(mirror: &MirrorView) -> String {
    format!("mirror of run {} attempt {}", mirror.external_run_id, mirror.attempt)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mirror(run: u64, state: &str) -> MirrorView {
        MirrorView {
            tenant_id: "t1".to_owned(),
            project_id: "p".to_owned(),
            repository: "a/b".to_owned(),
            external_run_id: run,
            attempt: 1,
            state: state.to_owned(),
            contested: false,
            irregular: Vec::new(),
            stages: BTreeMap::new(),
        }
    }

    fn verdicts(told: &[MirrorView], found: Vec<MirrorView>) -> Vec<(String, bool)> {
        let reports = compare_mirrors(told, found);
        reports.into_iter().map(|report| (report.step, report.ok)).collect()
    }

    #[test]
    fn a_mirror_that_differs_is_missing_or_was_not_told_is_not_as_told() {
        let told = [mirror(1, "Succeeded"), mirror(2, "Failed"), mirror(3, "Queued")];
        let found = vec![mirror(4, "Queued"), mirror(2, "Running"), mirror(1, "Succeeded")];
        let name = |run: u64| format!("mirror of run {run} attempt 1");
        assert_eq!(
            verdicts(&told, found),
            [(name(1), true), (name(2), false), (name(3), false), (name(4), false)]
        );
        assert_eq!(verdicts(&told, told.to_vec()), [1, 2, 3].map(|run| (name(run), true)));
    }

    #[test]
    fn the_same_run_of_another_tenant_is_another_mirror() {
        let other = MirrorView { tenant_id: "t2".to_owned(), ..mirror(1, "Succeeded") };
        assert_eq!(
            verdicts(&[mirror(1, "Succeeded")], vec![other]),
            [1, 1].map(|run| (format!("mirror of run {run} attempt 1"), false))
        );
    }
}
