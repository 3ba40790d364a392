//! The tables behind the ports.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::types::{AttributeValue, KeysAndAttributes};
use domain::delivery::{LedgerEntry, Outcome};
use domain::ids::Revision;
use domain::pipeline_run::PipelineRun;
use domain::registration::Registration;
use domain::stage::Stage;
use ports::{Ask, BoxError, Ledger, LoadError, Loaded, Mirrors, Wanted, WriteError};

use crate::attributes::Item;
use crate::{deliveries, keys, repositories, runs};

/// Keys that one `BatchGetItem` takes.
const BATCH_KEYS_MAX: usize = 100;
/// Requests that one load may need: an answer may leave keys unprocessed, which are asked for again and never taken
/// for absent.
const BATCH_REQUESTS_MAX: usize = 8;

/// The deployed names of the tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tables {
    /// `PipelineRuns`.
    pub pipeline_runs: String,
    /// `Repositories`.
    pub repositories: String,
    /// `Deliveries`.
    pub deliveries: String,
}

/// The mirrors and the ledger in DynamoDB.
#[derive(Debug, Clone)]
pub struct MirrorStore {
    client: Client,
    tables: Tables,
}

impl MirrorStore {
    /// The store behind these tables.
    #[must_use]
    pub const fn new(client: Client, tables: Tables) -> Self {
        Self { client, tables }
    }

    /// Claims a repository, or changes one's own claim. A repository that another tenant has claimed is a
    /// [`WriteError::Conflict`].
    pub async fn register(&self, registration: &Registration) -> Result<(), WriteError> {
        let put = self
            .client
            .put_item()
            .table_name(&self.tables.repositories)
            .set_item(Some(repositories::registration_item(registration)))
            .condition_expression("attribute_not_exists(pk) OR tenantId = :tenant")
            .expression_attribute_values(
                ":tenant",
                AttributeValue::S(registration.owner.tenant.to_string()),
            );
        put.send().await.map(|_| ()).map_err(|error| write_error(&error))
    }

    /// Puts an item of `PipelineRuns`, if it is still at the revision before.
    async fn put(&self, item: Item, revision: Revision) -> Result<(), WriteError> {
        let put =
            self.client.put_item().table_name(&self.tables.pipeline_runs).set_item(Some(item));
        let put = match revision.0.checked_sub(1) {
            None | Some(0) => put.condition_expression("attribute_not_exists(pk)"),
            Some(before) => put
                .condition_expression("revision = :before")
                .expression_attribute_values(":before", AttributeValue::N(before.to_string())),
        };
        put.send().await.map(|_| ()).map_err(|error| write_error(&error))
    }

    async fn batch_get(&self, requests: Requests) -> Result<(Vec<Found>, Requests), LoadError> {
        let answer = self
            .client
            .batch_get_item()
            .set_request_items(Some(requests.into_iter().collect()))
            .send()
            .await
            .map_err(|error| LoadError(cause(&error)))?;
        let found = answer.responses.unwrap_or_default().into_iter();
        let found = found.map(|(table, items)| Found { table, items }).collect();
        Ok((found, answer.unprocessed_keys.unwrap_or_default().into_iter().collect()))
    }

    fn requests(&self, wanted: &Wanted) -> Vec<Requests> {
        let run_key = |(pk, sk): (String, String)| {
            Item::from([
                ("pk".to_owned(), AttributeValue::S(pk)),
                ("sk".to_owned(), AttributeValue::S(sk)),
            ])
        };
        let runs = wanted.runs.iter().map(|id| (keys::run_partition(*id), keys::RUN.to_owned()));
        let stages =
            wanted.stages.iter().map(|(id, job)| (keys::run_partition(*id), keys::stage(*job)));
        let repositories = wanted.repositories.iter().map(|key| {
            let pk = AttributeValue::S(keys::repository(key));
            (self.tables.repositories.clone(), Item::from([("pk".to_owned(), pk)]))
        });
        let table = &self.tables.pipeline_runs;
        let keys: Vec<(String, Item)> = runs
            .chain(stages)
            .map(|key| (table.clone(), run_key(key)))
            .chain(repositories)
            .collect();
        keys.chunks(BATCH_KEYS_MAX).map(by_table).collect()
    }

    fn take(&self, found: Found, loaded: &mut Loaded, wanted: &Wanted) {
        for item in found.items {
            if found.table == self.tables.repositories {
                take_registration(&item, loaded, wanted);
            } else {
                take_subject(&item, loaded, wanted);
            }
        }
    }
}

type Requests = BTreeMap<String, KeysAndAttributes>;

struct Found {
    table: String,
    items: Vec<Item>,
}

impl Mirrors for MirrorStore {
    async fn load(&self, wanted: &Wanted) -> Result<Loaded, LoadError> {
        let mut loaded = Loaded::default();
        let mut open = self.requests(wanted);
        for _ in 0..BATCH_REQUESTS_MAX {
            let Some(requests) = open.pop() else { return Ok(loaded) };
            let (found, unprocessed) = self.batch_get(requests).await?;
            for found in found {
                self.take(found, &mut loaded, wanted);
            }
            if !unprocessed.is_empty() {
                open.push(unprocessed);
            }
        }
        if open.is_empty() {
            return Ok(loaded);
        }
        Err(LoadError("keys stay unprocessed".into()))
    }

    async fn put_run(&self, run: &PipelineRun) -> Result<(), WriteError> {
        self.put(runs::run_item(run), run.revision).await
    }

    async fn put_stage(&self, stage: &Stage) -> Result<(), WriteError> {
        self.put(runs::stage_item(stage), stage.revision).await
    }

    async fn put_ask(&self, ask: &Ask) -> Result<(), WriteError> {
        let put = self.client.put_item().table_name(&self.tables.pipeline_runs);
        let put = put.set_item(Some(runs::ask_item(ask))).send().await;
        put.map(|_| ()).map_err(|error| write_error(&error))
    }
}

impl Ledger for MirrorStore {
    async fn record(&self, entry: &LedgerEntry) -> Result<(), WriteError> {
        let put = self
            .client
            .put_item()
            .table_name(&self.tables.deliveries)
            .set_item(Some(deliveries::delivery_item(entry)));
        let put = if entry.outcome == Outcome::NoOp {
            let word = |outcome: Outcome| AttributeValue::S(outcome.as_str().to_owned());
            put.condition_expression("attribute_not_exists(pk) OR NOT outcome IN (:a, :c)")
                .expression_attribute_values(":a", word(Outcome::Applied))
                .expression_attribute_values(":c", word(Outcome::Contested))
        } else {
            put
        };
        match put.send().await.map_err(|error| write_error(&error)) {
            // The row tells more than "nothing to do" already.
            Ok(_) | Err(WriteError::Conflict) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// The keys of one request, by table. Reads are consistent: a stale revision would cost a failed write.
fn by_table(keys: &[(String, Item)]) -> Requests {
    let mut tables: BTreeMap<String, Vec<Item>> = BTreeMap::new();
    for (table, key) in keys {
        tables.entry(table.clone()).or_default().push(key.clone());
    }
    let request = |(table, keys)| {
        let keys = KeysAndAttributes::builder().set_keys(Some(keys)).consistent_read(true).build();
        Some((table, keys.ok()?))
    };
    tables.into_iter().filter_map(request).collect()
}

fn text<'a>(item: &'a Item, name: &str) -> Option<&'a str> {
    item.get(name).and_then(|value| value.as_s().ok()).map(String::as_str)
}

/// Files a registration under the key that was asked for, readable or not.
fn take_registration(item: &Item, loaded: &mut Loaded, wanted: &Wanted) {
    let is = |key: &&domain::ids::RepositoryKey| text(item, "pk") == Some(&keys::repository(key));
    if let Some(key) = wanted.repositories.iter().find(is) {
        loaded.repositories.insert(key.clone(), repositories::read_registration(item));
    }
}

/// Files a run or stage under the key that was asked for, readable or not.
fn take_subject(item: &Item, loaded: &mut Loaded, wanted: &Wanted) {
    let (Some(pk), Some(sk)) = (text(item, "pk"), text(item, "sk")) else { return };
    if sk == keys::RUN {
        if let Some(id) = wanted.runs.iter().find(|id| keys::run_partition(**id) == pk) {
            loaded.runs.insert(*id, runs::read_run(item));
        }
        return;
    }
    let is = |key: &&(_, _)| keys::run_partition(key.0) == pk && keys::stage(key.1) == sk;
    if let Some(key) = wanted.stages.iter().find(is) {
        loaded.stages.insert(*key, runs::read_stage(item));
    }
}

/// What the caller of a failed write does next.
fn write_error<E: ProvideErrorMetadata, R>(error: &SdkError<E, R>) -> WriteError {
    match error.code() {
        Some("ConditionalCheckFailedException") => WriteError::Conflict,
        Some("ValidationException" | "ItemCollectionSizeLimitExceededException") => {
            WriteError::Unstorable(cause(error))
        }
        _ => WriteError::Unavailable(cause(error)),
    }
}

/// The kind and code of an error. Its message and raw answer may repeat an item, and stay out of logs.
fn cause<E: ProvideErrorMetadata, R>(error: &SdkError<E, R>) -> BoxError {
    format!("{error}: {}", error.code().unwrap_or("no code")).into()
}
