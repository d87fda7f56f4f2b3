//! The statements of a guard on MySQL and MariaDB.
//!
//! `NOWAIT` refuses a locked row by an error that leaves the transaction as it was, and needs no
//! second look, which would wait for the lock under SERIALIZABLE. MariaDB's error is the one of a
//! lock that was not had in time, after which a server with `innodb_rollback_on_timeout` has
//! undone the whole transaction.

use sqlx::AssertSqlSafe;
use sqlx::mysql::MySqlDatabaseError;

use super::steps::{Columns, Fault, Look, Row, Settle, Steps, Texts};
use crate::config::Dialect;
use crate::record::Digest;

/// Lock, commit.
///
/// `UTC_TIMESTAMP` is the same throughout a statement, and independent of the session's time zone.
/// The connection's number stands in the condition so that a guard of another connection's is not
/// waited for.
pub(super) const TEXTS: [&str; 2] = [
    "SELECT token, status, expires_us, purge_us, stuck_us, CAST(0 AS SIGNED) AS now, \
     CAST(CONNECTION_ID() AS SIGNED) AS mark \
     FROM {table} WHERE digest = ? FOR UPDATE NOWAIT",
    "UPDATE {table} SET status = 'SUCCESS', outcome = ?, \
     expires_us = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) + ?, \
     purge_us = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) + ?, \
     updated_us = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) \
     WHERE digest = ? AND token = ? AND status = 'PROCESSING' AND stuck_us IS NULL \
     AND CONNECTION_ID() = ?",
];

/// The time, by a statement of its own: begun after the lock was had, it is the time under it.
const NOW: &str = "SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))";

/// MySQL's refusal of a locked row: the statement alone has ended.
const LOCKED: u16 = 3572;

/// MariaDB's: so has the transaction, if the server is told so.
const TIMED_OUT: u16 = 1205;

impl Steps for sqlx::MySql {
    const DIALECT: Dialect = Dialect::MySql;

    async fn lock(
        connection: &mut sqlx::MySqlConnection,
        texts: &Texts,
        digest: &Digest,
    ) -> Result<Look, sqlx::Error> {
        let row = sqlx::query_as::<_, Columns>(AssertSqlSafe(texts.lock.clone()))
            .bind(&digest[..])
            .fetch_optional(&mut *connection)
            .await;
        match row {
            Ok(Some(columns)) => {
                let mut row = Row::from(columns);
                row.now = sqlx::query_scalar(NOW).fetch_one(connection).await?;
                Ok(Look::Locked(Some(row)))
            }
            Ok(None) => Ok(Look::Locked(None)),
            Err(error) => match number(&error) {
                Some(LOCKED) => Ok(Look::Nothing),
                Some(TIMED_OUT) if keeps_transactions(connection).await? => Ok(Look::Nothing),
                _ => Err(error),
            },
        }
    }

    async fn commit(
        connection: &mut sqlx::MySqlConnection,
        texts: &Texts,
        settle: &Settle,
    ) -> Result<bool, sqlx::Error> {
        let done = sqlx::query(AssertSqlSafe(texts.commit.clone()))
            .bind(settle.outcome.as_deref())
            .bind(settle.ttl)
            .bind(settle.ttl)
            .bind(&settle.digest[..])
            .bind(settle.token())
            .bind(settle.mark)
            .execute(connection)
            .await?;
        Ok(done.rows_affected() == 1)
    }

    fn read(error: sqlx::Error) -> Fault {
        crate::mysql::read(error).into()
    }

    async fn mark(connection: &mut sqlx::MySqlConnection) -> Result<i64, sqlx::Error> {
        sqlx::query_scalar("SELECT CAST(CONNECTION_ID() AS SIGNED)").fetch_one(connection).await
    }
}

fn number(error: &sqlx::Error) -> Option<u16> {
    let error = error.as_database_error()?.try_downcast_ref::<MySqlDatabaseError>()?;
    Some(error.number())
}

/// Whether a lock that was not had in time ends its statement alone.
async fn keeps_transactions(connection: &mut sqlx::MySqlConnection) -> Result<bool, sqlx::Error> {
    let ends: i64 = sqlx::query_scalar("SELECT CAST(@@innodb_rollback_on_timeout AS SIGNED)")
        .fetch_one(connection)
        .await?;
    Ok(ends == 0)
}
