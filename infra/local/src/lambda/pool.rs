//! All sandboxes of one function: started on demand, reused, never more than a few.

use std::{
    collections::BTreeMap,
    io,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use tokio::{sync::Semaphore, task::JoinSet, time::timeout};
use uuid::Uuid;

use super::{
    runtime_api::{Reply, error_document},
    sandbox::{Blueprint, Ended, Sandbox},
};

/// A sandbox that was idle may turn out to be dead. A new one is tried then, once.
const ATTEMPTS_MAX: usize = 2;

/// How long the last lines of an invocation are waited for when somebody wants to see them.
const OUTPUT_WITHIN: Duration = Duration::from_millis(50);

/// All functions of a stack.
#[derive(Debug)]
pub(crate) struct Functions {
    pools: BTreeMap<String, Arc<Pool>>,
}

/// The sandboxes of one function.
#[derive(Debug)]
pub(crate) struct Pool {
    blueprint: Blueprint,
    permits: Arc<Semaphore>,
    idle: Mutex<Vec<Arc<Sandbox>>>,
    /// Processes that are believed to be alive.
    alive: Mutex<BTreeMap<u32, Arc<Sandbox>>>,
    supervisors: Mutex<JoinSet<()>>,
    invocations: AtomicU64,
}

/// An invocation that took place.
#[derive(Debug)]
pub(crate) struct Invoked {
    pub(crate) request_id: String,
    pub(crate) reply: Reply,
    /// Last lines of its output, where they were wanted.
    pub(crate) tail: String,
}

/// Whether the caller of a function wants to see the end of its output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogTail {
    Wanted,
    Unwanted,
}

/// Why an invocation did not take place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotInvoked {
    /// All sandboxes stayed busy for the function's whole timeout.
    Busy,
    /// The stack is stopping.
    Stopping,
}

impl Functions {
    /// One pool per function, by short name.
    pub(crate) fn new(
        blueprints: impl IntoIterator<Item = Blueprint>,
        sandboxes_max: usize,
    ) -> Self {
        let pools = blueprints.into_iter().map(|blueprint| {
            let name = blueprint.function.as_ref().to_owned();
            (name, Arc::new(Pool::new(blueprint, sandboxes_max)))
        });
        Self { pools: pools.collect() }
    }

    /// The pool of a function, by short name.
    pub(crate) fn pool(&self, short: &str) -> Option<&Arc<Pool>> {
        self.pools.get(short)
    }

    /// Ends all processes, invocations in progress included.
    pub(crate) fn end(&self) {
        for pool in self.pools.values() {
            pool.close();
        }
    }

    /// Ends all processes and waits until they have ended.
    pub(crate) async fn stop(&self) {
        self.end();
        for pool in self.pools.values() {
            pool.ended().await;
        }
    }
}

impl Pool {
    fn new(blueprint: Blueprint, sandboxes_max: usize) -> Self {
        Self {
            blueprint,
            permits: Arc::new(Semaphore::new(sandboxes_max)),
            idle: Mutex::default(),
            alive: Mutex::default(),
            supervisors: Mutex::default(),
            invocations: AtomicU64::new(0),
        }
    }

    /// Invokes the function, waiting for a free sandbox for at most the function's timeout.
    ///
    /// As on AWS, an invocation that has begun goes on when its caller goes away.
    pub(crate) async fn invoke(
        self: &Arc<Self>,
        payload: Bytes,
        tail: LogTail,
    ) -> Result<Invoked, NotInvoked> {
        let permit = timeout(self.blueprint.timeout, Arc::clone(&self.permits).acquire_owned());
        let permit =
            permit.await.map_err(|_| NotInvoked::Busy)?.map_err(|_| NotInvoked::Stopping)?;
        let pool = Arc::clone(self);
        let invocation = tokio::spawn(async move {
            let invoked = pool.run(payload, tail).await;
            drop(permit);
            invoked
        });
        invocation.await.map_err(|_| NotInvoked::Stopping)
    }

    /// Processes that are alive.
    pub(crate) fn pids(&self) -> Vec<u32> {
        let alive = lock(&self.alive);
        alive
            .values()
            .filter(|sandbox| sandbox.seems_alive())
            .map(|sandbox| sandbox.pid())
            .collect()
    }

    /// How many invocations were made.
    pub(crate) fn invocations(&self) -> u64 {
        self.invocations.load(Ordering::Relaxed)
    }

    async fn run(&self, payload: Bytes, wanted: LogTail) -> Invoked {
        self.invocations.fetch_add(1, Ordering::Relaxed);
        let request_id = Uuid::new_v4().to_string();
        let mut tail = String::new();
        let mut reason = String::new();
        for _ in 0..ATTEMPTS_MAX {
            let sandbox = match self.sandbox().await {
                Ok(sandbox) => sandbox,
                Err(error) => {
                    reason = format!("{}: {error}", self.blueprint.binary.display());
                    break;
                }
            };
            let ended = sandbox.invoke(&request_id, payload.clone(), self.blueprint.timeout).await;
            tail = tail_of(&sandbox, wanted).await;
            match ended {
                Ended::Replied(reply) => {
                    self.put_back(sandbox);
                    return Invoked { request_id, reply, tail };
                }
                Ended::TimedOut => {
                    self.discard(&sandbox);
                    let message = format!(
                        "Task timed out after {:.2} seconds",
                        self.blueprint.timeout.as_secs_f64()
                    );
                    let reply = Err(error_document(&request_id, "Sandbox.Timedout", &message));
                    return Invoked { request_id, reply, tail };
                }
                Ended::NeverStarted(exit) => {
                    self.discard(&sandbox);
                    reason = exit;
                }
            }
        }
        let message = format!("Runtime exited before it asked for work: {reason}");
        let reply = Err(error_document(&request_id, "Runtime.ExitError", &message));
        Invoked { request_id, reply, tail }
    }

    async fn sandbox(&self) -> io::Result<Arc<Sandbox>> {
        loop {
            let Some(sandbox) = lock(&self.idle).pop() else { break };
            if sandbox.is_alive().await {
                return Ok(sandbox);
            }
            self.discard(&sandbox);
        }
        let sandbox = Arc::new(Sandbox::start(&self.blueprint, &self.supervisors).await?);
        lock(&self.alive).insert(sandbox.pid(), Arc::clone(&sandbox));
        Ok(sandbox)
    }

    fn put_back(&self, sandbox: Arc<Sandbox>) {
        // While the stack stops, whatever is put back would be found by nobody.
        if sandbox.seems_alive() && !self.permits.is_closed() {
            lock(&self.idle).push(sandbox);
        } else {
            self.discard(&sandbox);
        }
    }

    fn discard(&self, sandbox: &Arc<Sandbox>) {
        let mut alive = lock(&self.alive);
        // Another process may have been given the same id since.
        if alive.get(&sandbox.pid()).is_some_and(|known| Arc::ptr_eq(known, sandbox)) {
            alive.remove(&sandbox.pid());
        }
        drop(alive);
        sandbox.end();
    }

    fn close(&self) {
        self.permits.close();
        lock(&self.idle).clear();
        for (_, sandbox) in std::mem::take(&mut *lock(&self.alive)) {
            sandbox.end();
        }
    }

    async fn ended(&self) {
        let mut supervisors = std::mem::take(&mut *lock(&self.supervisors));
        while supervisors.join_next().await.is_some() {}
    }
}

/// Output travels through a pipe, beside the reply, and may arrive a moment after it.
async fn tail_of(sandbox: &Sandbox, wanted: LogTail) -> String {
    match wanted {
        LogTail::Unwanted => String::new(),
        LogTail::Wanted => {
            tokio::time::sleep(OUTPUT_WITHIN).await;
            sandbox.tail()
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
