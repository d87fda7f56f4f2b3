//! What MySQL's and MariaDB's error numbers mean to a caller.

use leasehold::{StoreError, StoreErrorKind};
use sqlx::Error;
use sqlx::mysql::MySqlDatabaseError;

use crate::failure::Failure;

/// The row is there: another insert was first.
const DUPLICATE: u16 = 1_062;

/// The table is not there.
const NO_TABLE: u16 = 1_146;

/// Another transaction has the row: a lock that was waited for, and one that was not (MySQL).
const LOCKED: [u16; 2] = [1_205, 3_572];

/// The transaction was undone for another's sake: a deadlock (also what a cluster says of rivals on
/// two nodes), a row that has changed since the transaction began, and one that MariaDB had undone
/// before this statement.
const CONFLICT: [u16; 3] = [1_213, 1_020, 4_060];

/// A commit failed. InnoDB says so of a transaction that it has undone for a deadlock, if the
/// server has not heard before; a disk may say so too.
const FAILED_COMMIT: u16 = 1_180;

/// The connection is ended, or of no use any more: shutdown, errors of the network, a statement or
/// a connection that was killed, prepared statements that the server no longer knows.
const BROKEN: [u16; 15] = [
    1_053, 1_152, 1_158, 1_159, 1_160, 1_161, 1_184, 1_243, 1_317, 1_615, 1_927, 2_006, 2_013,
    3_169, 4_031,
];

/// Refused, with nothing written, for a reason that passes: too many connections, no memory, a full
/// disk or table, too many prepared statements, a server that is read-only since another has taken
/// its place, a node that has lost its cluster.
const PASSING: [u16; 15] = [
    1_021, 1_037, 1_038, 1_040, 1_041, 1_047, 1_114, 1_135, 1_203, 1_226, 1_290, 1_461, 1_792,
    1_836, 3_100,
];

/// The statement took longer than its session may.
const TOO_LONG: [u16; 2] = [1_969, 3_024];

/// Reads an error of the driver's.
pub(crate) fn read(error: Error) -> Failure {
    let Some(number) = number(&error) else { return Failure::without_code(error) };
    let source = |kind| StoreError::with_source(kind, error);
    if LOCKED.contains(&number) {
        Failure::Locked(source(StoreErrorKind::Unreachable))
    } else if CONFLICT.contains(&number) {
        Failure::Conflict(source(StoreErrorKind::Unreachable))
    } else if number == FAILED_COMMIT {
        Failure::Conflict(source(StoreErrorKind::NoAnswer))
    } else if BROKEN.contains(&number) {
        Failure::Broken(source(StoreErrorKind::NoAnswer))
    } else if PASSING.contains(&number) {
        Failure::Store(source(StoreErrorKind::Unreachable))
    } else if TOO_LONG.contains(&number) {
        Failure::Store(source(StoreErrorKind::NoAnswer))
    } else {
        Failure::Store(source(StoreErrorKind::Refused))
    }
}

/// Whether another insert was first.
pub(super) fn is_duplicate(error: &Error) -> bool {
    number(error) == Some(DUPLICATE)
}

/// Whether the table is not there.
pub(super) fn is_no_table(error: &Error) -> bool {
    number(error) == Some(NO_TABLE)
}

fn number(error: &Error) -> Option<u16> {
    let error = error.as_database_error()?.try_downcast_ref::<MySqlDatabaseError>()?;
    Some(error.number())
}
