//! `plumbline invoke`: calls a tool of the running stack, as somebody, and prints what it answers.

use std::{
    fs,
    io::{self, Read as _},
    path::PathBuf,
    process::ExitCode,
};

use anyhow::{Context as _, bail};
use clap::Args;
use domain::ids::{Actor, ActorKind, IdError, IdempotencyKey, TenantId};
use lambda_entry::now;
use local::{
    Running, STATE_DIRECTORY,
    identity::{Acting, Asked, Issuer},
    tools::{Invocation, invoke},
};
use serde::Deserialize;
use serde_json::Value;

use super::terminal::{clean, json, print, say};

/// How the command says that it was called wrongly: nothing was invoked.
const USAGE: u8 = 2;

/// What the name of a tool ends with.
const TOOL_SUFFIX: &str = "-tool";

/// Call a tool of the running stack with a sample call, signed as the caller that it names
#[derive(Debug, Args)]
#[command(
    after_help = "A sample call is {\"input\": {…}, \"idempotencyKey\": \"…\", \"as\": {\"tenant\": \"t1\", \
    \"actor\": \"person:alice\", \"actorKind\": \"person\"}}, of which only the input is needed.\n\
    Exit code: 0 if the tool gives its output, 1 if it refuses or fails, 2 if nothing could be sent."
)]
pub(crate) struct Arguments {
    /// Name of the tool
    #[arg(value_name = "TOOL")]
    tool: String,
    /// File with a sample call, or - for stdin
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Tenant of the caller; without it, the file's, else t1
    #[arg(long, value_name = "ID", value_parser = |text: &str| TenantId::new(text))]
    tenant: Option<TenantId>,
    /// Who calls; without it, the file's, else person:alice
    #[arg(long, value_name = "NAME", value_parser = |text: &str| Actor::new(text))]
    actor: Option<Actor>,
    /// What kind of actor that is: person, agent or service; without it, the file's, else person
    #[arg(long, value_name = "KIND", value_parser = ActorKind::parse)]
    kind: Option<ActorKind>,
    /// Idempotency key of the call; without it, the file's, if any
    #[arg(long, value_name = "KEY", value_parser = |text: &str| IdempotencyKey::new(text))]
    key: Option<IdempotencyKey>,
    /// Print the answer as the tool gave it, not indented
    #[arg(long)]
    raw: bool,
    /// Folder of the running stack's state
    #[arg(long, value_name = "DIR", default_value = STATE_DIRECTORY)]
    state: PathBuf,
}

/// A sample call.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Sample {
    input: Value,
    idempotency_key: Option<String>,
    r#as: Option<As>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct As {
    tenant: Option<String>,
    actor: Option<String>,
    actor_kind: Option<String>,
}

/// Calls a tool once.
pub(crate) async fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let sample = match sample(&arguments) {
        Ok(sample) => sample,
        Err(error) => return Ok(usage(&error)),
    };
    let running = Running::find(&arguments.state)?;
    let tool = match tool(&running, &arguments.tool) {
        Ok(tool) => tool,
        Err(error) => return Ok(usage(&error)),
    };
    let issuer = Issuer::new(&running.identity).context("identity of the running stack")?;
    let now = now();
    let (acting, asked) = sample;
    let payload = issuer.payload(&tool, &acting, &asked, now);
    match invoke(&running, &tool, payload, now).await? {
        Invocation::Answered(answer) => answered(&answer, arguments.raw),
        Invocation::Failed(document) => {
            bail!("the function failed: {}", clean(&String::from_utf8_lossy(&document)))
        }
        Invocation::Refused(reason) => bail!("the function was not invoked: {}", clean(&reason)),
    }
}

#[expect(clippy::fn_params_excessive_bools, reason = "a flag of the command line, passed on")]
fn answered(answer: &[u8], raw: bool) -> anyhow::Result<ExitCode> {
    let text = String::from_utf8_lossy(answer);
    let value: Value = serde_json::from_str(&text).context("the answer of the tool")?;
    if raw {
        print(&format!("{text}\n"))?;
    } else {
        print(&json(&value)?)?;
    }
    let is_error = value.get("error").is_some_and(Value::is_object);
    Ok(if is_error { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn usage(error: &anyhow::Error) -> ExitCode {
    let causes: Vec<_> = error.chain().map(ToString::to_string).collect();
    say(&format!("error: {}", causes.join(": ")));
    ExitCode::from(USAGE)
}

/// The tool's own name, which its callers are signed for.
fn tool(running: &Running, name: &str) -> anyhow::Result<String> {
    let mut tools = running.functions.iter().filter(|(short, _)| short.ends_with(TOOL_SUFFIX));
    if let Some((short, _)) =
        tools.clone().find(|(short, deployed)| *short == name || *deployed == name)
    {
        return Ok(short.clone());
    }
    let known: Vec<_> = tools.by_ref().map(|(short, _)| short.as_str()).collect();
    let name = clean(name);
    match known.as_slice() {
        [] => bail!("there is no tool {name}; the stack has none"),
        known => bail!("there is no tool {name}; there are {}", known.join(", ")),
    }
}

/// Who calls and what is asked, by the options and else by the file.
fn sample(arguments: &Arguments) -> anyhow::Result<(Acting, Asked)> {
    let (name, text) = match arguments.file.to_str() {
        Some("-") => {
            let mut text = String::new();
            io::stdin().read_to_string(&mut text).context("stdin")?;
            ("stdin".to_owned(), text)
        }
        _ => {
            let name = arguments.file.display().to_string();
            let text = fs::read_to_string(&arguments.file).with_context(|| name.clone())?;
            (name, text)
        }
    };
    let sample = read(&text).with_context(|| name.clone())?;
    let of_file = |place: &str, rule: IdError| anyhow::anyhow!("{name}: {place} {rule}");
    let r#as = sample.r#as.unwrap_or_default();
    let acting = Acting {
        tenant: chosen(&arguments.tenant, r#as.tenant, "t1", |text| TenantId::new(text))
            .map_err(|rule| of_file("as.tenant", rule))?,
        actor: chosen(&arguments.actor, r#as.actor, "person:alice", |text| Actor::new(text))
            .map_err(|rule| of_file("as.actor", rule))?,
        kind: chosen(&arguments.kind, r#as.actor_kind, "person", ActorKind::parse)
            .map_err(|rule| of_file("as.actorKind", rule))?,
    };
    let key = match (&arguments.key, sample.idempotency_key) {
        (Some(key), _) => Some(key.clone()),
        (None, Some(key)) => {
            Some(IdempotencyKey::new(key).map_err(|rule| of_file("idempotencyKey", rule))?)
        }
        (None, None) => None,
    };
    Ok((acting, Asked { input: sample.input, idempotency_key: key }))
}

/// What the options say, else the file, else the default.
fn chosen<T: Clone>(
    option: &Option<T>,
    file: Option<String>,
    default: &str,
    parse: impl Fn(&str) -> Result<T, IdError>,
) -> Result<T, IdError> {
    match option {
        Some(option) => Ok(option.clone()),
        None => parse(file.as_deref().unwrap_or(default)),
    }
}

/// Reads a sample call; an error names the field, the line and the column.
fn read(text: &str) -> anyhow::Result<Sample> {
    // A derived struct would take a list of its fields' values, too.
    let value: Value = serde_json::from_str(text)?;
    if !value.is_object() {
        bail!("expected an object with the field input");
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let path = error.path().to_string();
        let error = error.into_inner();
        if path == "." { anyhow::anyhow!("{error}") } else { anyhow::anyhow!("{path}: {error}") }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        read(text).unwrap_err().to_string()
    }

    #[test]
    fn a_sample_needs_an_input_and_nothing_else() {
        let sample = read(r#"{"input":{"a":1}}"#).unwrap();
        assert!(sample.idempotency_key.is_none() && sample.r#as.is_none());
        let sample = read(r#"{"input":[],"idempotencyKey":"k","as":{"tenant":"t2"}}"#).unwrap();
        assert_eq!(sample.r#as.unwrap().tenant.as_deref(), Some("t2"));
    }

    #[test]
    fn what_is_no_sample_is_named_by_its_place() {
        for (text, expected) in [
            ("", "EOF while parsing a value at line 1 column 0"),
            ("[1]", "expected an object with the field input"),
            ("{}", "missing field `input` at line 1 column 2"),
            (
                "{\"input\":{},\n \"tenant\":\"t1\"}",
                "tenant: unknown field `tenant`, expected one of `input`, `idempotencyKey`, `as` at line 2 column 9",
            ),
            (
                "{\"input\":{},\"as\":{\"actor\":5}}",
                "as.actor: invalid type: integer `5`, expected a string at line 1 column 27",
            ),
        ] {
            assert_eq!(refusal(text), expected);
        }
    }

    #[test]
    fn options_come_before_the_file_and_the_file_before_defaults() {
        let chosen = |option: Option<&str>, file: Option<&str>| {
            let option = option.map(|text| TenantId::new(text).unwrap());
            let file = file.map(str::to_owned);
            chosen(&option, file, "t1", |text| TenantId::new(text)).map(|id| id.to_string())
        };
        assert_eq!(chosen(Some("a"), Some("b")).unwrap(), "a");
        assert_eq!(chosen(None, Some("b")).unwrap(), "b");
        assert_eq!(chosen(None, None).unwrap(), "t1");
        assert!(chosen(None, Some("B")).is_err());
    }
}
