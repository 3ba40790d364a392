//! The commands of `plumbline`. What is data goes to stdout, what is talk to stderr.

mod demo;
mod invoke;
mod register;
mod send;
mod show;
mod start;
mod terminal;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Runs Plumbline's infrastructure on this machine; without a command, starts the local stack.
#[derive(Debug, Parser)]
#[command(name = "plumbline", version, args_conflicts_with_subcommands = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    start: start::Arguments,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start the local stack and run it until Ctrl-C (also what happens without a command)
    Start(start::Arguments),
    Send(send::Arguments),
    Show(show::Arguments),
    Register(register::Arguments),
    Demo(demo::Arguments),
    Invoke(invoke::Arguments),
}

/// Runs one command.
pub(crate) async fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    match cli.command {
        None => start::run(cli.start).await,
        Some(Command::Start(arguments)) => start::run(arguments).await,
        Some(Command::Send(arguments)) => send::run(arguments).await,
        Some(Command::Show(arguments)) => show::run(arguments).await,
        Some(Command::Register(arguments)) => register::run(arguments).await,
        Some(Command::Demo(arguments)) => demo::run(arguments).await,
        Some(Command::Invoke(arguments)) => invoke::run(arguments).await,
    }
}
