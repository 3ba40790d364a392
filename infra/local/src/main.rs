//! `plumbline`: the local stack, and the tools that speak to it.

mod commands;

use std::{
    io::{self, Write},
    process::ExitCode,
};

use clap::Parser;

#[tokio::main]
async fn main() -> ExitCode {
    let subscriber =
        tracing_subscriber::fmt().with_writer(io::stderr).without_time().with_target(false);
    subscriber.with_max_level(tracing::Level::WARN).init();
    match commands::run(commands::Cli::parse()).await {
        Ok(code) => code,
        Err(error) => {
            let causes: Vec<_> = error.chain().map(ToString::to_string).collect();
            let _ = writeln!(io::stderr(), "error: {}", causes.join(": "));
            ExitCode::FAILURE
        }
    }
}
