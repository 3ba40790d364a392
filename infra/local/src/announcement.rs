//! Says how a stack that runs is reached.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use crate::{
    ACCOUNT_ID, REGION, connections,
    error::StackError,
    files::Files,
    parts::Parts,
    plan::Plan,
    running::{QueueAddress, Running, Source, Urls},
    stack_file::Function,
};

/// One entry of a webhook function's list of sources.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Configured {
    id: String,
    kind: String,
    host: String,
    tenant_id: Option<String>,
    secret_id: String,
}

impl Parts {
    /// What `running.json` says.
    ///
    /// # Errors
    /// [`StackError`] when the connections that a function is told of cannot be read.
    pub(crate) fn running(
        &self,
        plan: &Plan,
        files: &Files,
        door_port: u16,
    ) -> Result<Running, StackError> {
        let described = &plan.infrastructure;
        let door = format!("http://127.0.0.1:{door_port}");
        let endpoint = plan.endpoint();
        let webhook =
            |function: &Function| (function.short.clone(), format!("{door}/{}", segment(function)));
        let queues = described.queues.iter().map(|queue| {
            let address = QueueAddress { url: self.sqs.url(&queue.name), arn: queue.arn.clone() };
            (queue.short.clone(), address)
        });
        Ok(Running {
            pid: std::process::id(),
            started_at: Timestamp::now().to_string(),
            state_directory: files.state().map(|state| state.path().to_path_buf()),
            ephemeral: files.state().is_none(),
            region: REGION.to_owned(),
            account_id: ACCOUNT_ID.to_owned(),
            credentials: plan.operator.clone(),
            urls: Urls {
                webhooks: door.clone(),
                lambda: endpoint.clone(),
                dynamodb: endpoint.clone(),
                sqs: endpoint.clone(),
                secretsmanager: endpoint,
            },
            webhooks: described.webhooks().map(webhook).collect(),
            sources: described
                .webhooks()
                .flat_map(|function| self.sources(function, &door))
                .collect(),
            connections: connections::described(described)?,
            identity: plan.issuer.identity().clone(),
            functions: described
                .functions
                .iter()
                .map(|f| (f.short.clone(), f.name.clone()))
                .collect(),
            tables: described
                .tables
                .iter()
                .map(|table| (table.short.clone(), table.name.clone()))
                .collect(),
            queues: queues.collect(),
        })
    }

    /// The sources that a webhook function is configured with: `GITHUB_SOURCES` of `github-webhook`.
    fn sources(&self, function: &Function, door: &str) -> Vec<Source> {
        let provider = segment(function);
        let variable = format!("{}_SOURCES", provider.to_uppercase().replace('-', "_"));
        let configured = function.environment.get(&variable).map(String::as_str).unwrap_or("[]");
        let configured: Vec<Configured> =
            serde_json::from_str(configured).unwrap_or_else(|error| {
                tracing::warn!(%error, "{variable} of {} cannot be read: {error}", function.short);
                Vec::new()
            });
        let source = |source: Configured| Source {
            url: format!("{door}/{provider}/{}", source.id),
            secret: current(&self.secrets.value(&source.secret_id).unwrap_or_default()),
            id: source.id,
            kind: source.kind,
            provider: provider.to_owned(),
            host: source.host,
            tenant_id: source.tenant_id,
            secret_id: source.secret_id,
        };
        configured.into_iter().map(source).collect()
    }
}

/// First segment of the paths that lead to a webhook function.
pub(crate) fn segment(function: &Function) -> &str {
    function.short.strip_suffix("-webhook").unwrap_or(&function.short)
}

/// A secret is a document with its `current` value, or that value itself.
fn current(secret: &str) -> String {
    let document = serde_json::from_str::<Value>(secret).ok();
    let current = document.as_ref().and_then(|document| document.get("current")?.as_str());
    current.unwrap_or(secret).to_owned()
}
