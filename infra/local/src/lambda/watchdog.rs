//! Ends function processes when the stack itself was killed.
//!
//! A killed stack cannot clean up. An idle function ends by itself when its Runtime API goes away, but
//! one that is stuck in its handler would live on. A small shell holds the other end of a pipe: the
//! pipe closes with the stack, however it dies, and the shell then kills what was left.

use std::{
    io,
    process::Stdio,
    sync::{Mutex, PoisonError},
};

use tokio::{
    io::AsyncWriteExt,
    process::{Child, ChildStdin, Command},
    sync::mpsc,
    task::JoinHandle,
};

/// Reads `+ pid` and `- pid`, and at the end of its input kills the process groups that remain.
/// It ignores Ctrl-C, which reaches the whole terminal, because the stack is still busy then.
const SCRIPT: &str = r#"
trap '' INT TERM HUP
pids=' '
while read -r change pid; do
  case "$change" in
    +) pids="$pids$pid " ;;
    -) case "$pids" in *" $pid "*) pids="${pids%% $pid *} ${pids#* $pid }" ;; esac ;;
  esac
done
for pid in $pids; do kill -s KILL -- "-$pid" 2>/dev/null; done
"#;

/// The shell, and what is still to be told to it.
#[derive(Debug)]
pub(crate) struct Watchdog {
    changes: Mutex<Option<mpsc::UnboundedSender<String>>>,
    writer: Mutex<Option<JoinHandle<()>>>,
}

impl Watchdog {
    /// Starts the shell.
    pub(crate) fn start() -> io::Result<Self> {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", SCRIPT]).env_clear().current_dir("/").process_group(0);
        shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut shell = shell.spawn()?;
        let input = shell.stdin.take().ok_or_else(|| io::Error::other("no pipe to the shell"))?;
        let (changes, receiver) = mpsc::unbounded_channel();
        let writer = tokio::spawn(write(shell, input, receiver));
        Ok(Self { changes: Mutex::new(Some(changes)), writer: Mutex::new(Some(writer)) })
    }

    /// A process group that must not outlive the stack.
    pub(crate) fn add(&self, pid: u32) {
        self.tell(format!("+ {pid}\n"));
    }

    /// A process group that has ended.
    pub(crate) fn remove(&self, pid: u32) {
        self.tell(format!("- {pid}\n"));
    }

    /// Ends the shell.
    pub(crate) async fn stop(&self) {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner).take();
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(writer) = writer {
            let _ = writer.await;
        }
    }

    fn tell(&self, change: String) {
        let changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(changes) = &*changes {
            let _ = changes.send(change);
        }
    }
}

async fn write(
    mut shell: Child,
    mut input: ChildStdin,
    mut changes: mpsc::UnboundedReceiver<String>,
) {
    while let Some(change) = changes.recv().await {
        if input.write_all(change.as_bytes()).await.is_err() {
            break;
        }
    }
    drop(input);
    let _ = shell.wait().await;
}
