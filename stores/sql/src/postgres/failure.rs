//! What PostgreSQL's error codes mean for a caller.

use leasehold::{StoreError, StoreErrorKind};
use sqlx::Error;
use sqlx::postgres::PgDatabaseError;

use crate::failure::Failure;

/// `lock_not_available`: the lock timeout has passed.
const LOCK_NOT_AVAILABLE: &str = "55P03";

/// `undefined_table`.
const UNDEFINED_TABLE: &str = "42P01";

/// Reads an error by its code, or by what it is if it has none.
pub(crate) fn read(error: Error) -> Failure {
    let code = error.as_database_error().and_then(|error| error.code());
    let kind = match code.as_deref() {
        None => return Failure::without_code(error),
        Some(LOCK_NOT_AVAILABLE) => {
            return Failure::Locked(StoreError::with_source(StoreErrorKind::Unreachable, error));
        }
        // A serialization failure, a deadlock.
        Some("40001" | "40P01") => {
            return Failure::Conflict(StoreError::with_source(StoreErrorKind::Unreachable, error));
        }
        // The server ends, or has ended this connection, or starts.
        Some("57P01" | "57P02" | "57P03" | "57P05") => return broken(error),
        Some(code) if code.starts_with("08") => return broken(error),
        // Cancelled: by the statement's timeout, most likely.
        Some("57014") => StoreErrorKind::NoAnswer,
        // It takes no writes now: a standby, or one that is made to.
        Some("25006") => StoreErrorKind::Unreachable,
        // It lacks disk, memory or connections (53), or its disk fails (58).
        Some(code) if code.starts_with("53") || code.starts_with("58") => {
            StoreErrorKind::Unreachable
        }
        // Rows or indexes that the server cannot read.
        Some("XX001" | "XX002") => StoreErrorKind::Corrupt,
        Some(_) => StoreErrorKind::Refused,
    };
    Failure::of(kind, error)
}

/// Whether an insert or an update has met a row that another transaction has not let go of in time.
///
/// Other locks pass the same timeout: that of a table which is being vacuumed, or of a file that
/// grows. The server says of rows alone where it was when it had to wait.
pub(super) fn is_locked_row(error: &Error) -> bool {
    let error = error.as_database_error();
    let error = error.and_then(|error| error.try_downcast_ref::<PgDatabaseError>());
    error.is_some_and(|error| error.code() == LOCK_NOT_AVAILABLE && error.r#where().is_some())
}

/// Whether there is no such table.
pub(super) fn is_missing_table(error: &Error) -> bool {
    let code = error.as_database_error().and_then(|error| error.code());
    code.as_deref() == Some(UNDEFINED_TABLE)
}

fn broken(error: Error) -> Failure {
    Failure::Broken(StoreError::with_source(StoreErrorKind::NoAnswer, error))
}
