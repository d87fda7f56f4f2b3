//! Making the table, and bringing it to this version, in one transaction.

use leasehold::{StoreError, StoreErrorKind};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, Connection as _};
use tokio::time::{Instant, timeout_at};

use super::failure::{is_busy, read};
use super::path;
use super::texts::Texts;
use crate::config::{ConnectError, SqlConfig};
use crate::migration::{Migration, after};
use crate::table::Table;

/// Applies what the table lacks, and makes the file if it is not there. Gives the version that the
/// table was of.
pub(crate) async fn migrate(
    config: &SqlConfig,
    table: &Table,
    all: &[Migration],
) -> Result<u32, ConnectError> {
    let options = path::options(&config.url)?;
    path::check(&options).await?;
    let options = options.create_if_missing(true);
    let texts = Texts::new(table);
    let until = Instant::now() + config.store_timeout;
    // Ends with the time, or with the first answer but *busy*: others may migrate at once.
    loop {
        let applied = apply(&options, &texts, all);
        match timeout_at(until, applied).await {
            Ok(Ok(found)) => return Ok(found),
            Ok(Err(error)) if is_busy(&error) && Instant::now() < until => {}
            Ok(Err(error)) => return Err(ConnectError::Unavailable(read(error).into())),
            Err(_) => {
                let silence = StoreError::new(StoreErrorKind::NoAnswer);
                return Err(ConnectError::Unavailable(silence));
            }
        }
    }
}

async fn apply(
    options: &SqliteConnectOptions,
    texts: &Texts,
    all: &[Migration],
) -> Result<u32, sqlx::Error> {
    let mut line = SqliteConnection::connect_with(options).await?;
    sqlx::query("BEGIN IMMEDIATE").execute(&mut line).await?;
    let found = version(&mut line, texts).await?;
    for migration in after(all, found) {
        sqlx::raw_sql(AssertSqlSafe(migration.sql.as_str())).execute(&mut line).await?;
    }
    sqlx::query("COMMIT").execute(&mut line).await?;
    line.close().await?;
    Ok(found)
}

/// The table's version; 0 if there is none.
pub(super) async fn version(
    line: &mut SqliteConnection,
    texts: &Texts,
) -> Result<u32, sqlx::Error> {
    if !sqlx::query_scalar(texts.has_version.sql()).fetch_one(&mut *line).await? {
        return Ok(0);
    }
    let version: Option<u32> = sqlx::query_scalar(texts.version.sql()).fetch_one(line).await?;
    Ok(version.unwrap_or(0))
}
