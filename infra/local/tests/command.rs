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
use serde_json::{Value, json};
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
        let described = described();
        fs::write(path.join("infra/stack.json"), &described).unwrap();
        for function in local::Infrastructure::parse(&described).unwrap().functions {
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

/// The real description, with the test function as one more tool.
fn described() -> String {
    let mut described: Value = serde_json::from_str(include_str!("../../stack.json")).unwrap();
    let resources = described["resources"].as_array_mut().unwrap();
    let is_function = |resource: &&Value| {
        resource["type"] == "aws:lambda/function:Function" && resource["name"] == "mirror-writer"
    };
    let mut tool = resources.iter().find(is_function).unwrap().clone();
    tool["inputs"]["name"] = "plumbline-local-probe-tool".into();
    tool["inputs"]["environment"]["variables"] =
        json!({ "PROBE_IS_TOOL": "yes", "CALL_CONTEXT_KEYS": "[]" });
    tool["outputs"]["arn"] =
        "arn:aws:lambda:us-east-1:000000000000:function:plumbline-local-probe-tool".into();
    resources.push(tool);
    described.to_string()
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
async fn a_tool_is_invoked_as_the_caller_that_the_sample_names() {
    let scratch = Scratch::new("invoke");
    let (mut child, _) = scratch.start().await;
    let invoke = async |arguments: &[&str], sample: &str| {
        fs::write(scratch.0.join("sample.json"), sample).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_plumbline"));
        command.arg("invoke").args(arguments).current_dir(&scratch.0).kill_on_drop(true);
        let output = timeout(SOON, command.output()).await.unwrap().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    };
    let sample = json!({ "input": { "say": "hello" }, "idempotencyKey": "k1",
        "as": { "tenant": "t2", "actor": "agent:7", "actorKind": "agent" } })
    .to_string();
    let (code, data, _) = invoke(&["probe-tool", "sample.json"], &sample).await;
    let expected = json!({ "tenant": "t2", "actor": "agent:7", "actorKind": "agent", "key": "k1", "said": { "text": "hello" } });
    assert_eq!((code, serde_json::from_str(&data).ok()), (0, Some(expected)));
    let options = ["--tenant", "t3", "--actor", "service:x", "--kind", "service", "--key", "k2"];
    let arguments = [["plumbline-local-probe-tool", "sample.json"].as_slice(), &options].concat();
    let (code, data, _) = invoke(&[arguments.as_slice(), &["--raw"]].concat(), &sample).await;
    let expected = r#"{"actor":"service:x","actorKind":"service","key":"k2","said":{"text":"hello"},"tenant":"t3"}"#;
    assert_eq!((code, data.as_str()), (0, format!("{expected}\n").as_str()));
    let wrong = r#"{"input":{"say":"hello","tenantId":"t2"}}"#;
    let (code, data, talk) = invoke(&["probe-tool", "sample.json"], wrong).await;
    let answer: Value = serde_json::from_str(&data).unwrap();
    assert_eq!((code, &answer["error"]["field"]), (1, &json!("input.tenantId")), "{talk}");
    for (arguments, sample, said) in [
        (["probe-tool", "absent.json"], "", "error: absent.json: No such file"),
        (
            ["probe-tool", "sample.json"],
            "{\n",
            "error: sample.json: EOF while parsing an object at line 2 column 0",
        ),
        (
            ["probe-tool", "sample.json"],
            "{}",
            "error: sample.json: missing field `input` at line 1 column 2",
        ),
        (
            ["probe-tool", "sample.json"],
            r#"{"input":{},"as":{"tenant":"T"}}"#,
            "error: sample.json: as.tenant must be 1 to 63",
        ),
        (
            ["mirror-writer", "sample.json"],
            wrong,
            "error: there is no tool mirror-writer; there are ",
        ),
        (["probe-tool", "--tenant=T"], "", "error: invalid value 'T' for '--tenant <ID>'"),
    ] {
        let (code, data, talk) = invoke(&arguments, sample).await;
        assert_eq!((code, data.as_str()), (2, ""), "{talk}");
        assert!(talk.starts_with(said), "{talk}");
    }
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
