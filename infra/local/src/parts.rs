//! The parts of a stack, put together in the order in which they need each other.

use std::{fs::DirBuilder, os::unix::fs::DirBuilderExt, sync::Arc, time::Duration};

use tokio::{net::TcpListener, sync::Notify, task::JoinSet};

use crate::{
    announcement::segment,
    authorize::Authorizer,
    aws::{Calls, Endpoint},
    door::{Door, Webhook},
    dynamodb::DynamoDb,
    error::StackError,
    faults::Faults,
    files::{DATABASE_FILE, Files, QUEUES_FILE, SECRETS_FILE},
    guard::{Caller, Guard},
    http::{self, Limits, Stop, Stopper},
    lambda::{invoke::LambdaApi, pool::Functions, sandbox::Blueprint, watchdog::Watchdog},
    logs::Logs,
    mapping::{self, Poller},
    options::StackOptions,
    plan::Plan,
    secrets::Secrets,
    sqs::{Sqs, StoredMessage},
};
/// The endpoint's requests are short; what still hangs after this is a long poll or a fault.
const ENDPOINT_GRACE: Duration = Duration::from_millis(500);

/// Each function process holds a few connections, and so does each tool.
const ENDPOINT_CONNECTIONS_MAX: usize = 1024;

/// The parts.
pub(crate) struct Parts {
    pub(crate) dynamodb: DynamoDb,
    pub(crate) sqs: Arc<Sqs>,
    pub(crate) secrets: Arc<Secrets>,
    pub(crate) functions: Arc<Functions>,
    pub(crate) watchdog: Arc<Watchdog>,
    pub(crate) logs: Arc<Logs>,
    pub(crate) calls: Arc<Calls>,
    pub(crate) faults: Arc<Faults>,
    pub(crate) progress: Arc<Notify>,
}

impl Parts {
    /// Opens every engine with what an earlier run left; nothing serves yet.
    pub(crate) async fn open(
        options: &StackOptions,
        plan: &Plan,
        files: &Files,
    ) -> Result<Self, StackError> {
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

    /// Puts stored messages back into their queues; returns how many.
    pub(crate) async fn restore(&self, files: &Files) -> Result<usize, StackError> {
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

    /// Lets functions and tools reach the services.
    pub(crate) fn serve_endpoint(&self, plan: &Plan, listener: TcpListener, tasks: &mut Tasks) {
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

    /// Connects queues with functions.
    pub(crate) fn start_pollers(
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

    /// Lets deliveries in.
    pub(crate) fn serve_door(
        &self,
        plan: &Plan,
        listener: TcpListener,
        port: u16,
        tasks: &mut Tasks,
    ) {
        let webhooks = plan.infrastructure.webhooks().filter_map(|function| {
            Some(Webhook {
                segment: segment(function).to_owned(),
                pool: Arc::clone(self.functions.pool(&function.short)?),
                function: function.short.clone(),
            })
        });
        let door = Door { port, webhooks: webhooks.collect() };
        let (stopper, stop) = Stopper::new();
        tasks.door_stopper = stopper;
        tasks.door.spawn(door.serve(listener, stop));
    }
}

/// Everything that runs, by the order in which it stops.
#[derive(Debug)]
pub(crate) struct Tasks {
    pub(crate) door: JoinSet<()>,
    pub(crate) door_stopper: Stopper,
    pub(crate) pollers: JoinSet<()>,
    pub(crate) pollers_stopper: Stopper,
    pub(crate) services: JoinSet<()>,
    pub(crate) services_stopper: Stopper,
    pub(crate) pollers_stop: Stop,
    pub(crate) services_stop: Stop,
}

impl Tasks {
    /// Nothing yet.
    pub(crate) fn new() -> Self {
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
