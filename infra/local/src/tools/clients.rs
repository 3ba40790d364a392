//! Reads and writes the tables and secrets of a running stack.

use aws_sdk_dynamodb::Client;
use domain::{
    delivery::LedgerEntry, ids::RepositoryKey, pipeline_run::PipelineRun,
    registration::Registration, stage::Stage,
};
use jiff::Timestamp;
use lambda_entry::{Aws, AwsSettings, Environment};
use mirror_store::{
    Item, MirrorStore, Tables, read_delivery, read_registration, read_run, read_stage,
};
use ports::{SecretStore as _, UnreadableItem};
use secrets::{SecretDocument, SecretsManager};

use super::ToolError;
use crate::{Running, Source};

/// Reads and writes the tables and secrets of a running stack, as its operator.
#[derive(Debug)]
pub struct Clients {
    dynamodb: Client,
    tables: Tables,
    secrets: SecretsManager,
}

/// What `PipelineRuns` holds. Subjects that were only asked for, and never seen, are left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mirrors {
    /// Runs, one per attempt.
    pub runs: Vec<PipelineRun>,
    /// Stages of all runs, those of runs that were not seen themselves among them.
    pub stages: Vec<Stage>,
}

/// What a table holds, as far as this code can read it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scanned<T> {
    /// What could be read.
    pub found: T,
    /// Why the rest could not.
    pub unreadable: Vec<UnreadableItem>,
}

impl Clients {
    /// Clients of this stack.
    ///
    /// # Errors
    /// When the stack lacks a table.
    pub fn new(running: &Running) -> Result<Self, ToolError> {
        let environment = Environment::of(&[
            ("AWS_REGION", &running.region),
            ("AWS_ACCESS_KEY_ID", &running.credentials.access_key_id),
            ("AWS_SECRET_ACCESS_KEY", &running.credentials.secret_access_key),
            ("AWS_ENDPOINT_URL_DYNAMODB", &running.urls.dynamodb),
            ("AWS_ENDPOINT_URL_SQS", &running.urls.sqs),
            ("AWS_ENDPOINT_URL_SECRETS_MANAGER", &running.urls.secretsmanager),
        ]);
        let settings = AwsSettings::from_environment(&environment);
        let aws = settings.and_then(Aws::new).map_err(|error| ToolError::Unusable(error.into()))?;
        let table = |short: &str| {
            let name = running.tables.get(short).cloned();
            name.ok_or_else(|| ToolError::Missing(format!("table {short}")))
        };
        Ok(Self {
            dynamodb: aws.dynamodb(),
            tables: Tables {
                pipeline_runs: table("PipelineRuns")?,
                repositories: table("Repositories")?,
                deliveries: table("Deliveries")?,
            },
            secrets: SecretsManager::new(aws.secrets_manager()),
        })
    }

    /// The store behind the stack's tables.
    #[must_use]
    pub fn store(&self) -> MirrorStore {
        MirrorStore::new(self.dynamodb.clone(), self.tables.clone())
    }

    /// All runs and stages.
    ///
    /// # Errors
    /// When the stack does not answer.
    pub async fn mirrors(&self) -> Result<Scanned<Mirrors>, ToolError> {
        let mut scanned = Scanned::<Mirrors>::default();
        for item in self.scan(&self.tables.pipeline_runs).await? {
            match item.get("sk").and_then(|sk| sk.as_s().ok()).map(String::as_str) {
                Some("RUN") => match read_run(&item) {
                    Ok(run) => scanned.found.runs.push(run),
                    Err(error) => scanned.unreadable.push(error),
                },
                Some(sk) if sk.starts_with("STAGE#") => match read_stage(&item) {
                    Ok(stage) => scanned.found.stages.push(stage),
                    Err(error) => scanned.unreadable.push(error),
                },
                Some(_) | None => (),
            }
        }
        Ok(scanned)
    }

    /// All rows of the ledger.
    ///
    /// # Errors
    /// When the stack does not answer.
    pub async fn ledger(&self) -> Result<Scanned<Vec<LedgerEntry>>, ToolError> {
        Ok(read_all(&self.scan(&self.tables.deliveries).await?, read_delivery))
    }

    /// All registrations.
    ///
    /// # Errors
    /// When the stack does not answer.
    pub async fn registrations(&self) -> Result<Scanned<Vec<Registration>>, ToolError> {
        Ok(read_all(&self.scan(&self.tables.repositories).await?, read_registration))
    }

    /// What signs a source's deliveries now: it may have been rotated since the stack started.
    pub async fn secret(&self, source: &Source, now: Timestamp) -> String {
        let stored = self.secrets.read(&source.secret_id).await;
        let document = stored.and_then(|stored| SecretDocument::parse(&stored));
        let current =
            document.ok().and_then(|document| document.live(now).next().map(str::to_owned));
        current.unwrap_or_else(|| source.secret.clone())
    }

    /// Every item of a table: right for a developer's tool over a laptop's tables, and for nothing else.
    async fn scan(&self, table: &str) -> Result<Vec<Item>, ToolError> {
        let pages = self.dynamodb.scan().table_name(table).consistent_read(true).into_paginator();
        let items = pages.items().send().collect::<Result<Vec<_>, _>>().await;
        items.map_err(|error| ToolError::unavailable(format!("table {table}"), error))
    }
}

impl Mirrors {
    /// Keeps what belongs to repositories of which `admits` says yes.
    pub fn retain(&mut self, admits: impl Fn(&RepositoryKey) -> bool) {
        self.runs.retain(|run| admits(&run.identity.repository));
        self.stages.retain(|stage| admits(&stage.run.repository));
    }
}

fn read_all<T>(
    items: &[Item],
    read: impl Fn(&Item) -> Result<T, UnreadableItem>,
) -> Scanned<Vec<T>> {
    let mut scanned = Scanned { found: Vec::new(), unreadable: Vec::new() };
    for item in items {
        match read(item) {
            Ok(found) => scanned.found.push(found),
            Err(error) => scanned.unreadable.push(error),
        }
    }
    scanned
}
