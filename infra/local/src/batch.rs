//! Batches of queue messages: the event that a function gets, and what its reply means.

use std::collections::{BTreeMap, BTreeSet};

use base64::{Engine, engine::general_purpose::STANDARD};
use rustack_sqs_model::types::{Message, MessageAttributeValue};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{REGION, lambda::runtime_api::Reply, stack_file::BatchReply};

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Event<'a> {
    records: Vec<Record<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Record<'a> {
    message_id: &'a str,
    receipt_handle: &'a str,
    body: &'a str,
    attributes: BTreeMap<&'a str, &'a str>,
    message_attributes: BTreeMap<&'a str, Attribute<'a>>,
    md5_of_body: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    md5_of_message_attributes: Option<&'a str>,
    event_source: &'static str,
    #[serde(rename = "eventSourceARN")]
    event_source_arn: &'a str,
    aws_region: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Attribute<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    string_value: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    binary_value: Option<String>,
    string_list_values: [&'a str; 0],
    binary_list_values: [&'a str; 0],
    data_type: &'a str,
}

/// The event for a batch, as JSON.
pub(crate) fn event(messages: &[Message], queue_arn: &str) -> Vec<u8> {
    let records = messages.iter().map(|message| record(message, queue_arn)).collect();
    // Strings with string keys always serialize.
    serde_json::to_vec(&Event { records }).unwrap_or_default()
}

fn record<'a>(message: &'a Message, queue_arn: &'a str) -> Record<'a> {
    let attributes = message.attributes.iter();
    let message_attributes = message.message_attributes.iter();
    Record {
        message_id: message.message_id.as_deref().unwrap_or_default(),
        receipt_handle: message.receipt_handle.as_deref().unwrap_or_default(),
        body: message.body.as_deref().unwrap_or_default(),
        attributes: attributes.map(|(name, value)| (name.as_str(), value.as_str())).collect(),
        message_attributes: message_attributes
            .map(|(name, value)| (name.as_str(), attribute(value)))
            .collect(),
        md5_of_body: message.md5_of_body.as_deref().unwrap_or_default(),
        md5_of_message_attributes: message.md5_of_message_attributes.as_deref(),
        event_source: "aws:sqs",
        event_source_arn: queue_arn,
        aws_region: REGION,
    }
}

fn attribute(value: &MessageAttributeValue) -> Attribute<'_> {
    Attribute {
        string_value: value.string_value.as_deref(),
        binary_value: value.binary_value.as_ref().map(|bytes| STANDARD.encode(bytes)),
        string_list_values: [],
        binary_list_values: [],
        data_type: &value.data_type,
    }
}

/// Which messages of a batch did not succeed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Failed {
    /// None.
    None,
    /// These, by message id.
    These(BTreeSet<String>),
    /// The whole batch.
    All,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    #[serde(default)]
    batch_item_failures: Option<Vec<Failure>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Failure {
    item_identifier: String,
}

/// What a reply means for the messages with these ids.
///
/// As on AWS: nothing reported is success, and a report that cannot be understood fails the whole
/// batch, so that no message is lost by a typing mistake.
pub(crate) fn failed(reply: &Reply, ids: &[&str], rule: BatchReply) -> Failed {
    let Ok(body) = reply else { return Failed::All };
    if rule == BatchReply::AllOrNothing || body.is_empty() {
        return Failed::None;
    }
    let report = match serde_json::from_slice::<Value>(body) {
        Ok(Value::Null) => return Failed::None,
        Ok(value @ Value::Object(_)) => serde_json::from_value::<Report>(value),
        _ => return Failed::All,
    };
    let Ok(report) = report else { return Failed::All };
    let failures = report.batch_item_failures.unwrap_or_default();
    let named: BTreeSet<_> = failures.into_iter().map(|failure| failure.item_identifier).collect();
    if named.is_empty() {
        return Failed::None;
    }
    if named.iter().any(|id| !ids.contains(&id.as_str())) {
        return Failed::All;
    }
    Failed::These(named)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use serde_json::json;

    use super::*;

    fn check(reply: &str, expected: Failed) {
        let reply = Ok(Bytes::copy_from_slice(reply.as_bytes()));
        assert_eq!(failed(&reply, &["a", "b"], BatchReply::ReportsFailures), expected, "{reply:?}");
    }

    fn these(ids: &[&str]) -> Failed {
        Failed::These(ids.iter().map(|id| (*id).to_owned()).collect())
    }

    #[test]
    fn nothing_reported_is_success() {
        for reply in
            ["", "null", "{}", r#"{"batchItemFailures":[]}"#, r#"{"batchItemFailures":null}"#]
        {
            check(reply, Failed::None);
        }
    }

    #[test]
    fn the_listed_messages_fail() {
        check(r#"{"batchItemFailures":[{"itemIdentifier":"b"}]}"#, these(&["b"]));
        check(
            r#"{"batchItemFailures":[{"itemIdentifier":"b"},{"itemIdentifier":"a"},{"itemIdentifier":"b"}]}"#,
            these(&["a", "b"]),
        );
    }

    #[test]
    fn a_report_that_cannot_be_understood_fails_the_batch() {
        for reply in [
            "not json",
            "[]",
            "7",
            r#""ok""#,
            r#"{"batchItemFailures":{}}"#,
            r#"{"batchItemFailures":["a"]}"#,
            r#"{"batchItemFailures":[{}]}"#,
            r#"{"batchItemFailures":[{"itemIdentifier":null}]}"#,
            r#"{"batchItemFailures":[{"itemIdentifier":""}]}"#,
            r#"{"batchItemFailures":[{"itemIdentifier":"a"},{"itemIdentifier":"c"}]}"#,
        ] {
            check(reply, Failed::All);
        }
    }

    #[test]
    fn a_function_error_fails_the_batch_and_without_reports_every_reply_is_success() {
        let error = Err(Bytes::from_static(b"{}"));
        assert_eq!(failed(&error, &["a"], BatchReply::AllOrNothing), Failed::All);
        let odd = Ok(Bytes::from_static(b"[]"));
        assert_eq!(failed(&odd, &["a"], BatchReply::AllOrNothing), Failed::None);
    }

    #[test]
    fn the_event_is_what_lambda_sends() {
        let message = Message {
            message_id: Some("id".to_owned()),
            receipt_handle: Some("handle".to_owned()),
            body: Some("text".to_owned()),
            md5_of_body: Some("md5".to_owned()),
            attributes: [("ApproximateReceiveCount".to_owned(), "1".to_owned())]
                .into_iter()
                .collect(),
            message_attributes: [(
                "kind".to_owned(),
                MessageAttributeValue {
                    data_type: "String".to_owned(),
                    string_value: Some("x".to_owned()),
                    binary_value: None,
                },
            )]
            .into_iter()
            .collect(),
            ..Message::default()
        };
        let event: Value = serde_json::from_slice(&event(&[message], "arn:q")).unwrap();
        assert_eq!(
            event,
            json!({ "Records": [ {
                "messageId": "id", "receiptHandle": "handle", "body": "text",
                "attributes": { "ApproximateReceiveCount": "1" },
                "messageAttributes": { "kind": {
                    "stringValue": "x", "stringListValues": [], "binaryListValues": [], "dataType": "String" } },
                "md5OfBody": "md5", "eventSource": "aws:sqs", "eventSourceARN": "arn:q", "awsRegion": "us-east-1",
            } ] })
        );
    }
}
