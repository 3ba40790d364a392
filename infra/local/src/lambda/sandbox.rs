//! A sandbox: one process of a function, with a Runtime API of its own.

use std::{
    collections::{BTreeMap, VecDeque},
    io,
    os::unix::process::ExitStatusExt,
    path::PathBuf,
    process::{ExitStatus, Stdio},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use tokio::{
    net::TcpListener,
    process::{Child, Command},
    sync::{mpsc, oneshot, watch},
    task::JoinSet,
    time::timeout,
};

use super::{
    runtime_api::{Exchange, Job, Reply, error_document},
    watchdog::Watchdog,
};
use crate::{
    http::{Stop, Stopper},
    logs::{LogLine, Logs, read_lines},
};

/// How long a process may take to ask for its first invocation: AWS's 10 s, doubled for a busy laptop.
const INIT_WITHIN: Duration = Duration::from_secs(20);

/// How long to wait for the last lines of a process that has ended.
const LAST_LINES_WITHIN: Duration = Duration::from_secs(1);

/// What `X-Amz-Log-Result` holds at most.
const TAIL_BYTES_MAX: usize = 4096;

/// What all sandboxes of one function have in common.
#[derive(Debug)]
pub(crate) struct Blueprint {
    pub(crate) function: Arc<str>,
    pub(crate) arn: String,
    pub(crate) binary: PathBuf,
    pub(crate) environment: BTreeMap<String, String>,
    pub(crate) timeout: Duration,
    pub(crate) logs: Arc<Logs>,
    pub(crate) watchdog: Arc<Watchdog>,
}

/// A running process. Dropping it ends the process.
#[derive(Debug)]
pub(crate) struct Sandbox {
    pid: u32,
    jobs: mpsc::Sender<Job>,
    exchange: Arc<Exchange>,
    exited: watch::Receiver<Option<String>>,
    tail: Arc<Tail>,
    questions: mpsc::Sender<oneshot::Sender<bool>>,
    running: Stopper,
}

/// How an invocation ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// The function answered, or died on it.
    Replied(Reply),
    /// The function's time is up; the process must go.
    TimedOut,
    /// The process ended, or hung, before it took the invocation.
    NeverStarted(String),
}

/// The last lines of the current invocation.
#[derive(Debug, Default)]
pub(crate) struct Tail(Mutex<VecDeque<String>>);

impl Sandbox {
    /// Starts a process; its end is watched by a task in `supervisors`.
    pub(crate) async fn start(
        blueprint: &Blueprint,
        supervisors: &Mutex<JoinSet<()>>,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let port = listener.local_addr()?.port();
        let mut command = Command::new(&blueprint.binary);
        command.env_clear().envs(&blueprint.environment);
        command.env("AWS_LAMBDA_RUNTIME_API", format!("127.0.0.1:{port}"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Ctrl-C in a terminal reaches the stack, which then ends its functions in order.
        command.process_group(0).kill_on_drop(true);
        let child = command.spawn()?;
        let pid = child.id().unwrap_or_default();
        blueprint.watchdog.add(pid);
        let (exchange, jobs) = Exchange::new(&blueprint.arn, blueprint.timeout, port);
        let (running, stop) = Stopper::new();
        let (exit, exited) = watch::channel(None);
        let (questions, asked) = mpsc::channel(1);
        let tail = Arc::new(Tail::default());
        let supervisor = Supervisor {
            child,
            pid,
            function: Arc::clone(&blueprint.function),
            logs: Arc::clone(&blueprint.logs),
            watchdog: Arc::clone(&blueprint.watchdog),
            exchange: Arc::clone(&exchange),
            tail: Arc::clone(&tail),
            exit,
        };
        let mut supervisors = supervisors.lock().unwrap_or_else(PoisonError::into_inner);
        while supervisors.try_join_next().is_some() {}
        supervisors.spawn(supervisor.run(listener, stop, asked));
        Ok(Self { pid, jobs, exchange, exited, tail, questions, running })
    }

    /// The process.
    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// Whether the process has not ended yet, as far as is known.
    pub(crate) fn seems_alive(&self) -> bool {
        self.exited.borrow().is_none()
    }

    /// Whether the process has not ended yet, according to the operating system.
    ///
    /// Its connection may outlive it by a moment, in which it would be given work.
    pub(crate) async fn is_alive(&self) -> bool {
        let (answer, answered) = oneshot::channel();
        self.questions.send(answer).await.is_ok() && answered.await.unwrap_or(false)
    }

    /// Ends the process.
    pub(crate) fn end(&self) {
        self.running.stop();
    }

    /// The last lines that the current, or last, invocation wrote.
    pub(crate) fn tail(&self) -> String {
        self.tail.text()
    }

    /// Has the process do one invocation.
    pub(crate) async fn invoke(&self, request_id: &str, payload: Bytes, within: Duration) -> Ended {
        self.tail.clear();
        let (started, mut starts) = oneshot::channel();
        let (reply, mut replies) = oneshot::channel();
        let job = Job { request_id: request_id.to_owned(), payload, started, reply };
        if self.jobs.send(job).await.is_err() {
            return Ended::NeverStarted("the process is gone".to_owned());
        }
        let mut exited = self.exited.clone();
        tokio::select! {
            biased;
            Ok(()) = &mut starts => {}
            exit = exit_of(&mut exited) => return self.never_started(exit),
            () = tokio::time::sleep(INIT_WITHIN) => {
                return self.never_started(format!("no request for work within {} s", INIT_WITHIN.as_secs()));
            }
        }
        let reply = async {
            tokio::select! {
                biased;
                reply = &mut replies => reply,
                exit = exit_of(&mut exited) => {
                    // The process died in the moment in which it took the invocation.
                    self.exchange.fail_current(|id| exit_document(id, &exit));
                    replies.await
                }
            }
        };
        match timeout(within, reply).await {
            Ok(Ok(reply)) => Ended::Replied(reply),
            // A started invocation is always answered, unless the supervisor was aborted.
            Ok(Err(_)) => Ended::Replied(Err(exit_document(request_id, "the local stack stopped"))),
            Err(_) => Ended::TimedOut,
        }
    }

    fn never_started(&self, exit: String) -> Ended {
        let reported = self.exchange.init_error();
        let reported = reported.map(|error| String::from_utf8_lossy(&error).into_owned());
        Ended::NeverStarted(reported.unwrap_or(exit))
    }
}

/// Follows one process from its start to its end.
struct Supervisor {
    child: Child,
    pid: u32,
    function: Arc<str>,
    logs: Arc<Logs>,
    watchdog: Arc<Watchdog>,
    exchange: Arc<Exchange>,
    tail: Arc<Tail>,
    exit: watch::Sender<Option<String>>,
}

impl Supervisor {
    async fn run(
        mut self,
        listener: TcpListener,
        mut stop: Stop,
        mut asked: mpsc::Receiver<oneshot::Sender<bool>>,
    ) {
        let mut output = JoinSet::new();
        if let Some(stdout) = self.child.stdout.take() {
            output.spawn(read_lines(stdout, self.line_sink()));
        }
        if let Some(stderr) = self.child.stderr.take() {
            output.spawn(read_lines(stderr, self.line_sink()));
        }
        // Aborted when this ends: a process that is gone asks nothing more.
        let mut server = JoinSet::new();
        server.spawn(Arc::clone(&self.exchange).serve(listener, stop.clone()));
        let status = loop {
            tokio::select! {
                status = self.child.wait() => break status,
                Some(answer) = asked.recv() => {
                    let _ = answer.send(matches!(self.child.try_wait(), Ok(None)));
                }
                () = stop.requested() => {
                    let _ = self.child.start_kill();
                    break self.child.wait().await;
                }
            }
        };
        self.watchdog.remove(self.pid);
        let exit = status.map_or_else(|error| error.to_string(), describe);
        // First the output, so that a caller who sees the failure also finds the reason in the log.
        let _ =
            timeout(LAST_LINES_WITHIN, async { while output.join_next().await.is_some() {} }).await;
        self.exchange.fail_current(|id| exit_document(id, &exit));
        self.exit.send_replace(Some(exit));
    }

    fn line_sink(&self) -> impl FnMut(&str) + Send + 'static {
        let (function, logs, tail) =
            (Arc::clone(&self.function), Arc::clone(&self.logs), Arc::clone(&self.tail));
        let process = self.pid;
        move |text| {
            tail.push(text);
            logs.add(LogLine { function: Arc::clone(&function), process, text: text.into() });
        }
    }
}

impl Tail {
    fn push(&self, line: &str) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.push_back(line.to_owned());
        while TAIL_BYTES_MAX < lines.iter().map(|line| line.len() + 1).sum() {
            lines.pop_front();
        }
    }

    fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn text(&self) -> String {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect()
    }
}

async fn exit_of(exited: &mut watch::Receiver<Option<String>>) -> String {
    match exited.wait_for(Option::is_some).await {
        Ok(exit) => exit.clone().unwrap_or_default(),
        Err(_) => "its supervisor ended".to_owned(),
    }
}

fn exit_document(request_id: &str, exit: &str) -> Bytes {
    error_document(request_id, "Runtime.ExitError", &format!("Runtime exited with error: {exit}"))
}

/// In the words of AWS.
fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(9)) => "signal: killed".to_owned(),
        (None, Some(6)) => "signal: aborted".to_owned(),
        (None, Some(15)) => "signal: terminated".to_owned(),
        (None, Some(signal)) => format!("signal: {signal}"),
        (None, None) => "unknown".to_owned(),
    }
}
