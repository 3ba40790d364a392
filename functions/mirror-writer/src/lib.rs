//! The use case of `mirror-writer`: a batch of messages becomes mirrors and ledger rows.
//!
//! The thinking is in `domain`: who owns a repository, what a fold gives, when a subject is due. This reads, hands
//! over, writes on the condition of the revision, and says which messages stay on the queue. A message fails alone: its
//! neighbours in the batch are stored and deleted.

mod batch;
mod subject;

use domain::delivery::{LedgerEntry, Outcome, QuarantineReason};
use domain::fold::AskReason;
use domain::observation::{Observation, Origin};
use domain::pipeline_run::RunIdentity;
use domain::registration::owner_for;
use futures::future::join_all;
use jiff::Timestamp;
use lambda_entry::{BatchReply, Metric, SqsEvent, Telemetry};
use ports::{Ask, Ledger, Loaded, Message, Mirrors, Wanted, WriteError};

use crate::batch::{Judged, Open, Verdict, decode_all, judge_quarantined};
use crate::subject::{Group, groups};

/// Folds batches into the mirrors.
#[derive(Debug)]
pub struct Writer<S> {
    store: S,
    telemetry: Telemetry,
}

impl<S: Mirrors + Ledger> Writer<S> {
    /// A writer over these tables.
    #[must_use]
    pub const fn new(store: S, telemetry: Telemetry) -> Self {
        Self { store, telemetry }
    }

    /// Handles one batch. The reply names every message that must stay on the queue; a message that is not named was
    /// folded, or judged, and is in the ledger.
    pub async fn handle(&self, event: &SqsEvent, now: Timestamp) -> BatchReply {
        let (messages, mut failed) = decode_all(event);
        let mut judged = Vec::new();
        let mut observations = Vec::new();
        for (message_id, message) in messages {
            match message {
                Message::Quarantine(quarantined) => {
                    judged.push(judge_quarantined(message_id, *quarantined));
                }
                Message::Observation(observation) => {
                    observations.push(Open { message_id, observation: *observation });
                }
            }
        }
        judged.extend(self.fold_all(observations, now).await);
        failed.extend(self.close(judged, now).await);
        self.telemetry.count(Metric::MessageFailed, count(failed.len()), now);
        failed.into_iter().collect()
    }

    /// Judges and folds all observations of a batch.
    async fn fold_all(&self, observations: Vec<Open>, now: Timestamp) -> Vec<Judged> {
        if observations.is_empty() {
            return Vec::new();
        }
        let wanted = subject::wanted(observations.iter().map(|open| &open.observation));
        let loaded = match self.store.load(&wanted).await {
            Ok(loaded) => loaded,
            Err(error) => return fail_all(observations, &error),
        };
        let mut judged = Vec::new();
        let mut owned = Vec::new();
        for open in observations {
            match self.place(open, &loaded, now).await {
                Placed::Owned(open, identity) => owned.push((open, identity)),
                Placed::Judged(verdict) => judged.push(verdict),
            }
        }
        let groups = groups(owned);
        // An App's deliveries name no tenant, so their subjects are known only now.
        let missing = subject::missing(&groups, &wanted);
        let loaded = match self.load_more(loaded, &missing).await {
            Ok(loaded) => loaded,
            Err(error) => {
                let open = groups.into_iter().flat_map(Group::into_messages).collect();
                judged.extend(fail_all(open, &error));
                return judged;
            }
        };
        let folded =
            groups.into_iter().map(|group| subject::fold(&self.store, group, &loaded, now));
        judged.extend(join_all(folded).await.into_iter().flatten());
        judged
    }

    /// Finds the owner of an observation's repository, or what becomes of it without one.
    async fn place(&self, open: Open, loaded: &Loaded, now: Timestamp) -> Placed {
        let observation = &open.observation;
        let registration = match loaded.repositories.get(&observation.repository).cloned() {
            None => None,
            Some(Ok(registration)) => Some(registration),
            Some(Err(error)) => return Placed::Judged(Judged::failed(open, &error)),
        };
        let owner = match owner_for(registration.as_ref(), &observation.scope) {
            Ok(owner) => owner.clone(),
            Err(outcome) => return Placed::Judged(Judged::of(open, None, outcome)),
        };
        let Some(identity) = subject::identity(owner.clone(), observation) else {
            let outcome = if observation.is_from_the_future() {
                Outcome::Quarantined(QuarantineReason::FutureVersion)
            } else {
                Outcome::NotMirrored
            };
            return Placed::Judged(Judged::of(open, Some(owner.tenant), outcome));
        };
        if !observation.is_from_the_future() {
            return Placed::Owned(open, identity);
        }
        Placed::Judged(self.ask_instead(open, identity, now).await)
    }

    /// An observation from the future is not folded. Only the system of record can tell what is true.
    async fn ask_instead(&self, open: Open, identity: RunIdentity, now: Timestamp) -> Judged {
        let tenant = Some(identity.owner.tenant.clone());
        let ask = Ask { run: identity, subject: open.observation.subject(), due_at: now };
        match self.store.put_ask(&ask).await {
            Ok(()) => {
                let outcome = Outcome::Quarantined(QuarantineReason::FutureVersion);
                Judged::of(open, tenant, outcome).asking(Some(AskReason::FutureVersion))
            }
            Err(error) => Judged::failed(open, &error),
        }
    }

    async fn load_more(
        &self,
        mut loaded: Loaded,
        missing: &Wanted,
    ) -> Result<Loaded, ports::LoadError> {
        if *missing == Wanted::default() {
            return Ok(loaded);
        }
        let more = self.store.load(missing).await?;
        loaded.runs.extend(more.runs);
        loaded.stages.extend(more.stages);
        Ok(loaded)
    }

    /// Writes the ledger, logs and counts, and gives the messages that stay on the queue.
    async fn close(&self, judged: Vec<Judged>, now: Timestamp) -> Vec<String> {
        let closed = judged.into_iter().map(|judged| self.close_one(judged, now));
        join_all(closed).await.into_iter().flatten().collect()
    }

    async fn close_one(&self, judged: Judged, now: Timestamp) -> Option<String> {
        let outcome = match &judged.verdict {
            Verdict::Failed(error) => {
                judged.log_failure(error);
                return Some(judged.message_id);
            }
            Verdict::Outcome(outcome) => outcome.clone(),
        };
        judged.log(&outcome);
        match &outcome {
            Outcome::OutOfScope => self.telemetry.count(Metric::SecurityEvents, 1, now),
            Outcome::Quarantined(_) => self.telemetry.count(Metric::Quarantined, 1, now),
            Outcome::Applied
            | Outcome::NoOp
            | Outcome::Contested
            | Outcome::Unregistered
            | Outcome::NotMirrored => (),
        }
        // Only deliveries have a row: a read is our own question.
        let delivery = judged.delivery.clone()?;
        let entry = LedgerEntry {
            delivery,
            tenant: judged.tenant.clone(),
            repository: judged.repository.clone(),
            subject: judged.subject.clone(),
            outcome,
            judged_at: now,
        };
        match self.store.record(&entry).await {
            Ok(()) => None,
            Err(WriteError::Unstorable(error)) => {
                judged.log_failure(&format!("the ledger refuses the row: {error}"));
                None
            }
            Err(error @ (WriteError::Unavailable(_) | WriteError::Conflict)) => {
                judged.log_failure(&error.to_string());
                Some(judged.message_id)
            }
        }
    }
}

/// Where an observation goes.
enum Placed {
    /// To its owner's mirror.
    Owned(Open, RunIdentity),
    /// Nowhere.
    Judged(Judged),
}

fn fail_all(observations: Vec<Open>, error: &ports::LoadError) -> Vec<Judged> {
    observations.into_iter().map(|open| Judged::failed(open, error)).collect()
}

fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

/// The delivery that an observation came with, if it came with one.
fn delivery_of(observation: &Observation) -> Option<&domain::delivery::Delivery> {
    match &observation.origin {
        Origin::Delivery(delivery) => Some(delivery),
        Origin::Read { .. } => None,
    }
}
