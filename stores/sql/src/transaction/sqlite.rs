//! The statements of a guard on SQLite, where one transaction writes at a time: it is the row's
//! lock too.
//!
//! The lock's statement writes what is there already. By that a deferred transaction becomes the
//! one that writes, also if it finds no row; one that was begun as such (`BEGIN IMMEDIATE`) is it
//! already.

use sqlx::AssertSqlSafe;

use super::steps::{Columns, Fault, Look, Settle, Steps, Texts};
use crate::config::Dialect;
use crate::record::Digest;

/// Lock, commit.
///
/// The host's clock has milliseconds: a deadline is one later, so that nothing ends early.
pub(super) const TEXTS: [&str; 2] = [
    "UPDATE {table} SET updated_us = updated_us WHERE digest = ? \
     RETURNING token, status, expires_us, purge_us, stuck_us, \
     CAST(ROUND(unixepoch('subsec') * 1000) AS INTEGER) * 1000 AS now, 0 AS mark",
    "UPDATE {table} SET status = 'SUCCESS', outcome = ?1, \
     expires_us = CAST(ROUND(unixepoch('subsec') * 1000) AS INTEGER) * 1000 + 1000 + ?2, \
     purge_us = CAST(ROUND(unixepoch('subsec') * 1000) AS INTEGER) * 1000 + 1000 + ?2, \
     updated_us = CAST(ROUND(unixepoch('subsec') * 1000) AS INTEGER) * 1000 \
     WHERE digest = ?3 AND token = ?4 AND status = 'PROCESSING' AND stuck_us IS NULL",
];

impl Steps for sqlx::Sqlite {
    const DIALECT: Dialect = Dialect::Sqlite;

    async fn lock(
        connection: &mut sqlx::SqliteConnection,
        texts: &Texts,
        digest: &Digest,
    ) -> Result<Look, sqlx::Error> {
        let rows = sqlx::query_as::<_, Columns>(AssertSqlSafe(texts.lock.clone()))
            .bind(&digest[..])
            .fetch_all(connection)
            .await?;
        Ok(Look::Locked(rows.into_iter().next().map(Into::into)))
    }

    async fn commit(
        connection: &mut sqlx::SqliteConnection,
        texts: &Texts,
        settle: &Settle,
    ) -> Result<bool, sqlx::Error> {
        let done = sqlx::query(AssertSqlSafe(texts.commit.clone()))
            .bind(settle.outcome.as_deref())
            .bind(settle.ttl)
            .bind(&settle.digest[..])
            .bind(settle.token())
            .execute(connection)
            .await?;
        Ok(done.rows_affected() == 1)
    }

    fn read(error: sqlx::Error) -> Fault {
        crate::sqlite::read(error).into()
    }

    async fn mark(_: &mut sqlx::SqliteConnection) -> Result<i64, sqlx::Error> {
        Ok(0)
    }
}
