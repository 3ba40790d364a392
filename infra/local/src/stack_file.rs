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
    /// Environment, exactly as declared.
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
    /// An event source mapping, or only direct invocations.
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
    role_policies: BTreeMap<String, Vec<Statement>>,
    role_names: BTreeMap<String, String>,
    url_functions: Vec<String>,
}

impl Reader {
    fn new(file: &File) -> Result<Self, StackError> {
        let mut reader = Self {
            prefix: format!("{}-{}-", file.project, file.stack),
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
                    reader.url_functions.push(resource.input("functionName")?.to_owned());
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
            "aws:secretsmanager/secret:Secret" => into.secrets.push(Secret {
                name: resource.input("name")?.to_owned(),
                arn: resource.arn()?.to_owned(),
            }),
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
