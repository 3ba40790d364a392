//! The commands, as a newcomer runs them: the real `plumbline`, its exit codes, and what it leaves behind.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use local::Running;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::process::{Child, Command};

use crate::support::bodies::Run;
use crate::support::world::{signature, within, workspace};

/// The folder of built binaries: tests lie in its `deps`.
fn binaries() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().unwrap().parent().unwrap().to_owned()
}

fn plumbline(arguments: &[&str]) -> Command {
    let mut command = Command::new(binaries().join("plumbline"));
    command.args(arguments).current_dir(workspace()).kill_on_drop(true);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

async fn run(arguments: &[&str]) -> Output {
    within(plumbline(arguments).output()).await.expect("plumbline was built")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// A stack in a process of its own, and its folder.
struct Started {
    child: Child,
    state: tempfile::TempDir,
}

impl Started {
    async fn start(state: tempfile::TempDir, more: &[&str]) -> Self {
        let functions = binaries();
        let mut arguments = vec!["--port", "0", "--functions", functions.to_str().unwrap()];
        arguments.extend(["--state", state.path().to_str().unwrap()]);
        arguments.extend(more);
        let mut command = plumbline(&arguments);
        let mut child = command.stdout(Stdio::null()).spawn().expect("plumbline was built");
        let talk = child.stderr.take().unwrap().into_owned_fd().unwrap();
        let (ready, is_ready) = tokio::sync::oneshot::channel();
        // Read to its end: a pipe that nobody reads would stop the stack.
        std::thread::spawn(move || {
            let mut lines = BufReader::new(std::fs::File::from(talk)).lines().map_while(Result::ok);
            if lines.any(|line| line.starts_with("running")) {
                let _ = ready.send(());
            }
            lines.count()
        });
        within(is_ready).await.expect("the stack starts");
        Self { child, state }
    }

    fn running(&self) -> Running {
        Running::find(self.state.path()).expect("it runs")
    }

    fn state(&self) -> &str {
        self.state.path().to_str().unwrap()
    }

    /// Runs a command against this stack.
    async fn tell(&self, arguments: &[&str]) -> Output {
        let mut all = arguments.to_vec();
        all.extend(["--state", self.state()]);
        run(&all).await
    }

    async fn json(&self, arguments: &[&str]) -> Value {
        let output = self.tell(arguments).await;
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        serde_json::from_slice(&output.stdout).expect("JSON")
    }

    /// Posts a run's body to source `acme`, signed.
    async fn post(&self, run: &Run) -> u16 {
        let body = run.body();
        let source = self.running().sources.into_iter().find(|source| source.id == "acme").unwrap();
        let request = reqwest::Client::new()
            .post(&source.url)
            .header("X-GitHub-Event", "workflow_run")
            .header("X-GitHub-Delivery", uuid::Uuid::new_v4().to_string())
            .header("X-Hub-Signature-256", signature(body.as_bytes(), &source.secret))
            .header("Content-Type", "application/json");
        request.body(body).send().await.expect("the door answers").status().as_u16()
    }

    /// What `show WHAT --json` gives once it has `count` rows.
    async fn shown(&self, what: &str, count: usize) -> Value {
        let shown = async {
            loop {
                let rows = self.json(&["show", what, "--json"]).await;
                if rows.as_array().unwrap().len() == count {
                    return rows;
                }
            }
        };
        within(shown).await
    }

    /// Ends it as Ctrl-C does, and gives its folder back.
    async fn interrupt(mut self) -> tempfile::TempDir {
        let pid = Pid::from_raw(i32::try_from(self.child.id().unwrap()).unwrap()).unwrap();
        kill_process(pid, Signal::INT).unwrap();
        let status = within(self.child.wait()).await.unwrap();
        assert!(status.success(), "{status}");
        self.state
    }
}

fn scratch() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

#[tokio::test]
async fn the_demo_ends_as_its_story_tells() {
    let functions = binaries();
    let functions = functions.to_str().unwrap();
    let output = run(&["demo", "--functions", functions, "--json"]).await;
    assert!(output.status.success(), "{output:?}");
    let steps: Vec<Value> =
        stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(10 < steps.len());
    for step in steps {
        assert_eq!(step["ok"], true, "{step}");
        assert!(step["step"].is_string() && !step["expected"].is_null(), "{step}");
        assert_eq!(step["expected"], step["observed"]);
    }
    let text = run(&["demo", "--functions", functions]).await;
    assert!(text.status.success() && stdout(&text).contains("Succeeded"));
}

#[tokio::test]
async fn a_story_that_ends_otherwise_is_exit_code_1() {
    let told = std::fs::read_to_string(workspace().join("events/stories/demo.json")).unwrap();
    // Beside the original, for the samples that it names.
    let folder = workspace().join("events/stories");
    let other = tempfile::Builder::new().suffix(".json").tempfile_in(&folder).unwrap();
    std::fs::write(other.path(), told.replace("\"Succeeded\"", "\"Failed\"")).unwrap();
    let functions = binaries();
    let story = other.path().to_str().unwrap();
    let output = run(&["demo", "--functions", functions.to_str().unwrap(), "--story", story]).await;
    assert_eq!(output.status.code(), Some(1), "{output:?}");
}

#[tokio::test]
async fn what_was_sent_is_shown_and_survives_a_restart() {
    let stack = Started::start(scratch(), &[]).await;
    assert_eq!(stack.json(&["show", "runs", "--json"]).await, serde_json::json!([]));
    let sample = "events/github/workflow_run.completed.json";
    assert!(stack.tell(&["register", sample]).await.status.success());
    assert!(stack.tell(&["send", sample]).await.status.success());
    let shown = stack.shown("runs", 1).await;
    assert_eq!(shown[0]["state"], "Succeeded");
    assert_eq!(shown[0]["tenantId"], "t1");
    assert_eq!(stack.shown("deliveries", 1).await[0]["outcome"], "applied");
    let table = stack.tell(&["show", "runs", "--repository", "acme/storefront"]).await;
    assert!(stdout(&table).contains("Succeeded"), "{table:?}");
    let none = stack.json(&["show", "runs", "--repository", "acme/other", "--json"]).await;
    assert_eq!(none, serde_json::json!([]));
    let secrets: Vec<_> = stack.running().sources.into_iter().map(|source| source.secret).collect();

    let state = stack.interrupt().await;
    assert!(!state.path().join("running.json").exists());
    let again = Started::start(state, &[]).await;
    assert_eq!(again.json(&["show", "runs", "--json"]).await, shown);
    let kept: Vec<_> = again.running().sources.into_iter().map(|source| source.secret).collect();
    assert_eq!(kept, secrets);
    again.interrupt().await;
}

#[tokio::test]
async fn an_ephemeral_stack_keeps_nothing() {
    let stack = Started::start(scratch(), &["--ephemeral"]).await;
    assert_eq!(stack.post(&Run::of("queued", None, 0)).await, 202);
    assert_eq!(stack.shown("deliveries", 1).await[0]["outcome"], "unregistered");
    let state = stack.interrupt().await;
    let left: Vec<_> = std::fs::read_dir(state.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .filter(|name| *name != "lock")
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test]
async fn one_tenants_repository_is_refused_to_another() {
    let stack = Started::start(scratch(), &["--ephemeral"]).await;
    let claim = |tenant| {
        [
            "register",
            "--repository",
            "a/b",
            "--repository-id",
            "11",
            "--tenant",
            tenant,
            "--project",
            "p",
        ]
    };
    assert!(stack.tell(&claim("t1")).await.status.success());
    assert!(stack.tell(&claim("t1")).await.status.success(), "one's own claim may be repeated");
    assert_eq!(stack.tell(&claim("t2")).await.status.code(), Some(1));
    assert_eq!(stack.post(&Run::of("queued", None, 0)).await, 202);
    assert_eq!(stack.shown("runs", 1).await[0]["tenantId"], "t1");
    stack.interrupt().await;
}

#[tokio::test]
async fn a_forged_delivery_is_exit_code_1() {
    let stack = Started::start(scratch(), &["--ephemeral"]).await;
    let sample = "events/github/workflow_run.completed.json";
    let forged = ["send", sample, "--secret", "not-the-secret-at-all", "--json"];
    let output = stack.tell(&forged).await;
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).contains("401"), "{output:?}");
    stack.interrupt().await;
}

#[tokio::test]
async fn without_a_stack_a_command_says_how_to_start_one() {
    let state = scratch();
    let state = state.path().to_str().unwrap();
    for command in [vec!["show", "runs"], vec!["send", "events/github/ping.json"]] {
        let output = run(&[&command[..], &["--state", state]].concat()).await;
        assert_eq!(output.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&output.stderr).contains("cargo run"), "{output:?}");
    }
}

#[tokio::test]
async fn nothing_but_this_start_s_key_opens_the_services() {
    let stack = Started::start(scratch(), &["--ephemeral"]).await;
    let running = stack.running();
    let authorized = format!(
        "AWS4-HMAC-SHA256 Credential={}/20261130/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0",
        running.credentials.access_key_id
    );
    let status = async |headers: &[(&str, &str)]| {
        let mut request = reqwest::Client::new()
            .post(&running.urls.dynamodb)
            .header("X-Amz-Target", "DynamoDB_20120810.ListTables")
            .header("Content-Type", "application/x-amz-json-1.0");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body("{}").send().await.unwrap().status().as_u16()
    };
    assert_eq!(status(&[("Authorization", &authorized)]).await, 200);
    let stranger = authorized.replace(&running.credentials.access_key_id, "AKIAIOSFODNN7EXAMPLE");
    assert_eq!(status(&[]).await, 403);
    assert_eq!(status(&[("Authorization", &stranger)]).await, 403);
    assert_eq!(status(&[("Authorization", &authorized), ("Host", "evil.example")]).await, 403);
    let page = [("Authorization", &*authorized), ("Origin", "https://evil.example")];
    assert_eq!(status(&page).await, 403);
    for file in ["running.json", "lock"] {
        assert_eq!(mode(&stack.state.path().join(file)) & 0o077, 0, "{file} is its owner's");
    }
    stack.interrupt().await;
}

fn mode(path: &Path) -> u32 {
    std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(path).unwrap().permissions())
}
