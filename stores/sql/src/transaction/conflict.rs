//! Which errors mean that the database has undone a transaction for the sake of another, so that
//! the same again may succeed.

/// Whether an error of a caller's own statement, or of the end of its transaction, is a conflict
/// with another transaction: a serialization failure, a deadlock, or a lock that was not had in
/// time. Then nothing of the transaction is there: roll it back, and begin again with the same
/// lease, which must be guarded anew.
///
/// PostgreSQL: 40001, 40P01, 55P03. MySQL and MariaDB: 1213, 1205, 1020, 3572, 4195. SQLite:
/// `SQLITE_BUSY` and `SQLITE_LOCKED`, extended or not.
#[must_use]
pub fn is_conflict(error: &sqlx::Error) -> bool {
    let Some(error) = error.as_database_error() else { return false };
    #[cfg(feature = "postgres")]
    if let Some(error) = error.try_downcast_ref::<sqlx::postgres::PgDatabaseError>() {
        return matches!(error.code(), "40001" | "40P01" | "55P03");
    }
    #[cfg(feature = "mysql")]
    if let Some(error) = error.try_downcast_ref::<sqlx::mysql::MySqlDatabaseError>() {
        return matches!(error.number(), 1213 | 1205 | 1020 | 3572 | 4195);
    }
    #[cfg(feature = "sqlite")]
    if error.try_downcast_ref::<sqlx::sqlite::SqliteError>().is_some() {
        // The lower eight bits are the code, the others say more of it.
        let code = error.code().and_then(|code| code.parse::<u32>().ok());
        return matches!(code.map(|code| code & 0xff), Some(5 | 6));
    }
    false
}
