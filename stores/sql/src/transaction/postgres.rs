//! The statements of a guard on PostgreSQL.
//!
//! `SKIP LOCKED` and not `NOWAIT`, whose refusal is an error and would end the caller's
//! transaction. A row that was skipped is read without a lock, to tell one that is gone from one
//! that is another's for the moment.

use sqlx::AssertSqlSafe;

use super::steps::{Fault, Look, Row, Settle, Steps, Texts};
use crate::config::Dialect;
use crate::record::Digest;

/// Lock, commit.
///
/// The lock's own `SELECT` is complete before anything else of its statement is read, the time
/// too. In the commit the time of the statement's arrival will do, since the lock is held by then;
/// it is the same throughout the statement. Neither depends on the session's time zone. The
/// transaction's number stands in the condition so that a guard of another transaction is not
/// waited for: it is compared before any row is looked at.
pub(super) const TEXTS: [&str; 2] = [
    "WITH held AS MATERIALIZED ( \
     SELECT token, status, expires_us, purge_us, stuck_us FROM {table} WHERE digest = $1 \
     FOR UPDATE SKIP LOCKED \
     ), found AS ( \
     SELECT held.*, txid_current() AS mark, true AS is_locked FROM held \
     UNION ALL \
     SELECT token, status, expires_us, purge_us, stuck_us, 0, false FROM {table} \
     WHERE digest = $1 AND NOT EXISTS (SELECT FROM held) \
     ) \
     SELECT token, status, expires_us, purge_us, stuck_us, \
     (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, mark, is_locked FROM found",
    "UPDATE {table} SET status = 'SUCCESS', outcome = $3, \
     expires_us = (extract(epoch FROM statement_timestamp()) * 1000000)::bigint + $4, \
     purge_us = (extract(epoch FROM statement_timestamp()) * 1000000)::bigint + $4, \
     updated_us = (extract(epoch FROM statement_timestamp()) * 1000000)::bigint \
     WHERE digest = $1 AND token = $2 AND status = 'PROCESSING' AND stuck_us IS NULL \
     AND txid_current() = $5",
];

/// The columns of a row, and whether this transaction has locked it.
type Found = (i64, String, i64, i64, Option<i64>, i64, i64, bool);

impl Steps for sqlx::Postgres {
    const DIALECT: Dialect = Dialect::Postgres;

    async fn lock(
        connection: &mut sqlx::PgConnection,
        texts: &Texts,
        digest: &Digest,
    ) -> Result<Look, sqlx::Error> {
        let row = sqlx::query_as::<_, Found>(AssertSqlSafe(texts.lock.clone()))
            .bind(&digest[..])
            .fetch_optional(connection)
            .await?;
        Ok(match row {
            Some((token, status, expires, purge, stuck, now, mark, is_locked)) => {
                let row = Row::from((token, status, expires, purge, stuck, now, mark));
                if is_locked { Look::Locked(Some(row)) } else { Look::Seen(row) }
            }
            None => Look::Locked(None),
        })
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
