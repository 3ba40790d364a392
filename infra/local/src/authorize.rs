//! Holds each function to the policy of its own role, as the description states it.

use std::{collections::BTreeMap, sync::Arc};

use hyper::StatusCode;
use serde::{Deserialize, de::IgnoredAny};

use crate::{
    ACCOUNT_ID, REGION,
    aws::{self, Call},
    guard::Caller,
    http::Answer,
    lambda::invoke::LambdaApi,
    stack_file::Infrastructure,
};

/// Decides what functions may do. The operator may do everything.
#[derive(Debug)]
pub(crate) struct Authorizer {
    infrastructure: Arc<Infrastructure>,
}

/// One permission that a request needs.
#[derive(Debug, PartialEq, Eq)]
struct Need {
    action: String,
    resource: String,
}

/// Where the services' requests name their resources.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Named {
    table_name: Option<String>,
    index_name: Option<String>,
    request_items: Option<BTreeMap<String, IgnoredAny>>,
    transact_items: Option<Vec<BTreeMap<String, TransactItem>>>,
    queue_url: Option<String>,
    queue_name: Option<String>,
    secret_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct TransactItem {
    table_name: String,
}

impl Authorizer {
    /// An authorizer for the functions of this description.
    pub(crate) fn new(infrastructure: Arc<Infrastructure>) -> Self {
        Self { infrastructure }
    }

    /// Refuses what the caller's role does not allow.
    pub(crate) fn check(&self, call: &Call, path: &str) -> Result<(), Box<Answer>> {
        let Caller::Function(short) = &call.caller else { return Ok(()) };
        let Some(function) = self.infrastructure.function(short) else { return Ok(()) };
        let Some(needs) = self.needs(call, path) else {
            return Err(denied(
                call.service,
                &function.arn,
                &call.operation,
                "an unnamed resource",
            ));
        };
        match needs.iter().find(|need| !function.policy.allows(&need.action, &need.resource)) {
            Some(need) => Err(denied(call.service, &function.arn, &need.action, &need.resource)),
            None => Ok(()),
        }
    }

    /// What a request needs; `None` when it does not name what it is about.
    fn needs(&self, call: &Call, path: &str) -> Option<Vec<Need>> {
        if call.service == "lambda" {
            let function = self.infrastructure.function(&LambdaApi::function_name(path)?)?;
            return Some(vec![need("lambda:InvokeFunction", &function.arn)]);
        }
        let named: Named = serde_json::from_slice(&call.body).ok()?;
        match call.service {
            "dynamodb" => self.dynamodb_needs(&call.operation, named),
            "sqs" => {
                let url = named.queue_url.or(named.queue_name)?;
                let name = url.rsplit('/').next()?;
                // IAM has no actions of their own for batches.
                let action = call.operation.trim_end_matches("Batch");
                Some(vec![need(&format!("sqs:{action}"), &self.queue_arn(name))])
            }
            _ => {
                let id = named.secret_id?;
                let secrets = &self.infrastructure.secrets;
                let secret = secrets.iter().find(|secret| secret.arn == id || secret.name == id);
                let arn = secret.map_or(id.as_str(), |secret| secret.arn.as_str());
                Some(vec![need(&format!("secretsmanager:{}", call.operation), arn)])
            }
        }
    }

    fn dynamodb_needs(&self, operation: &str, named: Named) -> Option<Vec<Need>> {
        let action = format!("dynamodb:{operation}");
        if let Some(tables) = named.request_items {
            return Some(
                tables.keys().map(|table| need(&action, &self.table_arn(table))).collect(),
            );
        }
        if let Some(items) = named.transact_items {
            let entries = items.into_iter().flatten();
            return Some(
                entries
                    .map(|(kind, item)| {
                        // A transaction needs the permission of each action that it consists of.
                        let action = if kind == "ConditionCheck" {
                            "ConditionCheckItem".to_owned()
                        } else {
                            format!("{kind}Item")
                        };
                        need(&format!("dynamodb:{action}"), &self.table_arn(&item.table_name))
                    })
                    .collect(),
            );
        }
        let table = self.table_arn(&named.table_name?);
        let resource = match named.index_name {
            Some(index) => format!("{table}/index/{index}"),
            None => table,
        };
        Some(vec![need(&action, &resource)])
    }

    fn table_arn(&self, name: &str) -> String {
        let tables = &self.infrastructure.tables;
        match tables.iter().find(|table| table.name == name || table.arn == name) {
            Some(table) => table.arn.clone(),
            None => format!("arn:aws:dynamodb:{REGION}:{ACCOUNT_ID}:table/{name}"),
        }
    }

    fn queue_arn(&self, name: &str) -> String {
        match self.infrastructure.queue(name) {
            Some(queue) => queue.arn.clone(),
            None => format!("arn:aws:sqs:{REGION}:{ACCOUNT_ID}:{name}"),
        }
    }
}

fn need(action: &str, resource: &str) -> Need {
    Need { action: action.to_owned(), resource: resource.to_owned() }
}

fn denied(service: &str, function: &str, action: &str, resource: &str) -> Box<Answer> {
    let status = match service {
        "dynamodb" | "secretsmanager" => StatusCode::BAD_REQUEST,
        _ => StatusCode::FORBIDDEN,
    };
    let message = format!(
        "the role of {function} is not authorized to perform {action} on {resource}: no statement of its policy allows it"
    );
    Box::new(aws::error(status, "AccessDeniedException", &message))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::stack_file::{Key, Queue, Secret, SecretContent, Table};

    fn infrastructure() -> Infrastructure {
        Infrastructure {
            tables: vec![Table {
                short: "Runs".to_owned(),
                name: "p-local-Runs".to_owned(),
                arn: "arn:table/Runs".to_owned(),
                key: Key { hash: "pk".to_owned(), range: None },
                attributes: BTreeMap::new(),
                indexes: Vec::new(),
                expiry_attribute: None,
                stream: None,
            }],
            queues: vec![Queue {
                short: "work".to_owned(),
                name: "p-local-work".to_owned(),
                arn: "arn:queue:work".to_owned(),
                url: "https://sqs/0/p-local-work".to_owned(),
                attributes: BTreeMap::new(),
            }],
            secrets: vec![Secret {
                name: "p/secret".to_owned(),
                arn: "arn:secret:s".to_owned(),
                holds: SecretContent::WebhookSecret,
            }],
            ..Infrastructure::default()
        }
    }

    /// `service operation body` → the permissions, as `action resource, …`, or `unnamed`.
    fn check(service: &'static str, operation: &str, body: &str, expected: &str) {
        let authorizer = Authorizer::new(Arc::new(infrastructure()));
        let body = Bytes::copy_from_slice(body.as_bytes());
        let call =
            Call { caller: Caller::Operator, service, operation: operation.to_owned(), body };
        let needs = authorizer.needs(&call, "/").map(|needs| {
            let needs: Vec<_> =
                needs.iter().map(|n| format!("{} {}", n.action, n.resource)).collect();
            needs.join(", ")
        });
        assert_eq!(needs.as_deref().unwrap_or("unnamed"), expected, "{operation}");
    }

    #[test]
    fn one_table_is_one_permission() {
        let body = r#"{ "TableName": "p-local-Runs", "Item": {} }"#;
        check("dynamodb", "PutItem", body, "dynamodb:PutItem arn:table/Runs");
    }

    #[test]
    fn a_query_of_an_index_needs_the_index() {
        let body = r#"{ "TableName": "p-local-Runs", "IndexName": "due" }"#;
        check("dynamodb", "Query", body, "dynamodb:Query arn:table/Runs/index/due");
    }

    #[test]
    fn a_batch_needs_every_table() {
        let body = r#"{ "RequestItems": { "other": {}, "p-local-Runs": {} } }"#;
        let other = "dynamodb:BatchGetItem arn:aws:dynamodb:us-east-1:000000000000:table/other";
        check(
            "dynamodb",
            "BatchGetItem",
            body,
            &format!("{other}, dynamodb:BatchGetItem arn:table/Runs"),
        );
    }

    #[test]
    fn a_transaction_needs_what_it_consists_of() {
        let body = r#"{ "TransactItems": [ { "Put": { "TableName": "p-local-Runs" } },
            { "ConditionCheck": { "TableName": "p-local-Runs" } } ] }"#;
        let expected =
            "dynamodb:PutItem arn:table/Runs, dynamodb:ConditionCheckItem arn:table/Runs";
        check("dynamodb", "TransactWriteItems", body, expected);
    }

    #[test]
    fn a_queue_is_known_by_the_end_of_its_url() {
        let body = r#"{ "QueueUrl": "http://127.0.0.1:1/000000000000/p-local-work" }"#;
        check("sqs", "SendMessageBatch", body, "sqs:SendMessage arn:queue:work");
        check("sqs", "DeleteQueue", "{}", "unnamed");
    }

    #[test]
    fn a_secret_is_known_by_name_and_by_arn() {
        for id in ["p/secret", "arn:secret:s"] {
            let body = format!(r#"{{ "SecretId": "{id}" }}"#);
            check(
                "secretsmanager",
                "GetSecretValue",
                &body,
                "secretsmanager:GetSecretValue arn:secret:s",
            );
        }
    }
}
