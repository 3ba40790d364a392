//! `plumbline` as a program: what it leaves behind when it ends, and when it is ended.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "clippy's allow-in-tests skips helper functions"
)]
#![expect(clippy::disallowed_methods, reason = "a delivery hangs while the test goes on")]

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use local::Running;
use serde_json::json;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, BufReader},
    process::{Child, Command},
    time::timeout,
};

const SOON: Duration = Duration::from_secs(20);

/// A folder that looks like a workspace, with the test function in place of the real ones.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("plumbline-command-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(path.join("infra")).unwrap();
        fs::create_dir_all(path.join("bin")).unwrap();
        let probe =
            Path::new(env!("CARGO_BIN_EXE_plumbline")).parent().unwrap().join("examples/probe");
        let described = include_str!("../../stack.json");
        fs::write(path.join("infra/stack.json"), described).unwrap();
        for function in local::Infrastructure::parse(described).unwrap().functions {
            symlink(&probe, path.join("bin").join(function.short)).unwrap();
        }
        Self(path)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plumbline"));
        command.env("CARGO_MANIFEST_DIR", &self.0).current_dir(&self.0).kill_on_drop(true);
        command.args(["--functions", "bin"]).args(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Starts it and waits until it says that it runs.
    async fn start(&self) -> (Child, Running) {
        let mut child = self.command(&["--port", "0"]).spawn().unwrap();
        let mut talk = BufReader::new(child.stderr.take().unwrap()).lines();
        let running = async {
            while let Some(line) = talk.next_line().await.unwrap() {
                if line.contains("running") {
                    return;
                }
            }
            panic!("it ended early");
        };
        timeout(SOON, running).await.unwrap();
        // Keeps the pipe open: a closed stderr is nothing that this test is about.
        tokio::spawn(async move { while let Ok(Some(_)) = talk.next_line().await {} });
        (child, Running::find(&self.0.join(".plumbline")).unwrap())
    }

    /// Sends a delivery without waiting for its answer, and waits for its function's process.
    async fn hang(&self, running: &Running) -> u32 {
        let request =
            reqwest::Client::new().post(&running.sources[0].url).json(&json!({ "do": "hang" }));
        tokio::spawn(request.send());
        let log = self.0.join(".plumbline/logs/github-webhook.log");
        let hanging = async {
            while !fs::read_to_string(&log).unwrap_or_default().contains("hanging") {
                tokio::task::yield_now().await;
            }
        };
        timeout(SOON, hanging).await.unwrap();
        let processes = fs::read_dir("/proc")
            .unwrap()
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        let binary = self.0.join("bin/github-webhook");
        let binary = binary.canonicalize().unwrap();
        let door = format!("LAMBDA_TASK_ROOT={}", Path::new("bin").display());
        processes
            .filter(|pid: &u32| {
                fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe == binary)
            })
            .find(|pid| {
                let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
                let environment = String::from_utf8_lossy(&environment).into_owned();
                environment.contains(&door) && environment.contains(&running.urls.sqs)
            })
            .unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

async fn signal(child: &mut Child, signal: &str) -> Option<i32> {
    let pid = child.id().unwrap().to_string();
    assert!(Command::new("kill").args([signal, &pid]).status().await.unwrap().success());
    timeout(SOON, child.wait()).await.unwrap().unwrap().code()
}

async fn until_dead(pid: u32) {
    let dead = async {
        // A zombie has no command line any more.
        while fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| !line.is_empty()) {
            tokio::task::yield_now().await;
        }
    };
    timeout(SOON, dead).await.unwrap();
}

#[tokio::test]
async fn a_terminated_stack_ends_well_and_leaves_no_process() {
    let scratch = Scratch::new("term");
    let (mut child, running) = scratch.start().await;
    let pid = scratch.hang(&running).await;
    assert_eq!(signal(&mut child, "-TERM").await, Some(0));
    until_dead(pid).await;
    assert!(!scratch.0.join(".plumbline/running.json").exists());
    let mut data = String::new();
    child.stdout.take().unwrap().read_to_string(&mut data).await.unwrap();
    assert!(data.contains(&running.sources[0].url) && data.contains("sha256="), "{data}");
    assert!(!data.contains(&running.sources[0].secret), "{data}");
}

#[tokio::test]
async fn a_killed_stack_leaves_no_process_and_the_next_one_starts() {
    let scratch = Scratch::new("kill");
    let (mut child, running) = scratch.start().await;
    let pid = scratch.hang(&running).await;
    assert_eq!(signal(&mut child, "-KILL").await, None);
    until_dead(pid).await;
    assert!(scratch.0.join(".plumbline/running.json").exists());
    assert!(Running::find(&scratch.0.join(".plumbline")).is_err());
    let (mut child, next) = scratch.start().await;
    assert_ne!(next.credentials, running.credentials);
    assert_eq!(next.sources[0].secret, running.sources[0].secret);
    assert_eq!(signal(&mut child, "-INT").await, Some(0));
}

#[tokio::test]
async fn a_taken_port_fails_with_a_way_out() {
    let scratch = Scratch::new("port");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let output =
        timeout(SOON, scratch.command(&["--port", &port]).output()).await.unwrap().unwrap();
    let talk = String::from_utf8(output.stderr).unwrap();
    let expected = format!(
        "error: port {port} is already in use; choose another with --port, or --port 0 for any free one\n"
    );
    assert_eq!((output.status.code(), talk), (Some(1), expected));
    assert!(output.stdout.is_empty());
    assert!(!scratch.0.join(".plumbline").exists());
}
