//! `leasehold peek` and `leasehold forget`: what the gateway or its store keeps for a key, and how
//! to make it forget that.
//!
//! The key comes by standard input and goes nowhere: only the address that it makes up does.

mod asking;
mod question;

use std::path::PathBuf;
use std::process::ExitCode;

use leasehold::StoreError;
use thiserror::Error;

use crate::config::ConfigError;
use crate::gateway::StartError;
use crate::print;
use crate::records::Verb;
use crate::store::{OpenError, open_shared};
use question::Keeper;

/// The exit code where there was nothing to show or to remove.
const NOTHING: u8 = 3;

/// Which record, and who keeps it.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct RecordFlags {
    /// File of settings that the gateway runs with; they say where its keys are kept
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The gateway's admin address, on this machine
    #[arg(long, value_name = "ADDR")]
    admin: Option<String>,
    /// The gateways' shared store, which is then asked itself; gateways with a near cache may still
    /// answer for what is forgotten until that has forgotten it too
    #[arg(long, value_name = "URL")]
    store: Option<String>,
    /// Method of the request
    #[arg(long, value_name = "METHOD")]
    method: String,
    /// Path of the request, as it was sent
    #[arg(long, value_name = "PATH")]
    path: String,
    /// Value of a principal header, once for each, in the order of principal-headers; without any
    /// they are read from standard input, one a line after the key, where others do not see them
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    principal: Vec<String>,
}

/// Why there is no answer.
#[derive(Debug, Error)]
pub(crate) enum OperatorError {
    /// The flags, the settings or the standard input say nothing that could be asked.
    #[error(transparent)]
    Question(#[from] ConfigError),
    /// The gateway was not reached, or did not answer as one.
    #[error("admin: {address} did not answer: {source}")]
    Unreached { address: std::net::SocketAddr, source: Box<dyn std::error::Error + Send + Sync> },
    /// The store was not opened.
    #[error(transparent)]
    Store(#[from] OpenError),
    /// The store has not answered.
    #[error("idempotency.store: {0}")]
    Silent(#[from] StoreError),
    /// The gateway has refused.
    #[error("admin: refused with status {status}: {reason}")]
    Refused { status: u16, reason: String },
    /// Standard input or output failed.
    #[error("cannot read or write: {0}")]
    Pipe(#[from] std::io::Error),
    /// The answer could not be printed.
    #[error(transparent)]
    Print(#[from] StartError),
}

impl OperatorError {
    /// Whether the command line, the settings or the input is to blame.
    pub(crate) const fn is_of_the_question(&self) -> bool {
        match self {
            Self::Question(_) => true,
            Self::Store(error) => error.is_of_the_settings(),
            _ => false,
        }
    }
}

/// Asks, and prints what was found or done.
pub(crate) async fn run(verb: Verb, flags: &RecordFlags) -> Result<ExitCode, OperatorError> {
    let question = question::of(flags, std::env::vars_os(), std::io::stdin().lock())?;
    let found = match question.keeper {
        Keeper::Gateway(admin) => asking::ask(verb, admin, question.address).await?,
        Keeper::Store(shared) => {
            let store = open_shared(shared).await?;
            verb.carry_out(&store, question.address).await?
        }
    };
    print(&format!("{found}\n"))?;
    Ok(if found.is_something() { ExitCode::SUCCESS } else { ExitCode::from(NOTHING) })
}
