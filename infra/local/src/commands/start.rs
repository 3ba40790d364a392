//! `plumbline start`: the local stack in the foreground.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use anyhow::{Context, bail};
use clap::Args;
use github::verify::{WebhookSecret, sign};
use local::{
    Description, Infrastructure, LogOptions, PORT, RUNNING_FILE, Running, STATE_DIRECTORY, Source,
    Stack, StackOptions, State,
};
use tokio::signal::unix::{Signal, SignalKind, signal};
use uuid::Uuid;

use super::workspace::Workspace;

/// Exit code of what was interrupted before it had done anything.
const CANCELLED: u8 = 2;

/// A delivery that every source understands: GitHub sends one when a webhook is created.
const PING: &str =
    r#"{"zen":"Design for failure.","hook_id":1,"hook":{"type":"Repository","id":1}}"#;

/// A sample that names a repository, and the life of one of its runs.
const REGISTERED: &str = "events/github/workflow_run.requested.json";
const SENT: &str =
    "events/github/workflow_run.requested.json events/github/workflow_run.completed.json";

/// Start the local stack
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Port for deliveries on 127.0.0.1; 0 for any free one
    #[arg(long, default_value_t = PORT)]
    port: u16,
    /// Folder for state and running.json
    #[arg(long, value_name = "DIR", default_value = STATE_DIRECTORY)]
    state: PathBuf,
    /// Keep everything in memory; only running.json is written
    #[arg(long)]
    ephemeral: bool,
    /// Folder with built functions; without it they are built from the workspace
    #[arg(long, value_name = "DIR")]
    functions: Option<PathBuf>,
    /// API that every GitHub connection reads, instead of the one that stack.json names
    #[arg(long, value_name = "URL")]
    github_api: Option<String>,
}

/// Starts the stack and runs it until it is told to stop.
pub(crate) async fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    // From here on: a Ctrl-C during the build must not leave a half-started stack.
    let mut interrupt = signal(SignalKind::interrupt()).context("SIGINT")?;
    let mut terminate = signal(SignalKind::terminate()).context("SIGTERM")?;
    let Some(workspace) = Workspace::find() else {
        bail!("no infra/stack.json found; run plumbline inside its workspace");
    };
    let text = std::fs::read_to_string(workspace.description());
    let text = text.with_context(|| workspace.description().display().to_string())?;
    if arguments.functions.is_none() {
        let described = Infrastructure::parse(&text)?;
        let packages: Vec<_> =
            described.functions.into_iter().map(|function| function.short).collect();
        let built = tokio::select! {
            biased;
            () = told(&mut interrupt, &mut terminate) => return Ok(ExitCode::from(CANCELLED)),
            built = workspace.build(&packages) => built,
        };
        built?;
    }
    let stack = tokio::select! {
        stack = Stack::start(options(&arguments, text)) => stack?,
        () = told(&mut interrupt, &mut terminate) => return Ok(ExitCode::from(CANCELLED)),
    };
    if 0 < stack.messages_restored() {
        say(&format!("put {} stored messages back into their queues", stack.messages_restored()));
    }
    let text = introduction(stack.running(), &arguments);
    // Nobody to tell when stdout is closed.
    let _ = io::stdout().write_all(text.as_bytes());
    say("running; Ctrl-C stops everything");
    told(&mut interrupt, &mut terminate).await;
    say(
        "stopping: deliveries in progress and queued messages get a few seconds; Ctrl-C again to stop at once",
    );
    tokio::select! {
        stopped = stack.stop() => {
            let stopped = stopped?;
            if 0 < stopped.messages_stored {
                say(&format!("stored {} queued messages for the next start", stopped.messages_stored));
            }
            if 0 < stopped.messages_lost {
                say(&format!("dropped {} queued messages of an ephemeral stack", stopped.messages_lost));
            }
        }
        () = told(&mut interrupt, &mut terminate) => say("stopped at once"),
    }
    Ok(ExitCode::SUCCESS)
}

fn options(arguments: &Arguments, description: String) -> StackOptions {
    let description = Description::Text(description);
    let state = if arguments.ephemeral {
        State::Ephemeral { running: Some(arguments.state.clone()) }
    } else {
        State::Directory(arguments.state.clone())
    };
    let log_directory = (!arguments.ephemeral).then(|| arguments.state.join("logs"));
    StackOptions {
        functions: arguments.functions.clone(),
        state,
        port: arguments.port,
        github_api: arguments.github_api.clone(),
        logs: LogOptions { stderr: true, directory: log_directory },
        retry_after: Duration::from_secs(1),
        ..StackOptions::ephemeral(description)
    }
}

async fn told(interrupt: &mut Signal, terminate: &mut Signal) {
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}

fn say(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// What somebody who just started the stack wants to paste next.
fn introduction(running: &Running, arguments: &Arguments) -> String {
    let mut lines = vec!["webhooks".to_owned()];
    let width = running.sources.iter().map(|source| source.id.len()).max().unwrap_or_default();
    for source in &running.sources {
        let tenant = source
            .tenant_id
            .as_ref()
            .map(|tenant| format!(", tenant {tenant}"))
            .unwrap_or_default();
        lines.push(format!("  {:width$}  {}  ({}{tenant})", source.id, source.url, source.kind));
    }
    let state = running.state_directory.as_ref().map(|state| state.display().to_string());
    lines.push(format!("state    {}", state.unwrap_or_else(|| "in memory only".to_owned())));
    let file = arguments.state.join(RUNNING_FILE);
    let file = file.canonicalize().unwrap_or(file);
    lines.push(format!("running  {}", file.display()));
    if let Some(source) = running.sources.first() {
        lines.extend(curl(source, &Uuid::new_v4().to_string()).map(|line| format!("  {line}")));
        lines.push(format!("  {}", command("register", REGISTERED, &arguments.state)));
        lines.push(format!("  {}", command("send", SENT, &arguments.state)));
    }
    lines.push(String::new());
    lines.join("\n")
}

/// How this program is called again, for the same state.
fn command(command: &str, arguments: &str, state: &Path) -> String {
    let state = if state == Path::new(STATE_DIRECTORY) {
        String::new()
    } else {
        format!(" --state '{}'", state.display())
    };
    format!("cargo run -q -- {command} {arguments}{state}")
}

/// A signed delivery, ready to paste. None for a source whose secret is too short to sign with.
fn curl(source: &Source, delivery: &str) -> Option<String> {
    let secret = WebhookSecret::new(&source.secret).ok()?;
    let signature = sign(PING.as_bytes(), &secret);
    Some(format!(
        "curl -i '{}' -H 'Content-Type: application/json' -H 'X-GitHub-Event: ping' -H 'X-GitHub-Delivery: {delivery}' -H 'X-GitHub-Hook-ID: 1' -H 'X-Hub-Signature-256: {signature}' -d '{PING}'",
        source.url
    ))
}
