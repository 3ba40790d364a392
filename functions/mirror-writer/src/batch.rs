//! Messages on their way through a batch.

use std::panic::{AssertUnwindSafe, catch_unwind};

use domain::delivery::{Delivery, Outcome, Scope};
use domain::fold::AskReason;
use domain::ids::{RepositoryKey, TenantId};
use domain::observation::Observation;
use lambda_entry::{SqsEvent, SqsMessage};
use ports::{Message, QuarantinedDelivery};

use crate::delivery_of;

/// An observation that has not been judged yet.
#[derive(Debug, Clone)]
pub(crate) struct Open {
    pub(crate) message_id: String,
    pub(crate) observation: Observation,
}

/// What a message came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It was judged, and may leave the queue.
    Outcome(Outcome),
    /// It stays on the queue, for this reason.
    Failed(String),
}

/// A judged message, with what its log line and ledger row say.
#[derive(Debug, Clone)]
pub(crate) struct Judged {
    pub(crate) message_id: String,
    pub(crate) verdict: Verdict,
    pub(crate) delivery: Option<Delivery>,
    pub(crate) tenant: Option<TenantId>,
    pub(crate) repository: Option<RepositoryKey>,
    pub(crate) subject: Option<String>,
    pub(crate) ask: Option<AskReason>,
}

/// Reads every message of a batch. What can't be read is named as failed: a newer deployment may know it, and if nobody
/// does it ends in the dead-letter queue.
pub(crate) fn decode_all(event: &SqsEvent) -> (Vec<(String, Message)>, Vec<String>) {
    let mut messages = Vec::new();
    let mut failed = Vec::new();
    for record in &event.records {
        match decode(record) {
            Ok(message) => messages.push((record.message_id.clone(), message)),
            Err(error) => {
                tracing::warn!(
                    message.id = record.message_id,
                    error,
                    "left a message on the queue"
                );
                failed.push(record.message_id.clone());
            }
        }
    }
    (messages, failed)
}

/// A fault of ours in one message must not fail its neighbours.
fn decode(record: &SqsMessage) -> Result<Message, String> {
    match catch_unwind(AssertUnwindSafe(|| queues::decode(&record.body))) {
        Ok(decoded) => decoded.map_err(|error| error.to_string()),
        Err(_) => Err("reading the message panicked".to_owned()),
    }
}

/// A delivery that ingest could not read: it goes to the ledger as it is.
pub(crate) fn judge_quarantined(message_id: String, quarantined: QuarantinedDelivery) -> Judged {
    let tenant = match quarantined.scope {
        Scope::Tenant(tenant) => Some(tenant),
        Scope::Installation(_) => None,
    };
    Judged {
        message_id,
        verdict: Verdict::Outcome(Outcome::Quarantined(quarantined.reason)),
        delivery: Some(quarantined.delivery),
        tenant,
        repository: quarantined.repository,
        subject: None,
        ask: None,
    }
}

impl Judged {
    /// An observation that came to this outcome. Without an owner it counts under the tenant that its sender proved.
    pub(crate) fn of(open: Open, owner: Option<TenantId>, outcome: Outcome) -> Self {
        Self::new(open, owner, Verdict::Outcome(outcome))
    }

    /// An observation that stays on the queue.
    pub(crate) fn failed(open: Open, error: &impl std::error::Error) -> Self {
        let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
        Self::new(open, None, Verdict::Failed(format!("{error}{cause}")))
    }

    /// The same, with a reason to ask the system of record.
    pub(crate) fn asking(self, ask: Option<AskReason>) -> Self {
        Self { ask, ..self }
    }

    pub(crate) fn new(open: Open, owner: Option<TenantId>, verdict: Verdict) -> Self {
        let observation = open.observation;
        let claimed = match &observation.scope {
            Scope::Tenant(tenant) => Some(tenant.clone()),
            Scope::Installation(_) => None,
        };
        Self {
            message_id: open.message_id,
            verdict,
            delivery: delivery_of(&observation).cloned(),
            tenant: owner.or(claimed),
            repository: Some(observation.repository.clone()),
            subject: Some(observation.subject().to_string()),
            ask: None,
        }
    }

    /// One line for what became of it.
    pub(crate) fn log(&self, outcome: &Outcome) {
        let (delivery, source) = self.names();
        let tenant = self.tenant.as_ref().map(TenantId::as_str);
        let subject = self.subject();
        let ask = self.ask.map(AskReason::as_str);
        let reason = match outcome {
            Outcome::Quarantined(reason) => Some(reason.to_string()),
            Outcome::OutOfScope => {
                tracing::warn!(
                    delivery.id = delivery,
                    source,
                    tenant,
                    subject,
                    security_event = outcome.as_str(),
                    "a sender reached for another tenant's repository"
                );
                None
            }
            Outcome::Applied
            | Outcome::NoOp
            | Outcome::Contested
            | Outcome::Unregistered
            | Outcome::NotMirrored => None,
        };
        let outcome = outcome.as_str();
        tracing::info!(
            delivery.id = delivery,
            source,
            tenant,
            subject,
            outcome,
            reason,
            ask_again = ask,
            "judged an observation"
        );
    }

    /// One line for why it stays on the queue, or has no row.
    pub(crate) fn log_failure(&self, error: &str) {
        let (delivery, source) = self.names();
        tracing::warn!(
            delivery.id = delivery,
            source,
            tenant = self.tenant.as_ref().map(TenantId::as_str),
            subject = self.subject(),
            message.id = self.message_id,
            error,
            "left an observation on the queue"
        );
    }

    fn names(&self) -> (Option<&str>, Option<&str>) {
        let delivery = self.delivery.as_ref();
        (delivery.map(|d| d.id.as_str()), delivery.map(|d| d.source.as_str()))
    }

    fn subject(&self) -> Option<String> {
        let repository = self.repository.as_ref()?;
        match &self.subject {
            Some(subject) => Some(format!("{repository} {subject}")),
            None => Some(repository.to_string()),
        }
    }
}
