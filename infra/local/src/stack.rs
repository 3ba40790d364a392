//! Puts the parts together, and takes them apart again in the right order.

use std::{io::ErrorKind, sync::Arc, time::Duration};

use bytes::Bytes;
use tokio::{net::TcpListener, sync::Notify, task::JoinSet, time::timeout};

use crate::{
    aws::{CallCounts, Calls},
    connections,
    error::StackError,
    faults::Faults,
    files::Files,
    identity::Issuer,
    lambda::{
        pool::{Functions, LogTail, NotInvoked},
        watchdog::Watchdog,
    },
    logs::Logs,
    options::StackOptions,
    parts::{Parts, Tasks},
    plan::{self, Plan},
    running::Running,
    secrets::Secrets,
    sqs::{QueueDepth, Sqs},
    stack_file::Infrastructure,
};

/// How long a stop waits for queued messages to be processed.
const DRAIN_WITHIN: Duration = Duration::from_secs(5);

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

impl Stack {
    /// Starts everything that the description describes.
    ///
    /// # Errors
    /// [`StackError`] says what is in the way; nothing is left running then.
    pub async fn start(options: StackOptions) -> Result<Self, StackError> {
        let infrastructure = Arc::new(infrastructure(&options)?);
        let door = bind(options.port).await?;
        let binaries = plan::binaries(&options)?;
        plan::require_binaries(&binaries, &infrastructure)?;
        plan::require_known(&options, &infrastructure)?;
        let files = Files::open(&options.state)?;
        let endpoint = bind(0).await?;
        let issuer = Issuer::open(&files)?;
        let plan = Plan::new(infrastructure, port(&endpoint)?, binaries, issuer);
        let parts = Parts::open(&options, &plan, &files).await?;
        let restored = parts.restore(&files).await?;
        let mut tasks = Tasks::new();
        parts.serve_endpoint(&plan, endpoint, &mut tasks);
        parts.start_pollers(&options, &plan, &mut tasks)?;
        let door_port = port(&door)?;
        let running = parts.running(&plan, &files, door_port)?;
        parts.serve_door(&plan, door, door_port, &mut tasks);
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

/// The description, with the reads of GitHub going where the options say.
fn infrastructure(options: &StackOptions) -> Result<Infrastructure, StackError> {
    let mut infrastructure = Infrastructure::parse(&plan::description(&options.description)?)?;
    if let Some(api) = &options.github_api {
        connections::redirect(&mut infrastructure, api)?;
    }
    Ok(infrastructure)
}

async fn ended(tasks: &mut JoinSet<()>) {
    while tasks.join_next().await.is_some() {}
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
