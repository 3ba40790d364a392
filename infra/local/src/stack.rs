//! Puts the parts together, and takes them apart again in the right order.

use std::{
    collections::BTreeMap,
    fs::{self, DirBuilder},
    io::ErrorKind,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;
use tokio::{net::TcpListener, sync::Notify, task::JoinSet, time::timeout};
use uuid::Uuid;

use crate::{
    ACCOUNT_ID, REGION,
    authorize::Authorizer,
    aws::{CallCounts, Calls, Endpoint},
    door::{Door, Webhook},
    dynamodb::DynamoDb,
    error::StackError,
    faults::Faults,
    guard::{Caller, Credentials, Guard},
    http::{self, Limits, Stop, Stopper},
    lambda::{
        invoke::LambdaApi,
        pool::{Functions, LogTail, NotInvoked},
        sandbox::Blueprint,
        watchdog::Watchdog,
    },
    logs::Logs,
    mapping::{self, Poller},
    options::{Description, StackOptions, State},
    running::{QueueAddress, RUNNING_FILE, Running, Source, Urls},
    secrets::Secrets,
    sqs::{QueueDepth, Sqs, StoredMessage},
    stack_file::{Function, Infrastructure},
    state::StateDirectory,
};

const DATABASE_FILE: &str = "dynamodb.sqlite";
const QUEUES_FILE: &str = "queues.json";
const SECRETS_FILE: &str = "secrets.json";

/// How long a stop waits for queued messages to be processed.
const DRAIN_WITHIN: Duration = Duration::from_secs(5);

/// The endpoint's requests are short; what still hangs after this is a long poll or a fault.
const ENDPOINT_GRACE: Duration = Duration::from_millis(500);

/// Each function process holds a few connections, and so does each tool.
const ENDPOINT_CONNECTIONS_MAX: usize = 1024;

/// A message can leave a queue without a poller's doing: the engine moves it to its dead-letter queue.
const IDLE_RECHECK: Duration = Duration::from_millis(100);

/// A running local stack. Dropping it ends it at once; [`Stack::stop`] ends it in order.
#[derive(Debug)]
pub struct Stack {
    running: Running,
    infrastructure: Arc<Infrastructure>,
    calls: Arc<Calls>,
    faults: Arc<Faults>,
    logs: Arc<Logs>,
    functions: Arc<Functions>,
    sqs: Arc<Sqs>,
    secrets: Arc<Secrets>,
    watchdog: Arc<Watchdog>,
    progress: Arc<Notify>,
    tasks: Tasks,
    restored: usize,
    files: Files,
}

/// What a stopped stack leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stopped {
    /// Messages that were still queued and are stored for the next start.
    pub messages_stored: usize,
    /// Messages that were still queued and are lost, because the stack was ephemeral.
    pub messages_lost: usize,
}

/// Why a function was not invoked, or failed.
#[derive(Debug, thiserror::Error)]
pub enum InvokeError {
    /// The stack has no such function.
    #[error("there is no function {0}")]
    Unknown(String),
    /// The function failed; this is its error document.
    #[error("the function failed: {}", String::from_utf8_lossy(.0))]
    Failed(Bytes),
    /// All sandboxes are busy, or the stack is stopping.
    #[error("the function has no free sandbox")]
    Busy,
}

/// Everything that runs, by the order in which it stops.
#[derive(Debug)]
struct Tasks {
    door: JoinSet<()>,
    door_stopper: Stopper,
    pollers: JoinSet<()>,
    pollers_stopper: Stopper,
    services: JoinSet<()>,
    services_stopper: Stopper,
    pollers_stop: Stop,
    services_stop: Stop,
}

/// The files of a stack, and the duty to remove `running.json`.
#[derive(Debug)]
struct Files {
    /// Locked while the stack runs; holds `running.json`.
    directory: Option<StateDirectory>,
    keeps_state: bool,
}

/// Keys and addresses that the parts need of each other.
struct Plan {
    infrastructure: Arc<Infrastructure>,
    endpoint_port: u16,
    operator: Credentials,
    function_keys: BTreeMap<String, Credentials>,
    binaries: PathBuf,
}

impl Stack {
    /// Starts everything that the description describes.
    ///
    /// # Errors
    /// [`StackError`] says what is in the way; nothing is left running then.
    pub async fn start(options: StackOptions) -> Result<Self, StackError> {
        let infrastructure = Arc::new(Infrastructure::parse(&description(&options.description)?)?);
        let door = bind(options.port).await?;
        let binaries = binaries(&options)?;
        require_binaries(&binaries, &infrastructure)?;
        require_known(&options, &infrastructure)?;
        let files = Files::open(&options.state)?;
        let endpoint = bind(0).await?;
        let plan = Plan::new(infrastructure, port(&endpoint)?, binaries);
        let parts = Parts::open(&options, &plan, &files).await?;
        let restored = parts.restore(&files).await?;
        let mut tasks = Tasks::new();
        parts.serve_endpoint(&plan, endpoint, &mut tasks);
        parts.start_pollers(&options, &plan, &mut tasks)?;
        let running = parts.running(&plan, &files, port(&door)?);
        parts.serve_door(&plan, door, &mut tasks)?;
        files.announce(&running)?;
        Ok(Self {
            running,
            infrastructure: plan.infrastructure,
            calls: parts.calls,
            faults: parts.faults,
            logs: parts.logs,
            functions: parts.functions,
            sqs: parts.sqs,
            secrets: parts.secrets,
            watchdog: parts.watchdog,
            progress: parts.progress,
            tasks,
            restored,
            files,
        })
    }

    /// What `running.json` says.
    #[must_use]
    pub fn running(&self) -> &Running {
        &self.running
    }

    /// What the description describes.
    #[must_use]
    pub fn infrastructure(&self) -> &Infrastructure {
        &self.infrastructure
    }

    /// How many queued messages of an earlier run were put back into their queues.
    #[must_use]
    pub fn messages_restored(&self) -> usize {
        self.restored
    }

    /// How often who asked which service for what.
    #[must_use]
    pub fn calls(&self) -> CallCounts {
        self.calls.counts()
    }

    /// Faults to inject into the AWS endpoint.
    #[must_use]
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// The functions' output.
    #[must_use]
    pub fn logs(&self) -> &Logs {
        &self.logs
    }

    /// Processes of a function, by short name, that are alive.
    #[must_use]
    pub fn function_pids(&self, name: &str) -> Vec<u32> {
        self.functions.pool(name).map(|pool| pool.pids()).unwrap_or_default()
    }

    /// How often a function was invoked.
    #[must_use]
    pub fn invocations(&self, name: &str) -> u64 {
        self.functions.pool(name).map(|pool| pool.invocations()).unwrap_or_default()
    }

    /// Invokes a function, by short name, and waits for its result.
    ///
    /// # Errors
    /// [`InvokeError`], with the function's own error document where there is one.
    pub async fn invoke(
        &self,
        name: &str,
        payload: impl Into<Bytes>,
    ) -> Result<Bytes, InvokeError> {
        let pool =
            self.functions.pool(name).ok_or_else(|| InvokeError::Unknown(name.to_owned()))?;
        match pool.invoke(payload.into(), LogTail::Unwanted).await {
            Ok(invoked) => invoked.reply.map_err(InvokeError::Failed),
            Err(NotInvoked::Busy | NotInvoked::Stopping) => Err(InvokeError::Busy),
        }
    }

    /// How many messages a queue holds, by short or deployed name.
    pub async fn queue_depth(&self, name: &str) -> QueueDepth {
        match self.infrastructure.queue(name) {
            Some(queue) => self.sqs.depth(&queue.name).await,
            None => QueueDepth::default(),
        }
    }

    /// Current value of a secret, by name or ARN.
    #[must_use]
    pub fn secret(&self, id: &str) -> Option<String> {
        self.secrets.value(id)
    }

    /// Waits until every queue with a mapping is empty and nothing taken from it is in progress.
    pub async fn idle(&self) {
        loop {
            let progress = self.progress.notified();
            if self.queued().await == 0 {
                return;
            }
            let _ = timeout(IDLE_RECHECK, progress).await;
        }
    }

    /// Ends the stack in order: no new deliveries, then up to five seconds for what is queued, then
    /// the functions, then the services. What is still queued is stored for the next start.
    ///
    /// # Errors
    /// [`StackError`] when the state could not be stored.
    pub async fn stop(mut self) -> Result<Stopped, StackError> {
        self.tasks.door_stopper.stop();
        ended(&mut self.tasks.door).await;
        let _ = timeout(DRAIN_WITHIN, self.idle()).await;
        self.tasks.pollers_stopper.stop();
        self.functions.stop().await;
        ended(&mut self.tasks.pollers).await;
        self.tasks.services_stopper.stop();
        ended(&mut self.tasks.services).await;
        self.watchdog.stop().await;
        let messages = self.sqs.take_all().await;
        self.files.store(&messages, &self.secrets)
    }

    async fn queued(&self) -> u64 {
        let mut queued = 0;
        for mapping in &self.infrastructure.mappings {
            let depth = self.queue_depth(&mapping.queue).await;
            queued += depth.visible + depth.in_flight;
        }
        queued
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // Invocations in progress hold on to their processes.
        self.functions.end();
    }
}

/// The parts while they are put together.
struct Parts {
    dynamodb: DynamoDb,
    sqs: Arc<Sqs>,
    secrets: Arc<Secrets>,
    functions: Arc<Functions>,
    watchdog: Arc<Watchdog>,
    logs: Arc<Logs>,
    calls: Arc<Calls>,
    faults: Arc<Faults>,
    progress: Arc<Notify>,
}

impl Parts {
    async fn open(options: &StackOptions, plan: &Plan, files: &Files) -> Result<Self, StackError> {
        let described = &plan.infrastructure;
        let database = files.state().map(|state| state.file(DATABASE_FILE));
        let dynamodb = DynamoDb::open(database.as_deref(), described.tables.clone()).await?;
        let sqs = Sqs::open(plan.endpoint_port, &described.queues).await?;
        let secrets =
            Secrets::open(&described.secrets, files.read_json(SECRETS_FILE)?.unwrap_or_default())?;
        // Now, too, so that a killed stack does not forget what repositories were told.
        files.write_json(SECRETS_FILE, &secrets.values())?;
        let mut log_options = options.logs.clone();
        if let Some(directory) = &log_options.directory {
            let made = DirBuilder::new().recursive(true).mode(0o700).create(directory);
            made.map_err(StackError::io(format!("log directory {}", directory.display())))?;
            log_options.directory = directory.canonicalize().ok();
        }
        let logs = Arc::new(Logs::new(log_options));
        let watchdog = Arc::new(
            Watchdog::start().map_err(StackError::io("shell that watches over the functions"))?,
        );
        let blueprints = described.functions.iter().map(|function| Blueprint {
            function: function.short.as_str().into(),
            arn: function.arn.clone(),
            binary: plan.binaries.join(&function.short),
            environment: plan.environment(function, options),
            timeout: Duration::from_secs(function.timeout_seconds),
            logs: Arc::clone(&logs),
            watchdog: Arc::clone(&watchdog),
        });
        Ok(Self {
            dynamodb,
            sqs: Arc::new(sqs),
            secrets: Arc::new(secrets),
            functions: Arc::new(Functions::new(blueprints, options.sandboxes_max)),
            watchdog,
            logs,
            calls: Arc::default(),
            faults: Arc::default(),
            progress: Arc::default(),
        })
    }

    async fn restore(&self, files: &Files) -> Result<usize, StackError> {
        let stored: Vec<StoredMessage> = files.read_json(QUEUES_FILE)?.unwrap_or_default();
        let count = stored.len();
        let refused = self.sqs.restore(stored).await;
        if 0 < refused {
            tracing::warn!(
                refused,
                "{refused} stored messages belong to queues that are no longer described"
            );
        }
        if let Some(state) = files.state() {
            state.remove(QUEUES_FILE);
        }
        Ok(count - refused)
    }

    fn serve_endpoint(&self, plan: &Plan, listener: TcpListener, tasks: &mut Tasks) {
        let callers = plan.function_keys.iter();
        let callers = callers.map(|(short, key)| (key.clone(), Caller::Function(short.clone())));
        let operator = std::iter::once((plan.operator.clone(), Caller::Operator));
        let endpoint = Arc::new(Endpoint {
            guard: Guard::new(plan.endpoint_port, operator.chain(callers)),
            authorizer: Authorizer::new(Arc::clone(&plan.infrastructure)),
            calls: Arc::clone(&self.calls),
            faults: Arc::clone(&self.faults),
            dynamodb: self.dynamodb.clone(),
            sqs: Arc::clone(&self.sqs),
            secrets: Arc::clone(&self.secrets),
            lambda: LambdaApi::new(Arc::clone(&plan.infrastructure), Arc::clone(&self.functions)),
        });
        let limits =
            Limits { connections: ENDPOINT_CONNECTIONS_MAX, head: None, grace: ENDPOINT_GRACE };
        let handler = move |request| Arc::clone(&endpoint).handle(request);
        tasks.services.spawn(http::serve(listener, limits, tasks.services_stop.clone(), handler));
        tasks.services.spawn(self.dynamodb.clone().sweep(tasks.services_stop.clone()));
    }

    fn start_pollers(
        &self,
        options: &StackOptions,
        plan: &Plan,
        tasks: &mut Tasks,
    ) -> Result<(), StackError> {
        let described = &plan.infrastructure;
        for mapping in &described.mappings {
            let queue = described.queue(&mapping.queue);
            let function = described.function(&mapping.function);
            let pool = self.functions.pool(&mapping.function);
            // The description was read only because both exist.
            let (Some(queue), Some(function), Some(pool)) = (queue, function, pool) else {
                continue;
            };
            mapping::check_role(function, queue)?;
            let poller = Poller {
                queue: Arc::new(queue.clone()),
                batch_size: mapping.batch_size,
                reply: mapping.reply,
                pool: Arc::clone(pool),
                sqs: Arc::clone(&self.sqs),
                calls: Arc::clone(&self.calls),
                progress: Arc::clone(&self.progress),
                retry_after: options.retry_after,
            };
            for _ in 0..options.pollers {
                tasks.pollers.spawn(poller.clone().run(tasks.pollers_stop.clone()));
            }
        }
        Ok(())
    }

    fn serve_door(
        &self,
        plan: &Plan,
        listener: TcpListener,
        tasks: &mut Tasks,
    ) -> Result<(), StackError> {
        let webhooks = plan.infrastructure.webhooks().filter_map(|function| {
            Some(Webhook {
                segment: segment(function).to_owned(),
                pool: Arc::clone(self.functions.pool(&function.short)?),
                function: function.short.clone(),
            })
        });
        let door = Door { port: port(&listener)?, webhooks: webhooks.collect() };
        let (stopper, stop) = Stopper::new();
        tasks.door_stopper = stopper;
        tasks.door.spawn(door.serve(listener, stop));
        Ok(())
    }

    fn running(&self, plan: &Plan, files: &Files, door_port: u16) -> Running {
        let described = &plan.infrastructure;
        let door = format!("http://127.0.0.1:{door_port}");
        let endpoint = plan.endpoint();
        let webhook =
            |function: &Function| (function.short.clone(), format!("{door}/{}", segment(function)));
        let queues = described.queues.iter().map(|queue| {
            let address = QueueAddress { url: self.sqs.url(&queue.name), arn: queue.arn.clone() };
            (queue.short.clone(), address)
        });
        Running {
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
        }
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

impl Plan {
    fn new(infrastructure: Arc<Infrastructure>, endpoint_port: u16, binaries: PathBuf) -> Self {
        let functions = infrastructure.functions.iter();
        let function_keys = functions.map(|f| (f.short.clone(), Credentials::random())).collect();
        Self {
            infrastructure,
            endpoint_port,
            operator: Credentials::random(),
            function_keys,
            binaries,
        }
    }

    fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.endpoint_port)
    }

    /// What Lambda would set, then what the description declares, then what the options override.
    fn environment(&self, function: &Function, options: &StackOptions) -> BTreeMap<String, String> {
        let key =
            self.function_keys.get(&function.short).cloned().unwrap_or_else(Credentials::random);
        let endpoint = self.endpoint();
        let stream = format!(
            "{}/[$LATEST]{}",
            Timestamp::now().strftime("%Y/%m/%d"),
            Uuid::new_v4().simple()
        );
        let standard = [
            ("AWS_ACCESS_KEY_ID", key.access_key_id),
            ("AWS_SECRET_ACCESS_KEY", key.secret_access_key),
            ("AWS_SESSION_TOKEN", "local".to_owned()),
            ("AWS_REGION", REGION.to_owned()),
            ("AWS_DEFAULT_REGION", REGION.to_owned()),
            ("AWS_ENDPOINT_URL", endpoint.clone()),
            ("AWS_ENDPOINT_URL_DYNAMODB", endpoint.clone()),
            ("AWS_ENDPOINT_URL_SQS", endpoint.clone()),
            ("AWS_ENDPOINT_URL_SECRETS_MANAGER", endpoint.clone()),
            ("AWS_ENDPOINT_URL_LAMBDA", endpoint),
            ("AWS_LAMBDA_FUNCTION_NAME", function.name.clone()),
            ("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST".to_owned()),
            ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", function.memory_megabytes.to_string()),
            ("AWS_LAMBDA_INITIALIZATION_TYPE", "on-demand".to_owned()),
            ("AWS_LAMBDA_LOG_GROUP_NAME", format!("/aws/lambda/{}", function.name)),
            ("AWS_LAMBDA_LOG_STREAM_NAME", stream),
            ("LAMBDA_TASK_ROOT", self.binaries.display().to_string()),
            ("_HANDLER", "bootstrap".to_owned()),
            ("LANG", "en_US.UTF-8".to_owned()),
            ("PATH", "/usr/local/bin:/usr/bin:/bin".to_owned()),
            ("TZ", ":UTC".to_owned()),
        ];
        let mut environment: BTreeMap<_, _> =
            standard.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        environment.extend(function.environment.clone());
        environment.extend(options.environment.get(&function.short).cloned().unwrap_or_default());
        environment
    }
}

impl Tasks {
    fn new() -> Self {
        let (door_stopper, _) = Stopper::new();
        let (pollers_stopper, pollers_stop) = Stopper::new();
        let (services_stopper, services_stop) = Stopper::new();
        Self {
            door: JoinSet::new(),
            door_stopper,
            pollers: JoinSet::new(),
            pollers_stopper,
            services: JoinSet::new(),
            services_stopper,
            pollers_stop,
            services_stop,
        }
    }
}

impl Files {
    fn open(state: &State) -> Result<Self, StackError> {
        let (directory, keeps_state) = match state {
            State::Directory(path) => (Some(path), true),
            State::Ephemeral { running } => (running.as_ref(), false),
        };
        let directory = directory.map(|path| StateDirectory::open(path)).transpose()?;
        Ok(Self { directory, keeps_state })
    }

    fn state(&self) -> Option<&StateDirectory> {
        self.directory.as_ref().filter(|_| self.keeps_state)
    }

    fn announce(&self, running: &Running) -> Result<(), StackError> {
        let Some(directory) = &self.directory else { return Ok(()) };
        let text = serde_json::to_string_pretty(running).unwrap_or_default();
        directory.write(RUNNING_FILE, &format!("{text}\n"))
    }

    fn read_json<T: serde::de::DeserializeOwned>(
        &self,
        name: &str,
    ) -> Result<Option<T>, StackError> {
        let Some(state) = self.state() else { return Ok(None) };
        let Some(text) = state.read(name)? else { return Ok(None) };
        let path = state.file(name);
        let read = serde_json::from_str(&text).map_err(std::io::Error::other);
        read.map(Some).map_err(StackError::io(format!("file {}", path.display())))
    }

    fn write_json(&self, name: &str, value: &impl serde::Serialize) -> Result<(), StackError> {
        let Some(state) = self.state() else { return Ok(()) };
        state.write(name, &serde_json::to_string_pretty(value).unwrap_or_default())
    }

    fn store(&self, messages: &[StoredMessage], secrets: &Secrets) -> Result<Stopped, StackError> {
        if self.state().is_none() {
            return Ok(Stopped { messages_stored: 0, messages_lost: messages.len() });
        }
        self.write_json(SECRETS_FILE, &secrets.values())?;
        if !messages.is_empty() {
            self.write_json(QUEUES_FILE, &messages)?;
            tracing::info!(
                messages = messages.len(),
                "stored {} queued messages for the next start",
                messages.len()
            );
        }
        Ok(Stopped { messages_stored: messages.len(), messages_lost: 0 })
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        if let Some(directory) = &self.directory {
            directory.remove(RUNNING_FILE);
        }
    }
}

/// First segment of the paths that lead to a webhook function.
fn segment(function: &Function) -> &str {
    function.short.strip_suffix("-webhook").unwrap_or(&function.short)
}

/// A secret is a document with its `current` value, or that value itself.
fn current(secret: &str) -> String {
    let document = serde_json::from_str::<Value>(secret).ok();
    let current = document.as_ref().and_then(|document| document.get("current")?.as_str());
    current.unwrap_or(secret).to_owned()
}

fn description(description: &Description) -> Result<String, StackError> {
    match description {
        Description::Text(text) => Ok(text.clone()),
        Description::File(path) => fs::read_to_string(path)
            .map_err(|error| StackError::Description(format!("{}: {error}", path.display()))),
    }
}

async fn bind(port: u16) -> Result<TcpListener, StackError> {
    match TcpListener::bind(("127.0.0.1", port)).await {
        Ok(listener) => Ok(listener),
        Err(error) if error.kind() == ErrorKind::AddrInUse => Err(StackError::PortTaken { port }),
        Err(error) => Err(StackError::io(format!("port {port} of 127.0.0.1"))(error)),
    }
}

fn port(listener: &TcpListener) -> Result<u16, StackError> {
    let address = listener.local_addr().map_err(StackError::io("a listener"))?;
    Ok(address.port())
}

/// Test binaries lie in `deps/`, one folder below what `cargo build` makes.
fn binaries(options: &StackOptions) -> Result<PathBuf, StackError> {
    if let Some(folder) = &options.functions {
        return Ok(folder.clone());
    }
    let executable = std::env::current_exe().map_err(StackError::io("the current executable"))?;
    let folder = executable.parent().unwrap_or(Path::new("."));
    let folder = if folder.ends_with("deps") { folder.parent().unwrap_or(folder) } else { folder };
    Ok(folder.to_path_buf())
}

fn require_binaries(folder: &Path, infrastructure: &Infrastructure) -> Result<(), StackError> {
    for function in &infrastructure.functions {
        let path = folder.join(&function.short);
        if !path.is_file() {
            return Err(StackError::NoBinary { function: function.short.clone(), path });
        }
    }
    Ok(())
}

/// A misspelt name would otherwise leave a function as it was, and whoever wrote it wondering.
fn require_known(
    options: &StackOptions,
    infrastructure: &Infrastructure,
) -> Result<(), StackError> {
    let unknown = options
        .environment
        .keys()
        .find(|name| !infrastructure.functions.iter().any(|f| f.short == **name));
    match unknown {
        Some(name) => Err(StackError::Refused {
            resource: format!("environment of {name}"),
            reason: "there is no such function".to_owned(),
        }),
        None => Ok(()),
    }
}

async fn ended(tasks: &mut JoinSet<()>) {
    while tasks.join_next().await.is_some() {}
}
