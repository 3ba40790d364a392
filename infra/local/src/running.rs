//! `running.json`: how tools find a running stack and what they may use it with.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::{guard::Credentials, identity::Identity};

/// Name of the file in the state directory.
pub const RUNNING_FILE: &str = "running.json";

/// A running stack. The file holds secrets and is readable by its owner only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Running {
    /// The process.
    pub pid: u32,
    /// When it started, RFC 3339.
    pub started_at: String,
    /// Where its state is, if anywhere.
    pub state_directory: Option<PathBuf>,
    /// Whether everything ends with the process.
    pub ephemeral: bool,
    /// What clients sign for.
    pub region: String,
    /// The account of all ARNs.
    pub account_id: String,
    /// What the AWS endpoint asks for.
    pub credentials: Credentials,
    /// Where it listens.
    pub urls: Urls,
    /// URL of each webhook function, to which a source's id is added.
    pub webhooks: BTreeMap<String, String>,
    /// What may send deliveries.
    pub sources: Vec<Source>,
    /// What reads systems of record.
    #[serde(default)]
    pub connections: Vec<Connection>,
    /// Who signs calls of tools.
    pub identity: Identity,
    /// Deployed name by short name.
    pub functions: BTreeMap<String, String>,
    /// Deployed name by short name.
    pub tables: BTreeMap<String, String>,
    /// Address by short name.
    pub queues: BTreeMap<String, QueueAddress>,
}

/// Where a stack listens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Urls {
    /// The door.
    pub webhooks: String,
    /// Endpoint for Lambda.
    pub lambda: String,
    /// Endpoint for DynamoDB.
    pub dynamodb: String,
    /// Endpoint for SQS.
    pub sqs: String,
    /// Endpoint for Secrets Manager.
    pub secretsmanager: String,
}

/// One configured sender of deliveries.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Source {
    /// Last segment of its path.
    pub id: String,
    /// `Hook` or `App`.
    pub kind: String,
    /// Such as `github`.
    pub provider: String,
    /// Host of the system of record.
    pub host: String,
    /// The tenant that a hook's secret proves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,
    /// Where it sends to.
    pub url: String,
    /// Its secret in Secrets Manager.
    pub secret_id: String,
    /// What signs its deliveries, as it was when the stack started.
    pub secret: String,
}

impl std::fmt::Debug for Source {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Source")
            .field("id", &self.id)
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

/// How a tenant's repositories on one host are read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Connection {
    /// Its name in the stack's settings.
    pub id: String,
    /// Host of the system of record.
    pub host: String,
    /// Whose repositories it reads.
    pub tenant_id: String,
    /// Secret in Secrets Manager with its token, as `{"token": "…"}`.
    pub secret_id: String,
}

/// Where a queue is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueAddress {
    /// URL at the local endpoint.
    pub url: String,
    /// Amazon resource name.
    pub arn: String,
}

/// Why no running stack was found.
#[derive(Debug, thiserror::Error)]
pub enum NotRunning {
    /// There is no file, or one that a killed stack left behind.
    #[error("no local stack is running with its state in {}; start one with `cargo run`", .0.display())]
    Absent(PathBuf),
    /// The file cannot be read.
    #[error("{} cannot be read", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

impl Running {
    /// The stack that is running with its state in `directory`.
    ///
    /// # Errors
    /// [`NotRunning`] when there is none.
    pub fn find(directory: &Path) -> Result<Self, NotRunning> {
        let path = directory.join(RUNNING_FILE);
        let unreadable = |source| NotRunning::Unreadable { path: path.clone(), source };
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(NotRunning::Absent(directory.to_path_buf()));
            }
            Err(error) => return Err(unreadable(error)),
        };
        // A running stack holds the lock; whoever gets it looks at what a dead one left.
        let lock = File::open(directory.join("lock")).map_err(unreadable)?;
        if lock.try_lock_shared().is_ok() {
            return Err(NotRunning::Absent(directory.to_path_buf()));
        }
        serde_json::from_str(&text).map_err(|error| unreadable(io::Error::other(error)))
    }
}
