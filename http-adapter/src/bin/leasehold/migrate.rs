//! `leasehold migrate`: makes the table of a store in a database, or brings it to this release's
//! version; or prints the statements for whoever does that by hand.
//!
//! Nothing here has anything of the store's URL.

use std::path::PathBuf;

use leasehold_sql::{SqlConfig, migrations};

use crate::config::{Config, ConfigError, Flags, STORE, sql_refusal};
use crate::gateway::StartError;
use crate::print;
use crate::store;

/// Which table, and whether it is touched.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct MigrateFlags {
    /// File of settings that the gateway runs with; they say where its keys are kept
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Store of the keys: postgres://.., mysql://.. or sqlite:path
    #[arg(long, value_name = "URL")]
    store: Option<String>,
    /// Table of the keys, with its schema and a dot before it if need be [default:
    /// idempotent_record]
    #[arg(long, value_name = "TABLE")]
    table: Option<String>,
    /// Print every statement that makes the table, and ask no database
    #[arg(long)]
    print: bool,
}

/// Migrates, or prints.
pub(crate) async fn run(flags: &MigrateFlags) -> Result<(), StartError> {
    let settings = Flags {
        config: flags.config.clone(),
        store: flags.store.clone(),
        table: flags.table.clone(),
        ..Flags::default()
    };
    let config = Config::load(&settings, std::env::vars_os())?;
    let sql = config.sql().ok_or_else(|| {
        let reason = "has no table; --store names a database: postgres://.., mysql://.., sqlite:..";
        ConfigError::new(STORE, reason)
    })?;
    print(&if flags.print { statements(&sql)? } else { applied(&sql).await? })
}

/// All statements, each version's below its number.
fn statements(sql: &SqlConfig) -> Result<String, ConfigError> {
    let migrations = migrations(sql).map_err(|error| sql_refusal(&error))?;
    let texts = migrations
        .iter()
        .map(|migration| format!("-- version {}\n{}\n", migration.version, migration.sql.trim()));
    Ok(texts.collect::<Vec<_>>().join("\n"))
}

/// Applies what is missing, and says what that was.
async fn applied(sql: &SqlConfig) -> Result<String, StartError> {
    let table = &sql.table;
    let applied = store::migrate(sql).await?;
    let lines = applied.iter().map(|migration| format!("{table}: version {}\n", migration.version));
    let lines: String = lines.collect();
    Ok(if lines.is_empty() { format!("{table}: nothing to do\n") } else { lines })
}
