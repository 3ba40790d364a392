//! SQS: an embedded engine behind the guard, and the direct way in for event source mappings.
//!
//! The engine keeps messages in memory only, so what is still queued at a graceful stop is taken out
//! and stored beside the database.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::StatusCode;
use rustack_sqs_core::{config::SqsConfig, handler::RustackSqsHandler, provider::RustackSqs};
use rustack_sqs_http::{dispatch::SqsHandler, response::error_to_json};
use rustack_sqs_model::{
    error::SqsError,
    input::{
        ChangeMessageVisibilityInput, CreateQueueInput, DeleteMessageInput,
        GetQueueAttributesInput, ReceiveMessageInput, SendMessageInput,
    },
    operations::SqsOperation,
    types::{Message, MessageAttributeValue},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    ACCOUNT_ID, REGION, aws,
    error::StackError,
    http::{self, Answer},
    stack_file::Queue,
};

/// The engine's limit. AWS takes 1 MiB.
const MESSAGE_BYTES_MAX: u64 = 262_144;

/// Receipts of the operator's messages that are remembered, to take these messages back at the stop.
const RECEIPTS_MAX: usize = 10_000;

/// How many messages a queue holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QueueDepth {
    /// Ready to be received, or delayed.
    pub visible: u64,
    /// Received and not deleted.
    pub in_flight: u64,
}

/// A message that outlives a stop.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StoredMessage {
    queue: String,
    body: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    attributes: BTreeMap<String, MessageAttributeValue>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    group: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    deduplication: Option<String>,
}

/// The embedded engine.
#[derive(Debug)]
pub(crate) struct Sqs {
    provider: Arc<RustackSqs>,
    handler: RustackSqsHandler,
    /// Local URL per deployed name.
    urls: BTreeMap<String, String>,
    receipts: Mutex<Vec<(String, String)>>,
}

impl Sqs {
    /// Creates the engine and its queues; `port` is the endpoint's, for the queues' URLs.
    pub(crate) async fn open(port: u16, queues: &[Queue]) -> Result<Self, StackError> {
        let provider = Arc::new(RustackSqs::new(SqsConfig {
            host: "127.0.0.1".to_owned(),
            port,
            default_region: REGION.to_owned(),
            account_id: ACCOUNT_ID.to_owned(),
            ..SqsConfig::default()
        }));
        let mut urls = BTreeMap::new();
        for queue in queues {
            let mut attributes = queue.attributes.clone();
            // Asking for more than the engine can do would be refused; what is larger will be, one by one.
            if let Some(size) = attributes.get_mut("MaximumMessageSize") {
                let capped = size.parse().unwrap_or(MESSAGE_BYTES_MAX).min(MESSAGE_BYTES_MAX);
                *size = capped.to_string();
            }
            let created = provider.create_queue(CreateQueueInput {
                queue_name: queue.name.clone(),
                attributes: attributes.into_iter().collect(),
                ..CreateQueueInput::default()
            });
            let created = created.await.map_err(|error| StackError::Refused {
                resource: format!("queue {}", queue.name),
                reason: error.message,
            })?;
            urls.insert(queue.name.clone(), created.queue_url.unwrap_or_default());
        }
        let handler = RustackSqsHandler::new(Arc::clone(&provider));
        Ok(Self { provider, handler, urls, receipts: Mutex::default() })
    }

    /// Local URL of a queue by deployed name.
    pub(crate) fn url(&self, name: &str) -> String {
        self.urls.get(name).cloned().unwrap_or_default()
    }

    /// Answers one request.
    pub(crate) async fn answer(&self, operation: &str, body: Bytes) -> Answer {
        let Some(known) = SqsOperation::from_name(operation) else {
            return aws::error(
                StatusCode::BAD_REQUEST,
                "UnsupportedOperation",
                "unknown operation",
            );
        };
        let receiving = (operation == "ReceiveMessage").then(|| body.clone());
        let response = match self.handler.handle_operation(known, body).await {
            Ok(response) => response,
            Err(error) => return refusal(&error),
        };
        let (parts, body) = response.into_parts();
        let body =
            body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
        if let Some(request) = receiving {
            self.remember(&request, &body);
        }
        http::answer(parts.status, "application/x-amz-json-1.0", body)
    }

    /// Receives up to `count` messages; waits up to 20 s for the first.
    pub(crate) async fn receive(&self, queue: &str, count: i32) -> Vec<Message> {
        self.take(queue, count, 20).await
    }

    /// Deletes received messages.
    pub(crate) async fn delete(&self, queue: &str, receipts: Vec<String>) {
        let queue_url = self.url(queue);
        for receipt_handle in receipts {
            let input = DeleteMessageInput { queue_url: queue_url.clone(), receipt_handle };
            if let Err(error) = self.provider.delete_message(input).await {
                tracing::warn!(queue, error = %error.message, "message was not deleted from {queue}");
            }
        }
    }

    /// Makes received messages visible at once.
    pub(crate) async fn give_back(&self, queue: &str, receipts: Vec<String>) {
        self.release(&self.url(queue), receipts).await;
    }

    /// How many messages a queue holds, by deployed name.
    pub(crate) async fn depth(&self, queue: &str) -> QueueDepth {
        let input = GetQueueAttributesInput {
            queue_url: self.url(queue),
            attribute_names: vec!["All".to_owned()],
        };
        let attributes = match self.provider.get_queue_attributes(input).await {
            Ok(output) => output.attributes,
            Err(_) => return QueueDepth::default(),
        };
        let count = |name: &str| {
            attributes.get(name).and_then(|count| count.parse::<u64>().ok()).unwrap_or(0)
        };
        QueueDepth {
            visible: count("ApproximateNumberOfMessages")
                + count("ApproximateNumberOfMessagesDelayed"),
            in_flight: count("ApproximateNumberOfMessagesNotVisible"),
        }
    }

    /// Takes everything out of all queues, so that it can be stored.
    pub(crate) async fn take_all(&self) -> Vec<StoredMessage> {
        let receipts =
            std::mem::take(&mut *self.receipts.lock().unwrap_or_else(PoisonError::into_inner));
        for (url, receipt) in receipts {
            self.release(&url, vec![receipt]).await;
        }
        let mut stored = Vec::new();
        // A message that has used up its receives moves to its dead-letter queue when it is asked for,
        // so a second round finds what moved to a queue that was already emptied.
        for queue in self.urls.keys().chain(self.urls.keys()) {
            loop {
                let messages = self.take(queue, 10, 0).await;
                if messages.is_empty() {
                    break;
                }
                stored
                    .extend(messages.into_iter().map(|message| StoredMessage::new(queue, message)));
            }
        }
        stored
    }

    /// Puts stored messages back into their queues; returns how many were not taken.
    pub(crate) async fn restore(&self, stored: Vec<StoredMessage>) -> usize {
        let mut refused = 0;
        for message in stored {
            let sent = self.provider.send_message(SendMessageInput {
                queue_url: self.url(&message.queue),
                message_body: message.body,
                message_attributes: message.attributes.into_iter().collect(),
                message_group_id: message.group,
                message_deduplication_id: message.deduplication,
                ..SendMessageInput::default()
            });
            if sent.await.is_err() {
                refused += 1;
            }
        }
        refused
    }

    async fn take(&self, queue: &str, count: i32, wait_seconds: i32) -> Vec<Message> {
        let input = ReceiveMessageInput {
            queue_url: self.url(queue),
            max_number_of_messages: Some(count),
            wait_time_seconds: Some(wait_seconds),
            message_system_attribute_names: vec!["All".to_owned()],
            message_attribute_names: vec!["All".to_owned()],
            ..ReceiveMessageInput::default()
        };
        match self.provider.receive_message(input).await {
            Ok(output) => output.messages,
            Err(error) => {
                tracing::warn!(queue, error = %error.message, "nothing was received from {queue}");
                Vec::new()
            }
        }
    }

    async fn release(&self, queue_url: &str, receipts: Vec<String>) {
        for receipt_handle in receipts {
            let input = ChangeMessageVisibilityInput {
                queue_url: queue_url.to_owned(),
                receipt_handle,
                visibility_timeout: 0,
            };
            // An error says that the message is deleted or visible already.
            let _ = self.provider.change_message_visibility(input).await;
        }
    }

    fn remember(&self, request: &[u8], answer: &[u8]) {
        let url =
            serde_json::from_slice::<ReceiveMessageInput>(request).map(|input| input.queue_url);
        let answer = serde_json::from_slice::<Value>(answer).unwrap_or_default();
        let messages = answer.get("Messages").and_then(Value::as_array);
        let mut known = self.receipts.lock().unwrap_or_else(PoisonError::into_inner);
        for message in messages.into_iter().flatten() {
            let receipt = message.get("ReceiptHandle").and_then(Value::as_str);
            if let (Ok(url), Some(receipt), true) = (&url, receipt, known.len() < RECEIPTS_MAX) {
                known.push((url.clone(), receipt.to_owned()));
            }
        }
    }
}

impl StoredMessage {
    fn new(queue: &str, message: Message) -> Self {
        Self {
            queue: queue.to_owned(),
            body: message.body.unwrap_or_default(),
            attributes: message.message_attributes.into_iter().collect(),
            group: message.attributes.get("MessageGroupId").cloned(),
            deduplication: message.attributes.get("MessageDeduplicationId").cloned(),
        }
    }
}

fn refusal(error: &SqsError) -> Answer {
    let status = error.code.status_code();
    let mut answer = http::answer(status, "application/x-amz-json-1.0", error_to_json(error));
    if let Ok(value) = error.code.query_error_header().parse() {
        answer.headers_mut().insert("x-amzn-query-error", value);
    }
    answer
}
