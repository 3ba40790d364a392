//! One subject of a batch: its observations, folded and stored together.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use domain::delivery::{Outcome, QuarantineReason, Scope};
use domain::fold::AskReason;
use domain::ids::{JobId, PipelineRunId, SystemOfRecord};
use domain::observation::{Fact, Observation, Subject};
use domain::pipeline_run::{Advanced, Owner, PipelineRun, RunIdentity};
use domain::stage::Stage;
use jiff::Timestamp;
use ports::{LoadError, Loaded, Mirrors, UnreadableItem, Wanted, WriteError};

use crate::batch::{Judged, Open, Verdict};
use crate::delivery_of;

/// How often a subject is read and folded again when other writers are faster, before its messages go back to the queue.
const TRIES_MAX: u32 = 6;
/// Longest wait between two tries. Milliseconds: writers that collide once would collide again without it.
const JITTER_MILLISECONDS_MAX: u64 = 25;

/// All observations of a batch about one subject.
#[derive(Debug)]
pub(crate) struct Group {
    identity: RunIdentity,
    job: Option<JobId>,
    messages: Vec<Open>,
}

impl Group {
    pub(crate) fn into_messages(self) -> Vec<Open> {
        self.messages
    }

    fn key(&self) -> (PipelineRunId, Option<JobId>) {
        (self.identity.id, self.job)
    }
}

/// The identity of the attempt that an observation is about, under its owner. `None` when it is about no run.
pub(crate) fn identity(owner: Owner, observation: &Observation) -> Option<RunIdentity> {
    let (run, attempt) = match observation.subject() {
        Subject::Run { run, attempt } | Subject::Stage { run, attempt, .. } => (run, attempt),
        Subject::PullRequest { .. } => return None,
    };
    Some(RunIdentity::github(owner, observation.repository.clone(), run, attempt))
}

/// What the first load asks for: every registration, and the subjects whose tenant the sender proved.
pub(crate) fn wanted<'a>(observations: impl Iterator<Item = &'a Observation>) -> Wanted {
    let mut wanted = Wanted::default();
    for observation in observations {
        wanted.repositories.insert(observation.repository.clone());
        let Scope::Tenant(tenant) = &observation.scope else { continue };
        let id = |run, attempt| {
            let system = SystemOfRecord::GitHub;
            PipelineRunId::derive(tenant, system, &observation.repository, run, attempt)
        };
        match observation.subject() {
            Subject::Run { run, attempt } => {
                wanted.runs.insert(id(run, attempt));
            }
            Subject::Stage { run, attempt, job } => {
                wanted.stages.insert((id(run, attempt), job));
            }
            Subject::PullRequest { .. } => (),
        }
    }
    wanted
}

/// Observations by subject, in the order in which they came.
pub(crate) fn groups(owned: Vec<(Open, RunIdentity)>) -> Vec<Group> {
    let mut groups: BTreeMap<(PipelineRunId, Option<JobId>), Group> = BTreeMap::new();
    for (open, identity) in owned {
        let job = match open.observation.subject() {
            Subject::Run { .. } | Subject::PullRequest { .. } => None,
            Subject::Stage { job, .. } => Some(job),
        };
        groups
            .entry((identity.id, job))
            .or_insert_with(|| Group { identity, job, messages: Vec::new() })
            .messages
            .push(open);
    }
    groups.into_values().collect()
}

/// The subjects that the first load did not ask for.
pub(crate) fn missing(groups: &[Group], wanted: &Wanted) -> Wanted {
    let mut missing = Wanted::default();
    for group in groups {
        let one = wanted_of(group);
        missing.runs.extend(one.runs.difference(&wanted.runs));
        missing.stages.extend(one.stages.difference(&wanted.stages));
    }
    missing
}

/// Folds one group and stores the result, again and again while other writers are faster.
pub(crate) async fn fold(
    store: &impl Mirrors,
    group: Group,
    loaded: &Loaded,
    now: Timestamp,
) -> Vec<Judged> {
    let mut current = Current::of(loaded, &group);
    for _ in 0..TRIES_MAX {
        let stored = match current {
            Ok(current) => try_once(store, &group, &current, now).await,
            Err(error) => return fail(group, &error.to_string()),
        };
        match stored {
            Ok(folded) => return judge(group, folded),
            Err(WriteError::Conflict) => (),
            Err(error @ WriteError::Unavailable(_)) => return fail(group, &describe(&error)),
            Err(WriteError::Unstorable(error)) => {
                tracing::error!(error, subject = %group.identity.id, "the store refuses a subject");
                let outcome = Outcome::Quarantined(QuarantineReason::Unstorable);
                let outcomes = vec![outcome; group.messages.len()];
                return judge(group, Outcomes { outcomes, ask: None });
            }
        }
        pause().await;
        current = match store.load(&wanted_of(&group)).await {
            Ok(loaded) => Current::of(&loaded, &group),
            Err(LoadError(error)) => return fail(group, &error.to_string()),
        };
    }
    fail(group, "other writers kept changing the subject first")
}

/// What is stored of a subject.
enum Current {
    Run(Option<PipelineRun>),
    Stage(JobId, Option<Stage>),
}

impl Current {
    fn of(loaded: &Loaded, group: &Group) -> Result<Self, UnreadableItem> {
        Ok(match group.key() {
            (id, None) => Self::Run(loaded.runs.get(&id).cloned().transpose()?),
            (id, Some(job)) => {
                Self::Stage(job, loaded.stages.get(&(id, job)).cloned().transpose()?)
            }
        })
    }
}

struct Outcomes {
    outcomes: Vec<Outcome>,
    ask: Option<AskReason>,
}

async fn try_once(
    store: &impl Mirrors,
    group: &Group,
    current: &Current,
    now: Timestamp,
) -> Result<Outcomes, WriteError> {
    // A fault of ours in one subject must not fail the others of the batch.
    let advanced = catch_unwind(AssertUnwindSafe(|| advance(group, current, now)));
    match advanced.map_err(|_| WriteError::Unavailable("the fold panicked".into()))? {
        Some(Next::Run(advanced)) => {
            if let Some(run) = &advanced.write {
                store.put_run(run).await?;
                log_announcement(group, current, run);
            }
            Ok(Outcomes { outcomes: advanced.outcomes, ask: advanced.ask_again })
        }
        Some(Next::Stage(advanced)) => {
            if let Some(stage) = &advanced.write {
                store.put_stage(stage).await?;
            }
            Ok(Outcomes { outcomes: advanced.outcomes, ask: advanced.ask_again })
        }
        None => Err(WriteError::Unavailable("the fold gave nothing".into())),
    }
}

enum Next {
    Run(Advanced<PipelineRun>),
    Stage(Advanced<Stage>),
}

fn advance(group: &Group, current: &Current, now: Timestamp) -> Option<Next> {
    let observations = group.messages.iter().map(|open| &open.observation);
    match current {
        Current::Run(run) => {
            let sightings: Vec<_> = observations
                .filter_map(|seen| match &seen.fact {
                    Fact::Run(fact) => Some(fact.sighting(&seen.origin, seen.doubt)),
                    Fact::Stage(_) | Fact::PullRequest(_) => None,
                })
                .collect();
            PipelineRun::advance(&group.identity, run.as_ref(), &sightings, now).map(Next::Run)
        }
        Current::Stage(job, stage) => {
            let sightings: Vec<_> = observations
                .filter_map(|seen| match &seen.fact {
                    Fact::Stage(fact) => Some(fact.sighting(&seen.origin, seen.doubt)),
                    Fact::Run(_) | Fact::PullRequest(_) => None,
                })
                .collect();
            Stage::advance(&group.identity, *job, stage.as_ref(), &sightings, now).map(Next::Stage)
        }
    }
}

/// What the world may now be told: one line per event, with the event's own id.
fn log_announcement(group: &Group, current: &Current, run: &PipelineRun) {
    let before = match current {
        Current::Run(run) => run.as_ref().and_then(|run| run.announced),
        Current::Stage(..) => None,
    };
    let id = run.identity.id;
    // Of the deliveries that were folded together the last one speaks for all.
    let observation = group.messages.last().map(|open| &open.observation);
    let delivery = observation.and_then(delivery_of);
    let subject = observation.map(|seen| format!("{} {}", seen.repository, seen.subject()));
    for event in domain::events::events_between(id, before.as_ref(), run.announced.as_ref()) {
        tracing::info!(
            delivery.id = delivery.map(|delivery| delivery.id.as_str()),
            source = delivery.map(|delivery| delivery.source.as_str()),
            subject,
            event.id = %event.id,
            event.r#type = event.kind.as_str(),
            event.sequence = event.sequence.0,
            pipeline_run.id = %id,
            pipeline_run.state = event.state.as_str(),
            tenant = run.identity.owner.tenant.as_str(),
            "announced a change"
        );
    }
}

fn wanted_of(group: &Group) -> Wanted {
    let mut wanted = Wanted::default();
    match group.key() {
        (id, None) => {
            wanted.runs.insert(id);
        }
        (id, Some(job)) => {
            wanted.stages.insert((id, job));
        }
    }
    wanted
}

fn judge(group: Group, folded: Outcomes) -> Vec<Judged> {
    if folded.outcomes.len() != group.messages.len() {
        // A message without an outcome would be deleted unseen.
        return fail(group, "the fold left a message out");
    }
    let tenant = group.identity.owner.tenant;
    let outcomes = folded.outcomes.into_iter();
    let judged = group.messages.into_iter().zip(outcomes);
    judged
        .map(|(open, outcome)| Judged::of(open, Some(tenant.clone()), outcome).asking(folded.ask))
        .collect()
}

fn fail(group: Group, error: &str) -> Vec<Judged> {
    let verdict = Verdict::Failed(error.to_owned());
    let tenant = group.identity.owner.tenant;
    let failed = |open| Judged::new(open, Some(tenant.clone()), verdict.clone());
    group.messages.into_iter().map(failed).collect()
}

fn describe(error: &WriteError) -> String {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}"));
    format!("{error}{}", cause.unwrap_or_default())
}

#[expect(clippy::disallowed_methods, reason = "milliseconds, so that colliding writers part")]
async fn pause() {
    tokio::time::sleep(Duration::from_millis(fastrand::u64(1..=JITTER_MILLISECONDS_MAX))).await;
}
