//! A write under the row's lock, and the transactions that some writes need.
//!
//! A lock that was not got ends the statement, not the transaction: it is always ended here, since
//! a connection that goes back with one would keep its locks.

use sqlx::MySql;
use sqlx::mysql::{MySqlArguments, MySqlConnection, MySqlQueryResult};
use sqlx::query::Query;

use super::error::read;
use super::product::Product;
use super::statement::{Statements, query};
use crate::failure::Failure;
use crate::record::Digest;

/// Runs a statement that writes the row of a digest. Waits for no lock.
pub(super) async fn write(
    line: &mut MySqlConnection,
    statements: &Statements,
    digest: &Digest,
    statement: Query<'_, MySql, MySqlArguments>,
) -> Result<MySqlQueryResult, Failure> {
    if statements.product == Product::MariaDb {
        return statement.execute(line).await.map_err(read);
    }
    begin(line).await?;
    let done = lock_and_write(line, statements, digest, statement).await;
    end(line, done).await
}

async fn lock_and_write(
    line: &mut MySqlConnection,
    statements: &Statements,
    digest: &Digest,
    statement: Query<'_, MySql, MySqlArguments>,
) -> Result<MySqlQueryResult, Failure> {
    let lock = query(&statements.lock).bind(digest.as_slice());
    lock.fetch_all(&mut *line).await.map_err(read)?;
    statement.execute(line).await.map_err(read)
}

/// Begins a transaction.
pub(super) async fn begin(line: &mut MySqlConnection) -> Result<(), Failure> {
    say(line, "START TRANSACTION").await
}

/// Ends it: by a commit if all was well, else by a rollback.
pub(super) async fn end<T>(
    line: &mut MySqlConnection,
    done: Result<T, Failure>,
) -> Result<T, Failure> {
    say(line, if done.is_ok() { "COMMIT" } else { "ROLLBACK" }).await?;
    done
}

async fn say(line: &mut MySqlConnection, text: &'static str) -> Result<(), Failure> {
    sqlx::raw_sql(text).execute(line).await.map(drop).map_err(read)
}
