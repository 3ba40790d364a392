//! `plumbline send`: signs and posts sample events, as GitHub does.

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context as _, bail};
use clap::Args;
use lambda_entry::now;
use local::{
    Running, STATE_DIRECTORY, Source,
    tools::{Clients, ContentType, Hookshot, Outgoing, event_of},
};
use serde::Serialize;
use uuid::Uuid;

use super::terminal::{clean, json, print};

/// Sign sample events and post them to a webhook of the running stack
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "the flags of a command line")]
pub(crate) struct Arguments {
    #[arg(
        help = "Files with a body each, such as events/github/workflow_run.completed.json",
        required = true,
        value_name = "FILE"
    )]
    files: Vec<PathBuf>,
    /// Name of the event; without it, what the file's name begins with
    #[arg(long, value_name = "NAME")]
    event: Option<String>,
    /// Source that sends; without it, the first hook
    #[arg(long, value_name = "ID")]
    source: Option<String>,
    /// Id of the delivery, to send one again; without it, a new one for each file
    #[arg(long, value_name = "ID")]
    delivery: Option<String>,
    /// Send the body in a form, as hooks with the content type application/x-www-form-urlencoded do
    #[arg(long)]
    form: bool,
    /// Sign with this instead of the source's secret, to see a forged delivery refused
    #[arg(long, value_name = "TEXT")]
    secret: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Folder of the running stack's state
    #[arg(long, value_name = "DIR", default_value = STATE_DIRECTORY)]
    state: PathBuf,
}

/// A file, ready to be sent.
struct Sample {
    file: String,
    event: String,
    delivery_id: String,
    body: String,
}

/// What became of it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Sent {
    file: String,
    event: String,
    delivery_id: String,
    source: String,
    status: u16,
    body: String,
}

/// Sends all files, in order. The exit code is 1 if any answer is not a 2xx.
pub(crate) async fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let running = Running::find(&arguments.state)?;
    let source = source(&running, arguments.source.as_deref())?;
    let samples = samples(&arguments)?;
    let secret = match &arguments.secret {
        Some(secret) => secret.clone(),
        None => Clients::new(&running)?.secret(source, now()).await,
    };
    let content_type = if arguments.form { ContentType::Form } else { ContentType::Json };
    let width = samples.iter().map(|sample| sample.file.chars().count()).max().unwrap_or_default();
    let hookshot = Hookshot::new()?;
    let mut all = Vec::new();
    for sample in samples {
        let outgoing = Outgoing {
            event: &sample.event,
            delivery_id: &sample.delivery_id,
            body: &sample.body,
            content_type,
        };
        let answered = hookshot.send(source, &secret, &outgoing).await?;
        let sent = Sent {
            file: sample.file,
            event: sample.event,
            delivery_id: sample.delivery_id,
            source: source.id.clone(),
            status: answered.status,
            body: answered.body,
        };
        if !arguments.json {
            print(&sent.line(width))?;
        }
        all.push(sent);
    }
    if arguments.json {
        print(&json(&all)?)?;
    }
    let taken = all.iter().all(|sent| (200..300).contains(&sent.status));
    Ok(if taken { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl Sent {
    fn line(&self, file_width: usize) -> String {
        let (file, id) = (clean(&self.file), clean(&self.delivery_id));
        format!("{file:file_width$}  {id}  {}  {}\n", self.status, clean(&self.body))
    }
}

/// The source by this id, or the first hook: what most people try first.
fn source<'a>(running: &'a Running, id: Option<&str>) -> anyhow::Result<&'a Source> {
    let sources = &running.sources;
    let Some(id) = id else {
        let hook = sources.iter().find(|source| source.kind == "Hook");
        return hook.context("the stack has no hook; name a source with --source");
    };
    let known = || sources.iter().map(|source| source.id.as_str()).collect::<Vec<_>>().join(", ");
    let found = sources.iter().find(|source| source.id == id);
    found.with_context(|| format!("the stack has no source {id}; it has {}", known()))
}

/// Reads all files before the first one is sent: a misspelt name should not leave half of them sent.
fn samples(arguments: &Arguments) -> anyhow::Result<Vec<Sample>> {
    if arguments.delivery.is_some() && 1 < arguments.files.len() {
        bail!("--delivery names one delivery; send one file with it");
    }
    let id = || arguments.delivery.clone().unwrap_or_else(|| Uuid::new_v4().to_string());
    let sample = |file: &PathBuf| {
        Ok(Sample {
            file: file.display().to_string(),
            event: event(file, arguments.event.as_deref())?,
            delivery_id: id(),
            body: fs::read_to_string(file).with_context(|| file.display().to_string())?,
        })
    };
    arguments.files.iter().map(sample).collect()
}

fn event(file: &Path, named: Option<&str>) -> anyhow::Result<String> {
    let event = named.or_else(|| event_of(file)).map(str::to_owned);
    event.with_context(|| format!("{} is not named after an event; use --event", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_event_is_named_by_the_file_unless_it_is_named_otherwise() {
        let file = Path::new("events/github/workflow_run.completed.json");
        assert_eq!(event(file, None).unwrap(), "workflow_run");
        assert_eq!(event(file, Some("push")).unwrap(), "push");
        assert!(event(Path::new(".json"), None).unwrap_err().to_string().contains("--event"));
    }

    #[test]
    fn a_line_repeats_nothing_that_a_terminal_would_obey() {
        let sent = Sent {
            file: "a.json".to_owned(),
            event: "a".to_owned(),
            delivery_id: "d-1".to_owned(),
            source: "acme".to_owned(),
            status: 502,
            body: "\u{1b}[31mno\nway".to_owned(),
        };
        assert_eq!(sent.line(8), "a.json    d-1  502  no way\n");
    }
}
