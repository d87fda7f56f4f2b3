//! Applies migrations, one process at a time.
//!
//! Each statement that changes a schema is committed by itself, so those of a migration can be
//! repeated, and its version is written down last.

use std::time::Duration;

use leasehold::{StoreError, StoreErrorKind};
use sqlx::AssertSqlSafe;
use sqlx::mysql::MySqlConnection;

use super::connect::{connect, options};
use super::error::read;
use super::product::Product;
use super::statement::Statements;
use super::verbs::version;
use crate::config::{ConnectError, SqlConfig};
use crate::failure::Failure;
use crate::migration::{Migration, after};
use crate::table::Table;

/// Longest wait for another process that migrates: ten minutes. Arbitrary; a process that is gone
/// has given its lock up.
const LOCK: &str = "SELECT COALESCE(GET_LOCK('leasehold-migrate', 600), 0)";

/// Gives the version that the table was of. The connection is closed after that, and the lock with
/// it.
pub(crate) async fn migrate(
    config: &SqlConfig,
    table: &Table,
    all: &[Migration],
) -> Result<u32, ConnectError> {
    let options = options(config, table)?;
    let mut line = connect(&options, config).await?;
    // Both understand what is said to MySQL.
    let statements = Statements::new(table, Product::MySql);
    apply(&mut line, &statements, all)
        .await
        .map_err(|failure| ConnectError::Unavailable(failure.into()))
}

async fn apply(
    line: &mut MySqlConnection,
    statements: &Statements,
    all: &[Migration],
) -> Result<u32, Failure> {
    let greeting = AssertSqlSafe(Product::MySql.greeting(Duration::ZERO));
    sqlx::raw_sql(greeting).execute(&mut *line).await.map_err(read)?;
    let is_locked: i64 = sqlx::query_scalar(LOCK).fetch_one(&mut *line).await.map_err(read)?;
    if is_locked != 1 {
        return Err(Failure::Store(StoreError::new(StoreErrorKind::Unreachable)));
    }
    let found = version(line, statements).await?;
    for migration in after(all, found) {
        let text = AssertSqlSafe(migration.sql.as_str());
        sqlx::raw_sql(text).execute(&mut *line).await.map_err(read)?;
    }
    Ok(found)
}
