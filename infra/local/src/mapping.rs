//! Event source mappings: pollers that bring a queue's messages to a function.
//!
//! They use the queue engine directly, as AWS's pollers are no clients of the account either, but only
//! when the function's role allows what AWS would do in its name.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use rustack_sqs_model::types::Message;
use tokio::{sync::Notify, task::JoinSet};

use crate::{
    aws::Calls,
    batch::{self, Failed},
    error::StackError,
    http::Stop,
    lambda::pool::{Invoked, LogTail, NotInvoked, Pool},
    sqs::Sqs,
    stack_file::{BatchReply, Function, Queue},
};

/// How pollers appear among the counted calls.
pub(crate) const CALLER: &str = "event-source-mapping";

/// What AWS does in the name of the function's role.
const NEEDED: [&str; 3] = ["sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage"];

/// One poller of a mapping.
#[derive(Debug, Clone)]
pub(crate) struct Poller {
    pub(crate) queue: Arc<Queue>,
    pub(crate) batch_size: i32,
    pub(crate) reply: BatchReply,
    pub(crate) pool: Arc<Pool>,
    pub(crate) sqs: Arc<Sqs>,
    pub(crate) calls: Arc<Calls>,
    /// Told after every batch.
    pub(crate) progress: Arc<Notify>,
    /// When failed messages become visible again. AWS waits for the rest of the visibility timeout,
    /// which is chosen to outlast a slow function, and which nobody wants to sit through on a laptop.
    pub(crate) retry_after: Duration,
}

/// Refuses a mapping that AWS would refuse to create.
pub(crate) fn check_role(function: &Function, queue: &Queue) -> Result<(), StackError> {
    match NEEDED.iter().find(|action| !function.policy.allows(action, &queue.arn)) {
        Some(action) => Err(StackError::Refused {
            resource: format!("event source mapping of {} to {}", queue.name, function.name),
            reason: format!("the function's role does not allow {action} on {}", queue.arn),
        }),
        None => Ok(()),
    }
}

impl Poller {
    /// Polls until told to stop; a batch in hand is finished first.
    pub(crate) async fn run(self, mut stop: Stop) {
        let mut retries = JoinSet::new();
        while !stop.is_requested() {
            let messages = tokio::select! {
                biased;
                messages = self.sqs.receive(&self.queue.name, self.batch_size) => messages,
                () = stop.requested() => break,
            };
            while retries.try_join_next().is_some() {}
            if messages.is_empty() {
                continue;
            }
            self.calls.count(CALLER, "sqs", "ReceiveMessage");
            let failed = self.process(messages).await;
            if !failed.is_empty() {
                retries.spawn(self.clone().retry(failed, stop.clone()));
            }
            self.progress.notify_waiters();
        }
        while retries.join_next().await.is_some() {}
    }

    /// Has the function process a batch, and deletes what succeeded; returns the receipts of the rest.
    async fn process(&self, messages: Vec<Message>) -> Vec<String> {
        let event = batch::event(&messages, &self.queue.arn);
        let failed = match self.pool.invoke(event.into(), LogTail::Unwanted).await {
            Ok(invoked) => self.interpret(&invoked, &messages),
            Err(NotInvoked::Busy | NotInvoked::Stopping) => Failed::All,
        };
        let has_failed = |message: &Message| match &failed {
            Failed::None => false,
            Failed::These(ids) => message.message_id.as_ref().is_some_and(|id| ids.contains(id)),
            Failed::All => true,
        };
        let (failed, succeeded): (Vec<_>, Vec<_>) = messages.into_iter().partition(has_failed);
        if !succeeded.is_empty() {
            self.calls.count(CALLER, "sqs", "DeleteMessageBatch");
            self.sqs.delete(&self.queue.name, receipts(succeeded)).await;
        }
        receipts(failed)
    }

    fn interpret(&self, invoked: &Invoked, messages: &[Message]) -> Failed {
        let ids: BTreeSet<_> =
            messages.iter().filter_map(|message| message.message_id.as_deref()).collect();
        let ids: Vec<_> = ids.into_iter().collect();
        if let Err(error) = &invoked.reply {
            let error = String::from_utf8_lossy(error);
            tracing::warn!(queue = self.queue.short, %error, "a batch of {} failed: {error}", self.queue.short);
        }
        batch::failed(&invoked.reply, &ids, self.reply)
    }

    async fn retry(self, receipts: Vec<String>, mut stop: Stop) {
        tokio::select! {
            () = tokio::time::sleep(self.retry_after) => {}
            () = stop.requested() => {}
        }
        self.sqs.give_back(&self.queue.name, receipts).await;
        self.progress.notify_waiters();
    }
}

fn receipts(messages: Vec<Message>) -> Vec<String> {
    messages.into_iter().filter_map(|message| message.receipt_handle).collect()
}
