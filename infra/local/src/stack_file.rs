//! Reads `stack.json`, the resource graph that the infrastructure program writes, into what a laptop can run.
//!
//! A resource that this stack would have to imitate, and cannot, is an error: a function that silently
//! never runs would cost more time than a clear refusal. What only matters on AWS is skipped.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::{
    error::StackError,
    policy::{Policy, Statement},
};

/// Types that have no meaning on a laptop: alarms, log groups, the trust side of roles and invoke permissions.
const SKIPPED: &[&str] = &[
    "aws:cloudwatch/",
    "aws:iam/role:Role",
    "aws:lambda/permission:Permission",
    "aws:secretsmanager/secretPolicy:",
    "aws:sqs/queuePolicy:",
    "aws:sqs/redriveAllowPolicy:",
];

/// What the description says, joined and typed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Infrastructure {
    /// Name of the infrastructure program's project.
    pub project: String,
    /// Name of the stack, `local` for the one that a laptop runs.
    pub stack: String,
    /// Tables.
    pub tables: Vec<Table>,
    /// Queues.
    pub queues: Vec<Queue>,
    /// Secrets.
    pub secrets: Vec<Secret>,
    /// Functions.
    pub functions: Vec<Function>,
    /// Queues that invoke functions.
    pub mappings: Vec<Mapping>,
}

/// A DynamoDB table.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Name without the stack's prefix.
    pub short: String,
    /// Deployed name.
    pub name: String,
    /// Amazon resource name, as policies spell it.
    pub arn: String,
    /// The table's own key.
    pub key: Key,
    /// Type (`S`, `N`, `B`) per key attribute.
    pub attributes: BTreeMap<String, String>,
    /// Global secondary indexes.
    pub indexes: Vec<Index>,
    /// Attribute that holds the time of expiry.
    pub expiry_attribute: Option<String>,
    /// `StreamViewType`, when the table has a stream.
    pub stream: Option<String>,
}

/// A hash key with an optional range key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// Attribute of the hash key.
    pub hash: String,
    /// Attribute of the range key.
    pub range: Option<String>,
}

/// A global secondary index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Index {
    /// Its name.
    pub name: String,
    /// Its key.
    pub key: Key,
    /// `KEYS_ONLY`, `INCLUDE` or `ALL`.
    pub projection: String,
    /// Attributes that `INCLUDE` adds.
    pub included: Vec<String>,
}

/// An SQS queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queue {
    /// Name without the stack's prefix.
    pub short: String,
    /// Deployed name.
    pub name: String,
    /// Amazon resource name.
    pub arn: String,
    /// URL as the functions' environment spells it.
    pub url: String,
    /// Attributes as `CreateQueue` takes them.
    pub attributes: BTreeMap<String, String>,
}

/// A secret; its value is made up locally.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secret {
    /// Its name.
    pub name: String,
    /// Amazon resource name as the description spells it.
    pub arn: String,
    /// What its readers expect to find in it.
    pub holds: SecretContent,
}

/// What a secret's readers expect to find in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretContent {
    /// `{"current": "…"}`: what signs a source's deliveries.
    WebhookSecret,
    /// `{"token": "…"}`: what a connection reads a system of record with.
    Token,
}

/// A Lambda function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// Name without the stack's prefix, which is also the name of the binary.
    pub short: String,
    /// Deployed name.
    pub name: String,
    /// Amazon resource name.
    pub arn: String,
    /// How long one invocation may take.
    pub timeout_seconds: u64,
    /// Memory, told to the function, not enforced.
    pub memory_megabytes: u64,
    /// Environment as declared; only where connections ask may differ, when the options say so.
    pub environment: BTreeMap<String, String>,
    /// What the function's role allows.
    pub policy: Policy,
    /// Whether a function URL makes it a door.
    pub trigger: Trigger,
}

/// What starts a function, besides a direct invocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trigger {
    /// A function URL.
    Url,
    /// An event source mapping, or only direct invocations: a tool.
    Other,
}

/// An event source mapping of a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    /// Short name of the queue.
    pub queue: String,
    /// Short name of the function.
    pub function: String,
    /// Largest batch.
    pub batch_size: i32,
    /// How the function's reply is read.
    pub reply: BatchReply,
}

/// How the reply of a function that was given a batch is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchReply {
    /// `ReportBatchItemFailures`: the reply lists what failed.
    ReportsFailures,
    /// Any reply is success for the whole batch.
    AllOrNothing,
}

#[derive(Deserialize)]
struct File {
    project: String,
    stack: String,
    resources: Vec<Resource>,
}

#[derive(Deserialize)]
struct Resource {
    r#type: String,
    name: String,
    #[serde(default)]
    inputs: Value,
    #[serde(default)]
    outputs: Value,
}

impl Infrastructure {
    /// Reads the text of a `stack.json`.
    ///
    /// # Errors
    /// [`StackError::Description`] names the resource that cannot be run here, and why.
    pub fn parse(text: &str) -> Result<Self, StackError> {
        let file: File = serde_json::from_str(text).map_err(|error| {
            StackError::Description(format!("not a stack description: {error}"))
        })?;
        let mut infrastructure =
            Self { project: file.project.clone(), stack: file.stack.clone(), ..Self::default() };
        let reader = Reader::new(&file)?;
        for resource in &file.resources {
            reader.read(resource, &mut infrastructure)?;
        }
        // Mappings name queues and functions, which sort after them.
        for resource in &file.resources {
            if resource.r#type == "aws:lambda/eventSourceMapping:EventSourceMapping" {
                let mapping = mapping(resource, &infrastructure)?;
                infrastructure.mappings.extend(mapping);
            }
        }
        Ok(infrastructure)
    }

    /// Function by short name, deployed name or ARN.
    #[must_use]
    pub fn function(&self, name: &str) -> Option<&Function> {
        self.functions.iter().find(|f| f.short == name || f.name == name || f.arn == name)
    }

    /// Queue by short name, deployed name, ARN or URL.
    #[must_use]
    pub fn queue(&self, name: &str) -> Option<&Queue> {
        self.queues
            .iter()
            .find(|q| q.short == name || q.name == name || q.arn == name || q.url == name)
    }

    /// Functions with a URL, in the order of their names.
    pub fn webhooks(&self) -> impl Iterator<Item = &Function> {
        self.functions.iter().filter(|function| function.trigger == Trigger::Url)
    }
}

/// What has to be known of all resources before one of them can be read.
struct Reader {
    prefix: String,
    connections: String,
    role_policies: BTreeMap<String, Vec<Statement>>,
    role_names: BTreeMap<String, String>,
    url_functions: Vec<String>,
}

impl Reader {
    fn new(file: &File) -> Result<Self, StackError> {
        let mut reader = Self {
            prefix: format!("{}-{}-", file.project, file.stack),
            connections: format!("{}/{}/connections/", file.project, file.stack),
            role_policies: BTreeMap::new(),
            role_names: BTreeMap::new(),
            url_functions: Vec::new(),
        };
        for resource in &file.resources {
            match resource.r#type.as_str() {
                "aws:iam/role:Role" => {
                    let name = resource.input("name")?.to_owned();
                    reader.role_names.insert(resource.arn()?.to_owned(), name);
                }
                "aws:iam/rolePolicy:RolePolicy" => {
                    let statements = crate::policy::statements(resource.input("policy")?)
                        .map_err(|reason| resource.refused(&reason))?;
                    let role = resource.input("role")?.to_owned();
                    reader.role_policies.entry(role).or_default().extend(statements);
                }
                "aws:lambda/functionUrl:FunctionUrl" => {
                    reader.url_functions.push(url_function(resource)?);
                }
                _ => {}
            }
        }
        Ok(reader)
    }

    fn read(&self, resource: &Resource, into: &mut Infrastructure) -> Result<(), StackError> {
        match resource.r#type.as_str() {
            "aws:dynamodb/table:Table" => into.tables.push(self.table(resource)?),
            "aws:sqs/queue:Queue" => into.queues.push(self.queue(resource)?),
            "aws:secretsmanager/secret:Secret" => into.secrets.push(self.secret(resource)?),
            "aws:lambda/function:Function" => into.functions.push(self.function(resource)?),
            "aws:iam/rolePolicy:RolePolicy"
            | "aws:lambda/functionUrl:FunctionUrl"
            | "aws:lambda/eventSourceMapping:EventSourceMapping" => {}
            other if SKIPPED.iter().any(|skipped| other.starts_with(skipped)) => {}
            // Components and providers are not AWS resources themselves.
            other if !other.starts_with("aws:") => {}
            _ => return Err(resource.refused("the local stack cannot run this type of resource")),
        }
        Ok(())
    }

    fn short(&self, name: &str) -> String {
        name.strip_prefix(&self.prefix).unwrap_or(name).to_owned()
    }

    fn table(&self, resource: &Resource) -> Result<Table, StackError> {
        let name = resource.input("name")?;
        if resource.list("localSecondaryIndexes").next().is_some() {
            return Err(resource.refused("local secondary indexes are not supported"));
        }
        let mut attributes = BTreeMap::new();
        for attribute in resource.list("attributes") {
            let name = text(attribute, "name").unwrap_or_default().to_owned();
            attributes.insert(name, text(attribute, "type").unwrap_or("S").to_owned());
        }
        let indexes = resource.list("globalSecondaryIndexes").map(|index| {
            Ok(Index {
                name: text(index, "name")
                    .ok_or_else(|| resource.lacks("an index name"))?
                    .to_owned(),
                key: key(index).ok_or_else(|| resource.lacks("the hash key of an index"))?,
                projection: text(index, "projectionType").unwrap_or("ALL").to_owned(),
                included: strings(index.get("nonKeyAttributes")),
            })
        });
        let expiry = resource.inputs.get("ttl").filter(|ttl| flag(ttl, "enabled"));
        let stream = flag(&resource.inputs, "streamEnabled")
            .then(|| text(&resource.inputs, "streamViewType").unwrap_or("NEW_AND_OLD_IMAGES"));
        Ok(Table {
            short: self.short(name),
            name: name.to_owned(),
            arn: resource.arn()?.to_owned(),
            key: key(&resource.inputs).ok_or_else(|| resource.lacks("hashKey"))?,
            attributes,
            indexes: indexes.collect::<Result<_, StackError>>()?,
            expiry_attribute: expiry.and_then(|ttl| text(ttl, "attributeName")).map(str::to_owned),
            stream: stream.map(str::to_owned),
        })
    }

    fn secret(&self, resource: &Resource) -> Result<Secret, StackError> {
        let name = resource.input("name")?;
        // The description says nothing of what is in a secret; only its name tells.
        let holds = if name.starts_with(&self.connections) {
            SecretContent::Token
        } else {
            SecretContent::WebhookSecret
        };
        Ok(Secret { name: name.to_owned(), arn: resource.arn()?.to_owned(), holds })
    }

    fn queue(&self, resource: &Resource) -> Result<Queue, StackError> {
        let name = resource.input("name")?;
        let mut attributes = BTreeMap::new();
        for (input, attribute) in [
            ("delaySeconds", "DelaySeconds"),
            ("maxMessageSize", "MaximumMessageSize"),
            ("messageRetentionSeconds", "MessageRetentionPeriod"),
            ("receiveWaitTimeSeconds", "ReceiveMessageWaitTimeSeconds"),
            ("visibilityTimeoutSeconds", "VisibilityTimeout"),
            ("fifoQueue", "FifoQueue"),
            ("contentBasedDeduplication", "ContentBasedDeduplication"),
            ("deduplicationScope", "DeduplicationScope"),
            ("fifoThroughputLimit", "FifoThroughputLimit"),
        ] {
            if let Some(value) = scalar(&resource.inputs, input) {
                attributes.insert(attribute.to_owned(), value);
            }
        }
        if let Some(redrive) = text(&resource.inputs, "redrivePolicy") {
            let policy = redrive_policy(redrive).ok_or_else(|| {
                resource.refused(
                    "redrivePolicy needs deadLetterTargetArn and a maxReceiveCount of at least 1",
                )
            })?;
            attributes.insert("RedrivePolicy".to_owned(), policy);
        }
        Ok(Queue {
            short: self.short(name),
            name: name.to_owned(),
            arn: resource.arn()?.to_owned(),
            url: text(&resource.outputs, "url")
                .ok_or_else(|| resource.lacks("outputs.url"))?
                .to_owned(),
            attributes,
        })
    }

    fn function(&self, resource: &Resource) -> Result<Function, StackError> {
        let name = resource.input("name")?;
        let arn = resource.arn()?;
        let role = resource.input("role")?;
        let role = self
            .role_names
            .get(role)
            .ok_or_else(|| resource.refused("its role is not described"))?;
        let variables =
            resource.inputs.pointer("/environment/variables").and_then(Value::as_object);
        let mut environment = BTreeMap::new();
        for (key, value) in variables.into_iter().flatten() {
            let value = value.as_str().ok_or_else(|| {
                resource.refused(&format!("environment variable {key} is not a string"))
            })?;
            environment.insert(key.clone(), value.to_owned());
        }
        let has_url = self.url_functions.iter().any(|url| url == name || url == arn);
        Ok(Function {
            short: self.short(name),
            name: name.to_owned(),
            arn: arn.to_owned(),
            timeout_seconds: number(&resource.inputs, "timeout").unwrap_or(3),
            memory_megabytes: number(&resource.inputs, "memorySize").unwrap_or(128),
            environment,
            policy: Policy::new(self.role_policies.get(role).cloned().unwrap_or_default()),
            trigger: if has_url { Trigger::Url } else { Trigger::Other },
        })
    }
}

impl Resource {
    fn input(&self, key: &str) -> Result<&str, StackError> {
        text(&self.inputs, key).ok_or_else(|| self.lacks(&format!("inputs.{key}")))
    }

    fn arn(&self) -> Result<&str, StackError> {
        text(&self.outputs, "arn").ok_or_else(|| self.lacks("outputs.arn"))
    }

    fn list(&self, key: &str) -> impl Iterator<Item = &Value> {
        self.inputs.get(key).and_then(Value::as_array).into_iter().flatten()
    }

    fn lacks(&self, what: &str) -> StackError {
        self.refused(&format!("{what} is missing"))
    }

    fn refused(&self, reason: &str) -> StackError {
        StackError::Description(format!("{} {}: {reason}", self.r#type, self.name))
    }
}

/// The function of a URL that the door can stand for.
fn url_function(resource: &Resource) -> Result<String, StackError> {
    if resource.input("authorizationType")? != "NONE" {
        return Err(resource.refused("the door cannot check an authorizationType other than NONE"));
    }
    if text(&resource.inputs, "invokeMode").is_some_and(|mode| mode != "BUFFERED") {
        return Err(resource.refused("the door cannot stream"));
    }
    Ok(resource.input("functionName")?.to_owned())
}

/// `None` for a mapping that is switched off.
fn mapping(resource: &Resource, known: &Infrastructure) -> Result<Option<Mapping>, StackError> {
    if resource.inputs.get("enabled") == Some(&Value::Bool(false)) {
        return Ok(None);
    }
    if resource.inputs.get("filterCriteria").is_some_and(|filter| !filter.is_null()) {
        return Err(resource.refused("filterCriteria is not supported"));
    }
    let source = resource.input("eventSourceArn")?;
    let queue = known.queue(source).ok_or_else(|| {
        resource.refused(&format!("{source} is not a described queue; only queues are supported"))
    })?;
    let function = resource.input("functionName")?;
    let function = known
        .function(function)
        .ok_or_else(|| resource.refused(&format!("function {function} is not described")))?;
    let reports = strings(resource.inputs.get("functionResponseTypes"));
    let reports_failures = reports.iter().any(|report| report == "ReportBatchItemFailures");
    let batch_size = number(&resource.inputs, "batchSize").unwrap_or(10);
    Ok(Some(Mapping {
        queue: queue.short.clone(),
        function: function.short.clone(),
        // More than 10 needs a batching window on AWS; locally a batch is what one receive gives.
        batch_size: i32::try_from(batch_size.clamp(1, 10)).unwrap_or(10),
        reply: if reports_failures {
            BatchReply::ReportsFailures
        } else {
            BatchReply::AllOrNothing
        },
    }))
}

/// The queue engine takes `maxReceiveCount` as a number only; AWS takes a string as well.
fn redrive_policy(text: &str) -> Option<String> {
    let policy: Value = serde_json::from_str(text).ok()?;
    let target = policy.get("deadLetterTargetArn")?.as_str()?;
    let count = policy.get("maxReceiveCount")?;
    let count =
        count.as_u64().or_else(|| count.as_str()?.parse().ok()).filter(|count| 0 < *count)?;
    Some(serde_json::json!({ "deadLetterTargetArn": target, "maxReceiveCount": count }).to_string())
}

fn key(value: &Value) -> Option<Key> {
    let range = text(value, "rangeKey").map(str::to_owned);
    Some(Key { hash: text(value, "hashKey")?.to_owned(), range })
}

fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key)?.as_str()
}

fn number(value: &Value, key: &str) -> Option<u64> {
    value.get(key)?.as_u64()
}

fn flag(value: &Value, key: &str) -> bool {
    value.get(key) == Some(&Value::Bool(true))
}

fn scalar(value: &Value, key: &str) -> Option<String> {
    match value.get(key)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn strings(value: Option<&Value>) -> Vec<String> {
    let items = value.and_then(Value::as_array).into_iter().flatten();
    items.filter_map(Value::as_str).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(resources: Value) -> Result<Infrastructure, String> {
        let file = json!({ "project": "p", "stack": "local", "resources": resources });
        Infrastructure::parse(&file.to_string()).map_err(|error| error.to_string())
    }

    fn queue(inputs: Value) -> Value {
        let outputs =
            json!({ "arn": "arn:aws:sqs:r:a:p-local-work", "url": "https://sqs/a/p-local-work" });
        json!({ "type": "aws:sqs/queue:Queue", "name": "work", "inputs": inputs, "outputs": outputs })
    }

    fn function(more: Value) -> Value {
        let mut inputs = json!({ "name": "p-local-writer", "role": "arn:role" });
        inputs.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!([
            { "type": "aws:iam/role:Role", "name": "writer", "inputs": { "name": "p-local-writer" }, "outputs": { "arn": "arn:role" } },
            { "type": "aws:lambda/function:Function", "name": "writer", "inputs": inputs, "outputs": { "arn": "arn:function" } },
            queue(json!({ "name": "p-local-work" })),
        ])
    }

    fn with(mut resources: Value, resource: Value) -> Value {
        resources.as_array_mut().unwrap().push(resource);
        resources
    }

    fn mapping(inputs: Value) -> Value {
        json!({ "type": "aws:lambda/eventSourceMapping:EventSourceMapping", "name": "work", "inputs": inputs })
    }

    #[test]
    fn the_description_of_this_repository_can_be_run() {
        let described = Infrastructure::parse(include_str!("../../stack.json")).unwrap();
        assert!(described.webhooks().any(|function| function.short == "github-webhook"));
        for mapping in &described.mappings {
            let function = described.function(&mapping.function).unwrap();
            let queue = described.queue(&mapping.queue).unwrap();
            assert!(function.policy.allows("sqs:ReceiveMessage", &queue.arn), "{mapping:?}");
        }
        for table in &described.tables {
            assert!(table.attributes.contains_key(&table.key.hash), "{table:?}");
        }
    }

    #[test]
    fn a_function_has_its_environment_its_limits_and_its_roles_policy() {
        let resources =
            function(json!({ "timeout": 10, "environment": { "variables": { "A": "1" } } }));
        let policy = json!({ "Statement": [{ "Effect": "Allow", "Action": "sqs:SendMessage", "Resource": "arn:q" }] });
        let policy = json!({ "type": "aws:iam/rolePolicy:RolePolicy", "name": "writer",
            "inputs": { "role": "p-local-writer", "policy": policy.to_string() } });
        let described = parse(with(resources, policy)).unwrap();
        let function = described.function("writer").unwrap();
        assert_eq!((function.timeout_seconds, function.memory_megabytes), (10, 128));
        assert_eq!(function.environment, BTreeMap::from([("A".to_owned(), "1".to_owned())]));
        assert!(function.policy.allows("sqs:SendMessage", "arn:q"));
        assert_eq!(function.trigger, Trigger::Other);
    }

    #[test]
    fn a_mapping_joins_a_queue_and_a_function() {
        let inputs = json!({ "eventSourceArn": "arn:aws:sqs:r:a:p-local-work", "functionName": "p-local-writer",
            "batchSize": 500, "functionResponseTypes": ["ReportBatchItemFailures"] });
        let described = parse(with(function(json!({})), mapping(inputs))).unwrap();
        let expected = Mapping {
            queue: "work".to_owned(),
            function: "writer".to_owned(),
            batch_size: 10,
            reply: BatchReply::ReportsFailures,
        };
        assert_eq!(described.mappings, [expected]);
    }

    #[test]
    fn a_tool_needs_no_trigger() {
        let permission = json!({ "type": "aws:lambda/permission:Permission", "name": "writer-agents",
            "inputs": { "function": "p-local-writer", "action": "lambda:InvokeFunction", "principal": "arn:aws:iam::a:role/agents" } });
        let described = parse(with(function(json!({})), permission)).unwrap();
        assert_eq!(described.function("writer").unwrap().trigger, Trigger::Other);
        assert_eq!((described.mappings.len(), described.webhooks().count()), (0, 0));
    }

    #[test]
    fn a_secret_below_connections_holds_a_token() {
        let secret = |name: &str| {
            json!({ "type": "aws:secretsmanager/secret:Secret", "name": "s", "inputs": { "name": name },
                "outputs": { "arn": "arn:secret" } })
        };
        let described = parse(json!([
            secret("p/local/connections/acme"),
            secret("p/local/github/connections")
        ]));
        let holds: Vec<_> = described.unwrap().secrets.iter().map(|secret| secret.holds).collect();
        assert_eq!(holds, [SecretContent::Token, SecretContent::WebhookSecret]);
    }

    #[test]
    fn the_dead_letter_rule_becomes_a_number() {
        let policy = r#"{"deadLetterTargetArn":"arn:d","maxReceiveCount":"5"}"#;
        let described =
            parse(json!([queue(json!({ "name": "p-local-work", "redrivePolicy": policy }))]))
                .unwrap();
        let redrive: Value =
            serde_json::from_str(&described.queues[0].attributes["RedrivePolicy"]).unwrap();
        assert_eq!(redrive, json!({ "deadLetterTargetArn": "arn:d", "maxReceiveCount": 5 }));
    }

    #[test]
    fn what_cannot_be_run_is_named_and_what_does_not_matter_is_skipped() {
        let alarm = json!({ "type": "aws:cloudwatch/metricAlarm:MetricAlarm", "name": "a" });
        let component = json!({ "type": "plumbline:compute:RustFunction", "name": "a" });
        assert_eq!(
            parse(json!([alarm, component])).map(|described| described.functions.len()),
            Ok(0)
        );
        for (resources, named) in [
            (json!([{ "type": "aws:scheduler/schedule:Schedule", "name": "nightly" }]), "nightly"),
            (
                json!([{ "type": "aws:iam/rolePolicyAttachment:RolePolicyAttachment", "name": "basic" }]),
                "basic",
            ),
            (json!([queue(json!({}))]), "inputs.name"),
            (json!([queue(json!({ "name": "q", "redrivePolicy": "{}" }))]), "redrivePolicy"),
            (function(json!({ "role": "arn:other" })), "role"),
            (function(json!({ "environment": { "variables": { "A": 1 } } })), "A is not a string"),
            (
                with(
                    function(json!({})),
                    mapping(
                        json!({ "eventSourceArn": "arn:stream", "functionName": "p-local-writer" }),
                    ),
                ),
                "arn:stream",
            ),
            (
                with(
                    function(json!({})),
                    mapping(
                        json!({ "eventSourceArn": "arn:aws:sqs:r:a:p-local-work", "functionName": "gone" }),
                    ),
                ),
                "gone",
            ),
            (
                json!([{ "type": "aws:lambda/functionUrl:FunctionUrl", "name": "u", "inputs": { "functionName": "f", "authorizationType": "AWS_IAM" } }]),
                "authorizationType",
            ),
        ] {
            let error = parse(resources).unwrap_err();
            assert!(error.contains(named), "{error}");
        }
    }
}
