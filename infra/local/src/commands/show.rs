//! `plumbline show`: what the running stack's tables hold.

mod tables;

use std::{io::IsTerminal, path::PathBuf, process::ExitCode, time::Duration};

use anyhow::{Context as _, bail};
use clap::{Args, ValueEnum};
use local::{
    Running, STATE_DIRECTORY,
    tools::{
        BOOKKEEPING_FIELDS, Clients, DELIVERY_FIELDS, Detail, RUN_FIELDS, RepositoryFilter,
        STAGE_FIELDS, delivery_records, run_records, stage_records,
    },
};
use serde::Serialize;
use serde_json::{Map, Value};
use tokio::time::interval;

use super::terminal::{json, print, say};

/// How often a watched table is read.
const READ_EVERY: Duration = Duration::from_secs(1);

/// Empties the screen and starts at its top.
const CLEAR: &str = "\u{1b}[2J\u{1b}[H";

/// Show what the running stack's tables hold
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "the flags of a command line")]
pub(crate) struct Arguments {
    /// What to show
    #[arg(value_enum)]
    what: What,
    /// Of one repository only: by owner/name, by id, or by host/id
    #[arg(long, value_name = "NAME")]
    repository: Option<String>,
    /// Show it again whenever it has changed, until Ctrl-C
    #[arg(long)]
    watch: bool,
    /// Print JSON, of these fields only if any are named: --json=state,commit
    #[arg(long, value_name = "FIELDS", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    json: Option<String>,
    /// Also what depends on the order and time of deliveries: revision, due time, asks, announcement
    #[arg(long)]
    all: bool,
    /// Folder of the running stack's state
    #[arg(long, value_name = "DIR", default_value = STATE_DIRECTORY)]
    state: PathBuf,
}

/// What can be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    /// Mirrored runs, one per attempt, with their stages
    Runs,
    /// Stages (at GitHub: jobs) of all runs
    Stages,
    /// The ledger: each delivery that was taken, and what became of it
    Deliveries,
}

/// How it is printed.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Format {
    Table,
    Json,
    /// JSON of these fields only.
    Fields(Vec<String>),
}

/// What there is to see, and to say about it.
#[derive(Debug, PartialEq, Eq)]
struct View {
    text: String,
    notes: Vec<String>,
}

/// Shows once, or until it is told to stop.
pub(crate) async fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let format = format(&arguments)?;
    let clients = Clients::new(&Running::find(&arguments.state)?)?;
    if !arguments.watch {
        view(&clients, &arguments, &format).await?.print("")?;
        return Ok(ExitCode::SUCCESS);
    }
    tokio::select! {
        failed = watch(&clients, &arguments, &format) => failed,
        told = tokio::signal::ctrl_c() => told.context("SIGINT").map(|()| ExitCode::SUCCESS),
    }
}

async fn watch(
    clients: &Clients,
    arguments: &Arguments,
    format: &Format,
) -> anyhow::Result<ExitCode> {
    let on_screen = *format == Format::Table && std::io::stdout().is_terminal();
    let mut shown = None;
    let mut seconds = interval(READ_EVERY);
    loop {
        seconds.tick().await;
        let view = match view(clients, arguments, format).await {
            Ok(view) => view,
            Err(error) => {
                // A stack that has ended is told in its own words.
                Running::find(&arguments.state)?;
                return Err(error);
            }
        };
        if shown.as_ref() != Some(&view) {
            view.print(if on_screen { CLEAR } else { "" })?;
            shown = Some(view);
        }
    }
}

async fn view(clients: &Clients, arguments: &Arguments, format: &Format) -> anyhow::Result<View> {
    match arguments.what {
        What::Runs | What::Stages => mirrors(clients, arguments, format).await,
        What::Deliveries => deliveries(clients, arguments, format).await,
    }
}

async fn mirrors(
    clients: &Clients,
    arguments: &Arguments,
    format: &Format,
) -> anyhow::Result<View> {
    let mut scanned = clients.mirrors().await?;
    if let Some(filter) = filter(clients, arguments).await? {
        scanned.found.retain(|key| filter.admits(key));
    }
    let detail = if arguments.all { Detail::All } else { Detail::Folded };
    let stages = stage_records(&scanned.found, detail);
    let mut view = match arguments.what {
        What::Stages => View::new(&stages, format, tables::stages)?,
        What::Runs | What::Deliveries => {
            View::new(&run_records(&scanned.found, detail), format, tables::runs)?
        }
    };
    let unseen = stages.iter().filter(|stage| stage.repository.is_none()).count();
    if arguments.what == What::Runs && 0 < unseen {
        view.notes.push(format!(
            "stages of runs of which nothing else was seen yet: {unseen} (plumbline show stages)"
        ));
    }
    view.notes.extend(scanned.unreadable.iter().map(ToString::to_string));
    Ok(view)
}

async fn deliveries(
    clients: &Clients,
    arguments: &Arguments,
    format: &Format,
) -> anyhow::Result<View> {
    let mut scanned = clients.ledger().await?;
    if let Some(filter) = filter(clients, arguments).await? {
        scanned
            .found
            .retain(|entry| entry.repository.as_ref().is_some_and(|key| filter.admits(key)));
    }
    let mut view = View::new(&delivery_records(&scanned.found), format, tables::deliveries)?;
    view.notes.extend(scanned.unreadable.iter().map(ToString::to_string));
    Ok(view)
}

/// What `--repository` names, by all names that are known: those of registrations, and those that runs told.
async fn filter(
    clients: &Clients,
    arguments: &Arguments,
) -> anyhow::Result<Option<RepositoryFilter>> {
    let Some(text) = &arguments.repository else { return Ok(None) };
    let registrations = clients.registrations().await?.found;
    let mirrors = clients.mirrors().await?.found;
    let registered = registrations.iter().map(|known| (&known.repository, known.label.as_str()));
    let told = mirrors
        .runs
        .iter()
        .map(|run| (&run.identity.repository, run.mirror.content.repository_label.as_str()));
    Ok(Some(RepositoryFilter::new(text, registered.chain(told))))
}

impl View {
    fn new<R: Serialize>(
        records: &[R],
        format: &Format,
        table: impl Fn(&[R]) -> String,
    ) -> anyhow::Result<Self> {
        let text = match format {
            Format::Table if records.is_empty() => String::new(),
            Format::Table => table(records),
            Format::Json => json(&records)?,
            Format::Fields(fields) => json(&chosen(records, fields)?)?,
        };
        let nothing = *format == Format::Table && records.is_empty();
        let notes = nothing.then(|| "there is nothing yet".to_owned());
        Ok(Self { text, notes: notes.into_iter().collect() })
    }

    fn print(&self, before: &str) -> anyhow::Result<()> {
        print(&format!("{before}{}", self.text))?;
        self.notes.iter().for_each(|note| say(note));
        Ok(())
    }
}

fn format(arguments: &Arguments) -> anyhow::Result<Format> {
    let fields = match arguments.json.as_deref() {
        None => return Ok(Format::Table),
        Some("") => return Ok(Format::Json),
        Some(fields) => fields.split(',').map(str::to_owned),
    };
    let known = match arguments.what {
        What::Runs => RUN_FIELDS,
        What::Stages => STAGE_FIELDS,
        What::Deliveries => DELIVERY_FIELDS,
    };
    let has_bookkeeping = arguments.all && arguments.what != What::Deliveries;
    let known = [known, if has_bookkeeping { BOOKKEEPING_FIELDS } else { &[] }].concat();
    let fields: Vec<_> = fields.collect();
    if let Some(field) = fields.iter().find(|field| !known.contains(&field.as_str())) {
        bail!("there is no field {field}; there are {}", known.join(", "));
    }
    Ok(Format::Fields(fields))
}

/// The named fields of each record.
fn chosen<R: Serialize>(
    records: &[R],
    fields: &[String],
) -> anyhow::Result<Vec<Map<String, Value>>> {
    let choose = |record: &R| {
        let record = serde_json::to_value(record)?;
        let value = |field: &String| record.get(field).cloned().unwrap_or_default();
        Ok(fields.iter().map(|field| (field.clone(), value(field))).collect())
    };
    records.iter().map(choose).collect()
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Command {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn parsed(words: &str) -> anyhow::Result<Format> {
        let words = std::iter::once("show").chain(words.split(' '));
        format(&Command::try_parse_from(words)?.arguments)
    }

    #[test]
    fn json_is_of_all_fields_or_of_those_that_are_named() {
        assert_eq!(parsed("runs").unwrap(), Format::Table);
        assert_eq!(parsed("runs --json").unwrap(), Format::Json);
        assert_eq!(parsed("--json stages").unwrap(), Format::Json);
        let fields = |names: [&str; 2]| Format::Fields(names.map(str::to_owned).to_vec());
        assert_eq!(parsed("runs --json=state,commit").unwrap(), fields(["state", "commit"]));
        assert_eq!(parsed("stages --json=jobId,asks --all").unwrap(), fields(["jobId", "asks"]));
    }

    #[test]
    fn a_field_that_there_is_not_is_answered_with_those_that_there_are() {
        for words in ["runs --json=sate", "runs --json=revision", "deliveries --json=asks --all"] {
            let error = parsed(words).unwrap_err().to_string();
            assert!(error.contains("there is no field") && error.contains(", "), "{error}");
        }
    }

    #[test]
    fn what_is_empty_is_an_empty_list_in_json_and_a_word_to_the_reader_otherwise() {
        let view = |format| View::new(&[0_u8; 0], &format, |_| "HEADER\n".to_owned()).unwrap();
        assert_eq!(view(Format::Json), View { text: "[]\n".to_owned(), notes: vec![] });
        assert_eq!(view(Format::Fields(vec![])).text, "[]\n");
        assert_eq!(view(Format::Table).text, "");
        assert_eq!(view(Format::Table).notes.len(), 1);
    }
}
