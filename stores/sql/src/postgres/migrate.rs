//! Applying migrations: all that the table lacks in one transaction, under an advisory lock.

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, Connection as _};
use tokio::time::timeout;

use crate::config::{ConnectError, SqlConfig};
use crate::failure::Failure;
use crate::migration::{Migration, after};
use crate::postgres::failure::read;
use crate::postgres::{options, texts};
use crate::table::Table;

/// Waits for others that migrate the same table. The lock goes with the transaction. It is the
/// database's own, so tables of one name in two schemas wait for each other, which harms nobody.
const LOCK: &str = "SELECT pg_advisory_xact_lock(hashtextextended('leasehold: ' || $1, 0))";

/// Whether there is a table of that name, where a statement would look for it.
const EXISTS: &str = "SELECT to_regclass($1) IS NOT NULL";

/// Applies what the table lacks. Gives the version that it was of.
pub(crate) async fn migrate(
    config: &SqlConfig,
    table: &Table,
    all: &[Migration],
) -> Result<u32, ConnectError> {
    let options = options::for_migrations(config)?;
    let mut line = connect(&options, config).await?;
    let applied = apply(&mut line, table, all).await;
    // Nobody minds if the farewell fails.
    let _ = timeout(config.store_timeout, line.close()).await;
    applied.map_err(|error| ConnectError::Unavailable(read(error).into()))
}

async fn connect(
    options: &PgConnectOptions,
    config: &SqlConfig,
) -> Result<PgConnection, ConnectError> {
    let failure = match timeout(config.store_timeout, PgConnection::connect_with(options)).await {
        Ok(Ok(line)) => return Ok(line),
        Ok(Err(error)) => read(error).before_sending(),
        Err(_) => Failure::unconnected(),
    };
    Err(ConnectError::Unavailable(failure.into()))
}

async fn apply(
    line: &mut PgConnection,
    table: &Table,
    all: &[Migration],
) -> Result<u32, sqlx::Error> {
    let version_table = table.statement("{version}");
    let mut transaction = line.begin().await?;
    sqlx::query(LOCK).bind(&version_table).execute(&mut *transaction).await?;
    let exists: bool =
        sqlx::query_scalar(EXISTS).bind(&version_table).fetch_one(&mut *transaction).await?;
    let found: i32 = if exists {
        let text = AssertSqlSafe(table.statement(texts::VERSION));
        sqlx::query_scalar(text).fetch_one(&mut *transaction).await?
    } else {
        0
    };
    let found = u32::try_from(found).unwrap_or(0);
    for migration in after(all, found) {
        let text = AssertSqlSafe(migration.sql.clone());
        sqlx::raw_sql(text).execute(&mut *transaction).await?;
    }
    transaction.commit().await?;
    Ok(found)
}
