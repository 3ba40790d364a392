//! Faults on demand: what a test wants an AWS service to do instead of answering.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use hyper::StatusCode;
use tokio::{
    sync::{Semaphore, watch},
    time::timeout,
};

use crate::{
    aws::{self, Call},
    guard::Caller,
    http::{Answer, Dropped},
};

/// Which requests a fault applies to. An absent part matches everything.
#[derive(Debug, Clone, Default)]
pub struct Matching {
    /// Who calls.
    pub caller: Option<Caller>,
    /// `dynamodb`, `sqs`, `secretsmanager` or `lambda`.
    pub service: Option<String>,
    /// Such as `PutItem`.
    pub operation: Option<String>,
    /// Text that the request's body contains.
    pub body_contains: Option<String>,
}

/// What happens to a matching request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// The service refuses with this status and AWS error type; nothing is done.
    Answer {
        /// HTTP status.
        status: u16,
        /// Such as `ProvisionedThroughputExceededException`.
        error_type: String,
    },
    /// The service neither does anything nor answers.
    Hang,
    /// The connection is closed before anything is done.
    DropConnection,
    /// The request is done, and the connection is closed instead of answering.
    LoseAnswer,
    /// The request waits until the fault is released, and is done then.
    Pause,
}

/// All faults of a stack.
#[derive(Debug, Default)]
pub struct Faults {
    rules: Mutex<Vec<Arc<Rule>>>,
}

/// One fault that was added.
#[derive(Debug, Clone)]
pub struct Fault {
    rule: Arc<Rule>,
}

#[derive(Debug)]
struct Rule {
    matching: Matching,
    effect: Effect,
    /// How many requests may still match.
    remaining: AtomicU64,
    arrived: watch::Sender<u64>,
    /// Closed when all that is paused may go on.
    gate: Semaphore,
}

/// What the endpoint does with a request after the faults had their say.
pub(crate) enum Verdict {
    /// Do it and answer.
    Proceed,
    /// Do it, and close the connection.
    ProceedThenDrop,
    /// Answer this and do nothing.
    Refuse(Answer),
}

impl Matching {
    /// Requests of one operation, whoever sends them.
    #[must_use]
    pub fn operation(service: &str, operation: &str) -> Self {
        Self {
            service: Some(service.to_owned()),
            operation: Some(operation.to_owned()),
            ..Self::default()
        }
    }

    /// The same, of one function only.
    #[must_use]
    pub fn by_function(self, short: &str) -> Self {
        Self { caller: Some(Caller::Function(short.to_owned())), ..self }
    }

    /// The same, with this text in the body only.
    #[must_use]
    pub fn containing(self, text: &str) -> Self {
        Self { body_contains: Some(text.to_owned()), ..self }
    }

    fn matches(&self, call: &Call) -> bool {
        self.caller.as_ref().is_none_or(|caller| *caller == call.caller)
            && self.service.as_ref().is_none_or(|service| service == call.service)
            && self.operation.as_ref().is_none_or(|operation| *operation == call.operation)
            && self.body_contains.as_ref().is_none_or(|text| contains(&call.body, text.as_bytes()))
    }
}

impl Faults {
    /// Adds a fault for every matching request until it is removed.
    pub fn add(&self, matching: Matching, effect: Effect) -> Fault {
        self.add_times(matching, effect, u64::MAX)
    }

    /// Adds a fault for the next `times` matching requests.
    pub fn add_times(&self, matching: Matching, effect: Effect, times: u64) -> Fault {
        let rule = Arc::new(Rule {
            matching,
            effect,
            remaining: AtomicU64::new(times),
            arrived: watch::Sender::new(0),
            gate: Semaphore::new(0),
        });
        self.lock().push(Arc::clone(&rule));
        Fault { rule }
    }

    /// Removes all faults and lets everything paused go on.
    pub fn clear(&self) {
        for rule in self.lock().drain(..) {
            rule.gate.close();
        }
    }

    /// The first rule that matches decides.
    pub(crate) async fn apply(&self, call: &Call) -> Result<Verdict, Dropped> {
        let Some(rule) = self.take(call) else { return Ok(Verdict::Proceed) };
        rule.arrived.send_modify(|count| *count += 1);
        match &rule.effect {
            Effect::Answer { status, error_type } => {
                let status = StatusCode::from_u16(*status).unwrap_or(StatusCode::BAD_REQUEST);
                Ok(Verdict::Refuse(aws::error(status, error_type, "a fault was injected")))
            }
            Effect::Hang => std::future::pending().await,
            Effect::DropConnection => Err(Dropped),
            Effect::LoseAnswer => Ok(Verdict::ProceedThenDrop),
            Effect::Pause => {
                if let Ok(permit) = rule.gate.acquire().await {
                    permit.forget();
                }
                Ok(Verdict::Proceed)
            }
        }
    }

    fn take(&self, call: &Call) -> Option<Arc<Rule>> {
        let rules = self.lock();
        rules.iter().find(|rule| rule.matching.matches(call) && rule.use_up()).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Rule>>> {
        self.rules.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Rule {
    fn use_up(&self) -> bool {
        self.remaining
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1))
            .is_ok()
    }
}

impl Fault {
    /// How many requests it has applied to.
    #[must_use]
    pub fn count(&self) -> u64 {
        *self.rule.arrived.borrow()
    }

    /// Waits until it has applied to `count` requests; false when that took longer than `within`.
    pub async fn arrived(&self, count: u64, within: Duration) -> bool {
        let mut arrived = self.rule.arrived.subscribe();
        timeout(within, arrived.wait_for(|seen| count <= *seen)).await.is_ok()
    }

    /// Lets one paused request go on, or the next one pass.
    pub fn release_one(&self) {
        self.rule.gate.add_permits(1);
    }

    /// Lets everything paused go on, now and later.
    pub fn release(&self) {
        self.rule.gate.close();
    }

    /// Ends it; what is paused goes on, what hangs keeps hanging.
    pub fn remove(&self) {
        self.rule.remaining.store(0, Ordering::Relaxed);
        self.rule.gate.close();
    }
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    needle.is_empty() || haystack.windows(needle.len()).any(|window| window == needle)
}
