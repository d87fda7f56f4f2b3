//! The statements of a guard on PostgreSQL.
//!
//! `SKIP LOCKED` and not `NOWAIT`, whose refusal is an error and would end the caller's
//! transaction. A row that the lock's statement has skipped is read without a lock, to tell one
//! that is gone from one that is another's for the moment.

use sqlx::AssertSqlSafe;

use super::steps::{Columns, Fault, Look, Settle, Steps, Texts};
use crate::config::Dialect;
use crate::record::Digest;

/// Lock, look, commit.
///
/// The lock's own `SELECT` is a subquery, so that the time is read after it. After it the time of
/// the statement's arrival will do, since the lock is held by then; it is the same throughout the
/// statement. Neither depends on the session's time zone. The transaction's number stands in the
/// condition so that a guard of another transaction is not waited for: it is compared before any
/// row is looked at.
pub(super) const TEXTS: [&str; 3] = [
    "SELECT held.*, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now, \
     txid_current() AS mark \
     FROM (SELECT token, status, expires_us, purge_us, stuck_us FROM {table} WHERE digest = $1 \
     FOR UPDATE SKIP LOCKED) AS held",
    "SELECT token, status, expires_us, purge_us, stuck_us, \
     (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS now, 0::bigint AS mark \
     FROM {table} WHERE digest = $1",
    "UPDATE {table} SET status = 'SUCCESS', outcome = $3, \
     expires_us = (extract(epoch FROM statement_timestamp()) * 1000000)::bigint + $4, \
     purge_us = (extract(epoch FROM statement_timestamp()) * 1000000)::bigint + $4, \
     updated_us = (extract(epoch FROM statement_timestamp()) * 1000000)::bigint \
     WHERE digest = $1 AND token = $2 AND status = 'PROCESSING' AND stuck_us IS NULL \
     AND txid_current() = $5",
];

impl Steps for sqlx::Postgres {
    const DIALECT: Dialect = Dialect::Postgres;

    async fn lock(
        connection: &mut sqlx::PgConnection,
        texts: &Texts,
        digest: &Digest,
    ) -> Result<Look, sqlx::Error> {
        let read = |text| sqlx::query_as::<_, Columns>(AssertSqlSafe(text)).bind(&digest[..]);
        let locked = read(texts.lock.clone()).fetch_optional(&mut *connection).await?;
        if locked.is_some() {
            return Ok(Look::Locked(locked.map(Into::into)));
        }
        let seen = read(texts.look.clone()).fetch_optional(connection).await?;
        Ok(Look::Seen(seen.map(Into::into)))
    }

    async fn commit(
        connection: &mut sqlx::PgConnection,
        texts: &Texts,
        settle: &Settle,
    ) -> Result<bool, sqlx::Error> {
        let done = sqlx::query(AssertSqlSafe(texts.commit.clone()))
            .bind(&settle.digest[..])
            .bind(settle.token())
            .bind(settle.outcome.as_deref())
            .bind(settle.ttl)
            .bind(settle.mark)
            .execute(connection)
            .await?;
        Ok(done.rows_affected() == 1)
    }

    fn read(error: sqlx::Error) -> Fault {
        crate::postgres::read(error).into()
    }

    async fn mark(connection: &mut sqlx::PgConnection) -> Result<i64, sqlx::Error> {
        sqlx::query_scalar("SELECT txid_current()").fetch_one(connection).await
    }
}
