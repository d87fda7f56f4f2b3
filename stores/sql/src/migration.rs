//! The table's versions, and bringing it from one to the next.
//!
//! The driver's own migrations are files with fixed names and a table of their own with a fixed
//! name; here the table's name is configured, and several tables may live in one schema, each at
//! its own version. The version stands in a table beside it, `<table>_version`, of one row.

use crate::config::{ConfigError, ConnectError, Dialect, SqlConfig};
use crate::table::Table;

/// One step of the table's history.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Migration {
    /// Its version, from 1 on.
    pub version: u32,
    /// Its statements, for the configured table; an operator may read and apply them.
    pub sql: String,
}

/// The files, in order, of each database.
const POSTGRES: &[&str] = &[include_str!("../migrations/postgres/0001-record.sql")];
const MYSQL: &[&str] = &[include_str!("../migrations/mysql/0001-record.sql")];
const SQLITE: &[&str] = &[include_str!("../migrations/sqlite/0001-record.sql")];

/// Every migration that a store of this configuration needs, in order. Asks no database.
///
/// # Errors
///
/// [`ConfigError`] if a setting is wrong.
pub fn migrations(config: &SqlConfig) -> Result<Vec<Migration>, ConfigError> {
    let (dialect, table) = config.check()?;
    Ok(of(dialect, &table))
}

/// Brings the table to this program's version. Gives the migrations that were applied; none if it
/// was there already. Several processes may do this at once.
///
/// # Errors
///
/// [`ConnectError`].
pub async fn migrate(config: &SqlConfig) -> Result<Vec<Migration>, ConnectError> {
    let (dialect, table) = config.check()?;
    let _ = (dialect, table);
    todo!("each database applies them")
}

fn of(dialect: Dialect, table: &Table) -> Vec<Migration> {
    let files = match dialect {
        Dialect::Postgres => POSTGRES,
        Dialect::MySql => MYSQL,
        Dialect::Sqlite => SQLITE,
    };
    (1..)
        .zip(files)
        .map(|(version, text)| Migration { version, sql: table.statement(text) })
        .collect()
}
