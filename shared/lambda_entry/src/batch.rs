//! The batch that SQS hands to a function, and the answer that says which messages stay on the queue.

use serde::{Deserialize, Serialize};

/// An SQS batch, as Lambda passes it on.
#[derive(Debug, Clone, Deserialize)]
pub struct SqsEvent {
    /// The messages.
    #[serde(rename = "Records")]
    pub records: Vec<SqsMessage>,
}

/// One message of a batch.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SqsMessage {
    /// What names the message in the answer.
    pub message_id: String,
    /// Its text.
    pub body: String,
}

impl std::fmt::Debug for SqsMessage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqsMessage").field("message_id", &self.message_id).finish_non_exhaustive()
    }
}

/// Which messages failed. A message that is not named is deleted from the queue, so a failed one must never be left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BatchReply {
    /// The failed ones.
    pub batch_item_failures: Vec<BatchFailure>,
}

/// One failed message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BatchFailure {
    /// Its `messageId`.
    pub item_identifier: String,
}

impl FromIterator<String> for BatchReply {
    fn from_iter<I: IntoIterator<Item = String>>(message_ids: I) -> Self {
        let failure = |item_identifier| BatchFailure { item_identifier };
        Self { batch_item_failures: message_ids.into_iter().map(failure).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_has_the_form_that_lambda_reads() {
        let reply: BatchReply = ["a".to_owned(), "b".to_owned()].into_iter().collect();
        assert_eq!(
            serde_json::to_string(&reply).unwrap(),
            r#"{"batchItemFailures":[{"itemIdentifier":"a"},{"itemIdentifier":"b"}]}"#
        );
        assert_eq!(
            serde_json::to_string(&BatchReply::default()).unwrap(),
            r#"{"batchItemFailures":[]}"#
        );
    }

    #[test]
    fn a_message_never_prints_its_body() {
        let event = r#"{"Records":[{"messageId":"m","body":"canary","attributes":{}}]}"#;
        let event: SqsEvent = serde_json::from_str(event).unwrap();
        assert!(!format!("{event:?}").contains("canary"));
    }
}
