//! DynamoDB: an embedded engine on `SQLite` behind the guard.
//!
//! The engine brings an HTTP server, which is not used: it would be a second, unguarded port, and it
//! runs `SQLite` on the threads that serve connections.

use std::{fs::OpenOptions, os::unix::fs::OpenOptionsExt, path::Path, time::Duration};

use bytes::Bytes;
use dynoxide::{Database, DynoxideError};
use hyper::StatusCode;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio::task::spawn_blocking;

use crate::{
    aws,
    error::StackError,
    http::{self, Answer, Stop},
    stack_file::{Index, Key, Table},
};

/// AWS deletes expired items within days. A developer wants to see it happen.
const SWEEP_EVERY: Duration = Duration::from_secs(30);

/// The embedded engine.
#[derive(Clone)]
pub(crate) struct DynamoDb {
    database: Database,
}

impl std::fmt::Debug for DynamoDb {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("DynamoDb").finish_non_exhaustive()
    }
}

impl DynamoDb {
    /// Opens the database, in memory without `file`, and creates the tables that it lacks.
    pub(crate) async fn open(file: Option<&Path>, tables: Vec<Table>) -> Result<Self, StackError> {
        let file = file.map(Path::to_path_buf);
        let opened = spawn_blocking(move || {
            let database = match &file {
                Some(file) => open_private(file)?,
                None => Database::memory(),
            };
            let state = file.map_or("memory".to_owned(), |file| file.display().to_string());
            let database = database.map_err(refused(&format!("database {state}")))?;
            for table in &tables {
                ensure(&database, table, &state)?;
            }
            Ok(Self { database })
        });
        opened.await.unwrap_or_else(|error| Err(refused("database")(error)))
    }

    /// Answers one request.
    pub(crate) async fn answer(&self, operation: String, body: Bytes) -> Answer {
        let database = self.database.clone();
        let done = spawn_blocking(move || run(&database, &operation, &body)).await;
        match done {
            Ok(Ok(body)) => http::answer(StatusCode::OK, "application/x-amz-json-1.0", body),
            Ok(Err(error)) => {
                let status =
                    StatusCode::from_u16(error.status_code()).unwrap_or(StatusCode::BAD_REQUEST);
                http::answer(status, "application/x-amz-json-1.0", error.to_json())
            }
            Err(_) => aws::error(
                StatusCode::INTERNAL_SERVER_ERROR,
                "InternalServerError",
                "the database panicked",
            ),
        }
    }

    /// Deletes expired items until told to stop.
    pub(crate) async fn sweep(self, mut stop: Stop) {
        loop {
            tokio::select! {
                () = stop.requested() => return,
                () = tokio::time::sleep(SWEEP_EVERY) => {}
            }
            self.delete_expired().await;
        }
    }

    async fn delete_expired(&self) {
        let database = self.database.clone();
        if let Ok(Err(error)) = spawn_blocking(move || database.sweep_ttl()).await {
            tracing::warn!(error = %error, "expired items were not deleted: {error}");
        }
    }
}

/// `SQLite` gives the files that it adds the permissions of the first one.
fn open_private(file: &Path) -> Result<Result<Database, DynoxideError>, StackError> {
    let mut options = OpenOptions::new();
    let made = options.create(true).append(true).mode(0o600).open(file);
    made.map_err(StackError::io(format!("file {}", file.display())))?;
    Ok(Database::new(&file.to_string_lossy()))
}

fn run(database: &Database, operation: &str, body: &[u8]) -> Result<Vec<u8>, DynoxideError> {
    match operation {
        "BatchGetItem" => call(body, |request| database.batch_get_item(request)),
        "BatchWriteItem" => call(body, |request| database.batch_write_item(request)),
        "CreateTable" => call(body, |request| database.create_table(request)),
        "DeleteItem" => call(body, |request| database.delete_item(request)),
        "DeleteTable" => call(body, |request| database.delete_table(request)),
        "DescribeStream" => call(body, |request| database.describe_stream(request)),
        "DescribeTable" => call(body, |request| database.describe_table(request)),
        "DescribeTimeToLive" => call(body, |request| database.describe_time_to_live(request)),
        "GetItem" => call(body, |request| database.get_item(request)),
        "GetRecords" => call(body, |request| database.get_records(request)),
        "GetShardIterator" => call(body, |request| database.get_shard_iterator(request)),
        "ListStreams" => call(body, |request| database.list_streams(request)),
        "ListTables" => call(body, |request| database.list_tables(request)),
        "PutItem" => call(body, |request| database.put_item(request)),
        "Query" => call(body, |request| database.query(request)),
        "Scan" => call(body, |request| database.scan(request)),
        "TransactGetItems" => call(body, |request| database.transact_get_items(request)),
        "TransactWriteItems" => call(body, |request| database.transact_write_items(request)),
        "UpdateItem" => call(body, |request| database.update_item(request)),
        "UpdateTable" => call(body, |request| database.update_table(request)),
        "UpdateTimeToLive" => call(body, |request| database.update_time_to_live(request)),
        _ => Err(DynoxideError::ValidationException(format!(
            "the local stack does not implement {operation}"
        ))),
    }
}

fn call<I, O>(
    body: &[u8],
    operation: impl FnOnce(I) -> Result<O, DynoxideError>,
) -> Result<Vec<u8>, DynoxideError>
where
    I: DeserializeOwned,
    O: Serialize,
{
    let request = serde_json::from_slice(body).map_err(|error| unreadable(&error))?;
    let answer = operation(request)?;
    serde_json::to_vec(&answer)
        .map_err(|error| DynoxideError::InternalServerError(error.to_string()))
}

/// The engine marks errors of its own reading with a prefix that must not reach a client.
fn unreadable(error: &serde_json::Error) -> DynoxideError {
    let message = error.to_string();
    let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(text, _)| text);
    for prefix in ["VALIDATION_REQUEST:", "VALIDATION:"] {
        if let Some(text) = message.strip_prefix(prefix) {
            return DynoxideError::ValidationException(text.to_owned());
        }
    }
    if let Some(text) = message.strip_prefix("SERIALIZATION:") {
        return DynoxideError::SerializationException(text.to_owned());
    }
    if message.starts_with("invalid type") && !message.starts_with("invalid type: null") {
        return DynoxideError::SerializationException(message.to_owned());
    }
    DynoxideError::ValidationException(message.to_owned())
}

/// Creates a table, or checks that the stored one has the described keys.
fn ensure(database: &Database, table: &Table, state: &str) -> Result<(), StackError> {
    let wanted = creation(table);
    let resource = format!("table {}", table.name);
    let described =
        run(database, "DescribeTable", json!({ "TableName": table.name }).to_string().as_bytes());
    match described {
        Ok(described) => {
            let described: Value = serde_json::from_slice(&described).unwrap_or_default();
            let stored = described.get("Table").cloned().unwrap_or_default();
            if keys(&stored) != keys(&wanted) {
                return Err(StackError::TableDiffers {
                    table: table.name.clone(),
                    state: state.to_owned(),
                });
            }
        }
        Err(DynoxideError::ResourceNotFoundException(_)) => {
            run(database, "CreateTable", wanted.to_string().as_bytes())
                .map_err(refused(&resource))?;
        }
        Err(error) => return Err(refused(&resource)(error)),
    }
    ensure_expiry(database, table).map_err(refused(&resource))
}

fn ensure_expiry(database: &Database, table: &Table) -> Result<(), DynoxideError> {
    let Some(attribute) = &table.expiry_attribute else { return Ok(()) };
    let described = run(
        database,
        "DescribeTimeToLive",
        json!({ "TableName": table.name }).to_string().as_bytes(),
    )?;
    let described: Value = serde_json::from_slice(&described).unwrap_or_default();
    let stored = described.pointer("/TimeToLiveDescription/AttributeName").and_then(Value::as_str);
    if stored == Some(attribute) {
        return Ok(());
    }
    let update = json!({
        "TableName": table.name,
        "TimeToLiveSpecification": { "Enabled": true, "AttributeName": attribute },
    });
    run(database, "UpdateTimeToLive", update.to_string().as_bytes()).map(|_| ())
}

fn creation(table: &Table) -> Value {
    let attributes = table.attributes.iter();
    let mut creation = json!({
        "TableName": table.name,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": attributes
            .map(|(name, kind)| json!({ "AttributeName": name, "AttributeType": kind }))
            .collect::<Vec<_>>(),
        "KeySchema": key_schema(&table.key),
    });
    if !table.indexes.is_empty() {
        let indexes = table.indexes.iter().map(index).collect::<Vec<_>>();
        set(&mut creation, "GlobalSecondaryIndexes", indexes.into());
    }
    if let Some(view) = &table.stream {
        let stream = json!({ "StreamEnabled": true, "StreamViewType": view });
        set(&mut creation, "StreamSpecification", stream);
    }
    creation
}

fn index(index: &Index) -> Value {
    let mut projection = json!({ "ProjectionType": index.projection });
    if !index.included.is_empty() {
        set(&mut projection, "NonKeyAttributes", json!(index.included));
    }
    json!({ "IndexName": index.name, "KeySchema": key_schema(&index.key), "Projection": projection })
}

fn key_schema(key: &Key) -> Value {
    let hash = json!({ "AttributeName": key.hash, "KeyType": "HASH" });
    let range =
        key.range.as_ref().map(|range| json!({ "AttributeName": range, "KeyType": "RANGE" }));
    std::iter::once(hash).chain(range).collect()
}

fn set(object: &mut Value, key: &str, value: Value) {
    if let Some(object) = object.as_object_mut() {
        object.insert(key.to_owned(), value);
    }
}

/// What may not differ between a stored and a described table, in a fixed order.
fn keys(table: &Value) -> (Option<Value>, Vec<(String, Option<Value>)>) {
    let indexes = table.get("GlobalSecondaryIndexes").and_then(Value::as_array);
    let mut indexes: Vec<_> = indexes
        .into_iter()
        .flatten()
        .map(|index| {
            let name = index.get("IndexName").and_then(Value::as_str).unwrap_or_default();
            (name.to_owned(), index.get("KeySchema").cloned())
        })
        .collect();
    indexes.sort_by(|left, right| left.0.cmp(&right.0));
    (table.get("KeySchema").cloned(), indexes)
}

fn refused<E: std::fmt::Display>(resource: &str) -> impl FnOnce(E) -> StackError {
    let resource = resource.to_owned();
    move |error| StackError::Refused { resource, reason: error.to_string() }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use http_body_util::BodyExt;

    use super::*;

    fn table() -> Table {
        Table {
            short: "Things".to_owned(),
            name: "p-local-Things".to_owned(),
            arn: "arn:table".to_owned(),
            key: Key { hash: "pk".to_owned(), range: None },
            attributes: BTreeMap::from([
                ("pk".to_owned(), "S".to_owned()),
                ("at".to_owned(), "S".to_owned()),
            ]),
            indexes: vec![Index {
                name: "byTime".to_owned(),
                key: Key { hash: "at".to_owned(), range: None },
                projection: "KEYS_ONLY".to_owned(),
                included: Vec::new(),
            }],
            expiry_attribute: Some("expiresAt".to_owned()),
            stream: None,
        }
    }

    async fn ask(database: &DynamoDb, operation: &str, body: Value) -> (u16, Value) {
        let answer = database.answer(operation.to_owned(), body.to_string().into()).await;
        let status = answer.status().as_u16();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        (status, serde_json::from_slice(&body).unwrap())
    }

    #[tokio::test]
    async fn tables_have_the_described_keys_indexes_and_expiry() {
        let database = DynamoDb::open(None, vec![table()]).await.unwrap();
        let (_, described) =
            ask(&database, "DescribeTable", json!({ "TableName": "p-local-Things" })).await;
        assert_eq!(keys(&described["Table"]), keys(&creation(&table())));
        let (_, expiry) =
            ask(&database, "DescribeTimeToLive", json!({ "TableName": "p-local-Things" })).await;
        assert_eq!(expiry["TimeToLiveDescription"]["AttributeName"], "expiresAt");
    }

    #[tokio::test]
    async fn expired_items_are_deleted_and_others_are_not() {
        let database = DynamoDb::open(None, vec![table()]).await.unwrap();
        for (key, expires) in [("old", "1"), ("new", "99999999999")] {
            let item = json!({ "pk": { "S": key }, "expiresAt": { "N": expires } });
            let put =
                ask(&database, "PutItem", json!({ "TableName": "p-local-Things", "Item": item }))
                    .await;
            assert_eq!(put.0, 200, "{put:?}");
        }
        database.delete_expired().await;
        let (_, left) = ask(&database, "Scan", json!({ "TableName": "p-local-Things" })).await;
        assert_eq!((&left["Count"], &left["Items"][0]["pk"]["S"]), (&json!(1), &json!("new")));
    }

    #[tokio::test]
    async fn errors_are_spelt_as_by_dynamodb() {
        let database = DynamoDb::open(None, vec![table()]).await.unwrap();
        let put = json!({ "TableName": "p-local-Things", "Item": { "pk": { "S": "a" } },
            "ConditionExpression": "attribute_exists(pk)" });
        for (operation, body, error) in [
            ("PutItem", put, "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException"),
            (
                "GetItem",
                json!({ "TableName": "absent", "Key": { "pk": { "S": "a" } } }),
                "com.amazonaws.dynamodb.v20120810#ResourceNotFoundException",
            ),
            (
                "GetItem",
                json!({ "TableName": 7 }),
                "com.amazon.coral.service#SerializationException",
            ),
            (
                "PutItem",
                json!({ "TableName": "p-local-Things" }),
                "com.amazon.coral.validate#ValidationException",
            ),
            ("CreateBackup", json!({}), "com.amazon.coral.validate#ValidationException"),
        ] {
            let (status, answer) = ask(&database, operation, body).await;
            assert_eq!((status, &answer["__type"]), (400, &json!(error)), "{answer}");
        }
    }
}
