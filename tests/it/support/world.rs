//! A world to send deliveries to: an in-memory local stack with two tenants and their repositories.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use domain::ids::{Host, ProjectId, RepositoryId, RepositoryKey, TenantId};
use domain::pipeline_run::Owner;
use domain::registration::Registration;
use github::verify::{WebhookSecret, sign};
use lambda_entry::{Aws, AwsSettings, Environment};
use local::{Description, Running, Stack, StackOptions};
use mirror_store::{Item, MirrorStore, Tables};
use uuid::Uuid;

use super::bodies::{OTHER_REPOSITORY, REPOSITORY};

/// Everything that is awaited comes within this time, or the test fails.
pub(crate) const DEADLINE: Duration = Duration::from_secs(120);

/// A text that tests put into bodies and secrets, and that no log line may ever hold.
pub(crate) const CANARY: &str = "canary-5e1f";

/// One delivery to send.
#[derive(Debug, Clone)]
pub(crate) struct Post<'a> {
    pub(crate) source: &'a str,
    pub(crate) event: &'a str,
    pub(crate) body: &'a [u8],
    pub(crate) content_type: &'a str,
    pub(crate) id: String,
    pub(crate) hook: Option<u64>,
    /// `None` signs with the source's secret.
    pub(crate) signature: Option<&'a [(&'a str, &'a str)]>,
}

impl<'a> Post<'a> {
    /// A JSON delivery of source `acme`, with a fresh id, correctly signed.
    pub(crate) fn of(event: &'a str, body: &'a str) -> Self {
        Self {
            source: "acme",
            event,
            body: body.as_bytes(),
            content_type: "application/json",
            id: Uuid::new_v4().to_string(),
            hook: Some(77),
            signature: None,
        }
    }

    pub(crate) fn from(self, source: &'a str) -> Self {
        Self { source, ..self }
    }

    pub(crate) fn id(self, id: &str) -> Self {
        Self { id: id.to_owned(), ..self }
    }

    pub(crate) fn signed(self, headers: &'a [(&'a str, &'a str)]) -> Self {
        Self { signature: Some(headers), ..self }
    }
}

/// An answer of the door.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
}

/// A running stack.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) stack: Stack,
    http: reqwest::Client,
    dynamodb: aws_sdk_dynamodb::Client,
}

impl World {
    /// A stack in memory, with repository 11 of tenant t1 and repository 22 of tenant t2.
    pub(crate) async fn start() -> Self {
        Self::with(|options| options).await
    }

    /// The same, with other options.
    pub(crate) async fn with(options: impl FnOnce(StackOptions) -> StackOptions) -> Self {
        let description = Description::File(workspace().join("infra/stack.json"));
        let options = options(StackOptions::ephemeral(description));
        let stack = Stack::start(options).await.expect("the local stack starts");
        let dynamodb = operator(stack.running()).dynamodb();
        let world = Self { stack, http: reqwest::Client::new(), dynamodb };
        world.register("t1", REPOSITORY, None).await;
        world.register("t2", OTHER_REPOSITORY, None).await;
        world
    }

    /// Claims a repository for a tenant's project `storefront`.
    pub(crate) async fn register(&self, tenant: &str, repository: u64, installation: Option<u64>) {
        let registration = Registration {
            repository: RepositoryKey {
                host: Host::new("github.com").unwrap(),
                id: RepositoryId::from_number(repository).unwrap(),
            },
            owner: Owner {
                tenant: TenantId::new(tenant).unwrap(),
                project: ProjectId::new("storefront").unwrap(),
            },
            label: "acme/storefront".to_owned(),
            installation,
        };
        self.store().register(&registration).await.expect("the repository is free");
    }

    /// The mirrors, as an operator sees them.
    pub(crate) fn store(&self) -> MirrorStore {
        let table = |short: &str| self.stack.running().tables[short].clone();
        let tables = Tables {
            pipeline_runs: table("PipelineRuns"),
            repositories: table("Repositories"),
            deliveries: table("Deliveries"),
        };
        MirrorStore::new(self.dynamodb.clone(), tables)
    }

    /// The current secret of a source.
    pub(crate) fn secret(&self, source: &str) -> String {
        let sources = &self.stack.running().sources;
        sources.iter().find(|known| known.id == source).expect("a configured source").secret.clone()
    }

    /// Sends one delivery.
    pub(crate) async fn post(&self, post: Post<'_>) -> Reply {
        let url = format!("{}/github/{}", self.stack.running().urls.webhooks, post.source);
        self.post_to(&url, post).await
    }

    /// Sends one delivery to a URL of its own.
    pub(crate) async fn post_to(&self, url: &str, post: Post<'_>) -> Reply {
        let mut request = self
            .http
            .post(url)
            .header("X-GitHub-Event", post.event)
            .header("X-GitHub-Delivery", &post.id)
            .header("Content-Type", post.content_type)
            .header("User-Agent", "GitHub-Hookshot/044aadd");
        if let Some(hook) = post.hook {
            request = request.header("X-GitHub-Hook-ID", hook);
        }
        match post.signature {
            Some(headers) => {
                for (name, value) in headers {
                    request = request.header(*name, *value);
                }
            }
            None => {
                let signature = signature(post.body, &self.secret(post.source));
                request = request.header("X-Hub-Signature-256", signature);
            }
        }
        let answer = request.body(post.body.to_vec()).send().await.expect("the door answers");
        let status = answer.status().as_u16();
        let headers = answer
            .headers()
            .iter()
            .filter(|(name, _)| *name != "date")
            .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()))
            .collect();
        Reply { status, headers, body: answer.text().await.unwrap() }
    }

    /// Sends a JSON delivery of `acme` that must be taken, and gives its id.
    pub(crate) async fn accept(&self, event: &str, body: &str) -> String {
        let post = Post::of(event, body);
        let id = post.id.clone();
        assert_eq!(self.post(post).await.status, 202);
        id
    }

    /// Waits until everything that was sent has been judged.
    pub(crate) async fn settle(&self) {
        within(self.stack.idle()).await;
    }

    /// All items of a table, by short name.
    pub(crate) async fn items(&self, table: &str) -> Vec<Item> {
        let mut items = Vec::new();
        let mut start = None;
        loop {
            let page = self
                .dynamodb
                .scan()
                .table_name(&self.stack.running().tables[table])
                .set_exclusive_start_key(start)
                .send()
                .await
                .expect("the table answers");
            items.extend(page.items.unwrap_or_default());
            start = page.last_evaluated_key;
            if start.is_none() {
                return items;
            }
        }
    }

    /// The mirrors of runs, by `run/attempt`.
    pub(crate) async fn runs(&self) -> BTreeMap<String, Item> {
        let runs = self.items("PipelineRuns").await.into_iter();
        runs.filter(|item| text(item, "sk") == "RUN")
            .map(|item| {
                (format!("{}/{}", number(&item, "externalRunId"), number(&item, "attempt")), item)
            })
            .collect()
    }

    /// The mirrors of stages, by `run/attempt/job`.
    pub(crate) async fn stages(&self) -> BTreeMap<String, Item> {
        let key = |item: &Item| {
            let of = |name| number(item, name);
            format!("{}/{}/{}", of("externalRunId"), of("attempt"), of("jobId"))
        };
        let stages = self.items("PipelineRuns").await.into_iter();
        stages
            .filter(|item| text(item, "sk").starts_with("STAGE#"))
            .map(|item| (key(&item), item))
            .collect()
    }

    /// The states of runs, by `run/attempt`.
    pub(crate) async fn run_states(&self) -> BTreeMap<String, String> {
        let runs = self.runs().await.into_iter();
        runs.map(|(key, item)| (key, text(&item, "state").to_owned())).collect()
    }

    /// The ledger's rows of one delivery id.
    pub(crate) async fn ledger(&self, delivery: &str) -> Vec<Item> {
        let rows = self.items("Deliveries").await.into_iter();
        rows.filter(|item| text(item, "deliveryId") == delivery).collect()
    }

    /// What became of a delivery, when it has exactly one row.
    pub(crate) async fn outcome(&self, delivery: &str) -> String {
        let rows = self.ledger(delivery).await;
        assert_eq!(rows.len(), 1, "rows of {delivery}");
        match optional_text(&rows[0], "reason") {
            Some(reason) => format!("{}: {reason}", text(&rows[0], "outcome")),
            None => text(&rows[0], "outcome").to_owned(),
        }
    }

    /// How often a function called AWS, by `service/operation`.
    pub(crate) fn calls(&self, function: &str) -> BTreeMap<String, u64> {
        let calls = self.stack.calls().into_iter();
        calls
            .filter(|((caller, ..), _)| caller == function)
            .map(|((_, service, operation), count)| (format!("{service}/{operation}"), count))
            .collect()
    }

    /// How many log lines of a function contain a text.
    pub(crate) fn logged(&self, function: &str, needle: &str) -> usize {
        self.stack.logs().find(function, needle).len()
    }

    /// Ends the world. No log line of its whole life may hold a secret, a signature or a body.
    pub(crate) async fn finish(self) {
        let secrets: Vec<_> =
            self.stack.running().sources.iter().map(|source| source.secret.clone()).collect();
        for line in self.stack.logs().lines() {
            for secret in &secrets {
                assert!(!line.text.contains(secret.as_str()), "a secret in {line:?}");
            }
            for hidden in ["sha256=", "head_sha", "octavia-storm", CANARY] {
                assert!(!line.text.contains(hidden), "{hidden} in {line:?}");
            }
            if !line.text.starts_with("panicked") {
                let json: Result<serde_json::Value, _> = serde_json::from_str(&line.text);
                assert!(json.is_ok(), "no JSON: {line:?}");
            }
        }
        self.stack.stop().await.expect("the stack stops");
    }
}

/// Awaits something that must come.
pub(crate) async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(DEADLINE, future).await.expect("it happens in time")
}

/// `X-Hub-Signature-256` of a body.
pub(crate) fn signature(body: &[u8], secret: &str) -> String {
    sign(body, &WebhookSecret::new(secret).expect("a usable secret"))
}

/// The workspace's folder.
pub(crate) fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}

/// Clients with the operator's credentials.
pub(crate) fn operator(running: &Running) -> Aws {
    let settings = AwsSettings::from_environment(&Environment::of(&[
        ("AWS_REGION", &running.region),
        ("AWS_ACCESS_KEY_ID", &running.credentials.access_key_id),
        ("AWS_SECRET_ACCESS_KEY", &running.credentials.secret_access_key),
        ("AWS_ENDPOINT_URL", &running.urls.dynamodb),
    ]));
    Aws::new(settings.unwrap()).unwrap()
}

pub(crate) fn text<'a>(item: &'a Item, name: &str) -> &'a str {
    optional_text(item, name).unwrap_or_else(|| panic!("no {name} in {item:?}"))
}

pub(crate) fn optional_text<'a>(item: &'a Item, name: &str) -> Option<&'a str> {
    item.get(name).map(|value| value.as_s().unwrap().as_str())
}

pub(crate) fn number(item: &Item, name: &str) -> u64 {
    item[name].as_n().unwrap().parse().unwrap()
}

pub(crate) fn flag(item: &Item, name: &str) -> bool {
    item.get(name).is_some_and(|value| *value.as_bool().unwrap())
}

/// A mirror without what tells of the way to it: revision, due time and announcement.
pub(crate) fn mirror(item: &Item) -> BTreeMap<String, AttributeValue> {
    let of_the_way = BTreeSet::from([
        "revision",
        "dueAt",
        "dueShard",
        "asks",
        "announcedState",
        "announcedStarted",
        "announcedRevision",
    ]);
    let fields = item.iter().filter(|(name, _)| !of_the_way.contains(name.as_str()));
    fields.map(|(name, value)| (name.clone(), value.clone())).collect()
}
