//! `leasehold`: a gateway that makes writes with an `Idempotency-Key` succeed at most once.
//!
//! Exit codes: 0 when it was told to stop, a configuration is good, a table is as it should be, or
//! a record was found or removed; 3 when there was no such record; 2 for a bad configuration,
//! command line or key; 1 for anything else that keeps it from running.

#![forbid(unsafe_code)]

mod admin;
mod askers;
mod config;
mod demo;
mod fullness;
mod gateway;
mod logging;
mod migrate;
mod open_files;
mod operator;
mod proxy;
mod records;
mod server;
mod signals;
mod store;
mod upkeep;

use std::future::Future;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use config::{Config, Flags};
use gateway::{Gateway, StartError};
use migrate::MigrateFlags;
use operator::{OperatorError, RecordFlags};
use records::Verb;
use thiserror::Error;

/// Makes HTTP writes with an Idempotency-Key succeed at most once
#[derive(Debug, Parser)]
#[command(version, args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    demo: DemoFlags,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// The gateway in front of a built-in orders service, with three lines to try (the default)
    Demo(DemoFlags),
    /// The gateway in front of a service of yours
    Serve(Flags),
    /// Checks a configuration and prints what it amounts to
    Check(Flags),
    /// Makes or updates the table of a store in a database, or prints the statements that do
    Migrate(MigrateFlags),
    /// Reads a key from standard input and prints what a running gateway, or its store, keeps for
    /// it
    Peek(RecordFlags),
    /// Reads a key from standard input and makes a running gateway, or its store, forget it: its
    /// request may then run again, even beside one that is running now
    Forget(RecordFlags),
}

/// Why a command did not do what it is for.
#[derive(Debug, Error)]
enum Failure {
    #[error(transparent)]
    Start(#[from] StartError),
    #[error(transparent)]
    Operator(#[from] OperatorError),
}

impl Failure {
    fn exit_code(&self) -> ExitCode {
        let of_the_caller = match self {
            Self::Start(error) => error.is_of_the_settings(),
            Self::Operator(error) => error.is_of_the_question(),
        };
        ExitCode::from(if of_the_caller { 2 } else { 1 })
    }
}

#[derive(Debug, Default, clap::Args)]
struct DemoFlags {
    /// Address to listen on; port 0 picks a free one [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
}

fn main() -> ExitCode {
    run(Cli::parse()).unwrap_or_else(|failure| {
        // Where standard error is closed too, the exit code has to do.
        let _closed = writeln!(io::stderr(), "leasehold: {failure}");
        failure.exit_code()
    })
}

fn run(cli: Cli) -> Result<ExitCode, Failure> {
    logging::start().map_err(StartError::from)?;
    match cli.command.unwrap_or(Command::Demo(cli.demo)) {
        Command::Demo(flags) => block_on(demo::run(flags.listen, std::env::vars_os()))?,
        Command::Serve(flags) => block_on(serve(&flags))?,
        Command::Check(flags) => check(&flags)?,
        Command::Migrate(flags) => block_on(migrate::run(&flags))?,
        Command::Peek(flags) => return block_on(operator::run(Verb::Peek, &flags)),
        Command::Forget(flags) => return block_on(operator::run(Verb::Forget, &flags)),
    }
    Ok(ExitCode::SUCCESS)
}

async fn serve(flags: &Flags) -> Result<(), StartError> {
    let config = Config::load(flags, std::env::vars_os())?;
    let Some(gateway) = Gateway::bind(&config).await? else {
        return Ok(());
    };
    print(&gateway.announcement()?)?;
    gateway.serve().await;
    Ok(())
}

fn check(flags: &Flags) -> Result<(), StartError> {
    let config = Config::load(flags, std::env::vars_os())?;
    config.routes()?;
    config.redis_to_open()?;
    print(&config.report())
}

/// Writes to standard output at once.
fn print(text: &str) -> Result<(), StartError> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// Runs on as many threads as there are cores. Tasks that still run at the end are dropped.
fn block_on<T, E>(future: impl Future<Output = Result<T, E>>) -> Result<T, Failure>
where
    Failure: From<E>,
{
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(StartError::from)?;
    let result = runtime.block_on(future);
    runtime.shutdown_background();
    Ok(result?)
}
