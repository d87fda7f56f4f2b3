//! What an error of SQLite's means for a caller: did the write land, may it work later?

use std::sync::Arc;

use leasehold::{StoreError, StoreErrorKind};

use crate::failure::Failure;

/// Primary result codes, the lowest byte of what SQLite tells.
mod code {
    pub(super) const BUSY: i32 = 5;
    pub(super) const LOCKED: i32 = 6;
    pub(super) const NO_MEMORY: i32 = 7;
    pub(super) const READ_ONLY: i32 = 8;
    pub(super) const IO_ERROR: i32 = 10;
    pub(super) const CORRUPT: i32 = 11;
    pub(super) const FULL: i32 = 13;
    pub(super) const CANNOT_OPEN: i32 = 14;
    pub(super) const PROTOCOL: i32 = 15;
    pub(super) const NOT_A_DATABASE: i32 = 26;
    /// Extended: the disk did not confirm what was written to it.
    pub(super) const NO_FSYNC: i32 = IO_ERROR | 4 << 8;
    /// Extended: the same of the folder.
    pub(super) const NO_FOLDER_FSYNC: i32 = IO_ERROR | 5 << 8;
    /// Extended: the log's index, which is written last, got no room.
    pub(super) const NO_INDEX_ROOM: i32 = IO_ERROR | 19 << 8;
    /// Extended: the log's index could not be mapped.
    pub(super) const NO_INDEX_MAP: i32 = IO_ERROR | 21 << 8;
}

/// Another has the lock; nothing was done.
pub(super) fn is_busy(error: &sqlx::Error) -> bool {
    code_of(error).is_some_and(|code| matches!(code & 0xff, code::BUSY | code::LOCKED))
}

/// The statement is wrong for this database, as where there is no such table.
pub(super) fn is_refused(error: &sqlx::Error) -> bool {
    kind(error) == Some(StoreErrorKind::Refused)
}

fn code_of(error: &sqlx::Error) -> Option<i32> {
    error.as_database_error()?.code()?.parse().ok()
}

/// What a code means; `None` if it is no code of SQLite's.
fn kind(error: &sqlx::Error) -> Option<StoreErrorKind> {
    Some(match code_of(error)? & 0xff {
        code::BUSY
        | code::LOCKED
        | code::NO_MEMORY
        | code::READ_ONLY
        | code::IO_ERROR
        | code::FULL
        | code::CANNOT_OPEN
        | code::PROTOCOL => StoreErrorKind::Unreachable,
        code::CORRUPT | code::NOT_A_DATABASE => StoreErrorKind::Corrupt,
        _ => StoreErrorKind::Refused,
    })
}

/// Reads an error of a connection that writes nothing.
pub(crate) fn read(error: sqlx::Error) -> Failure {
    if is_busy(&error) {
        return Failure::Locked(StoreError::with_source(StoreErrorKind::Unreachable, error));
    }
    match kind(&error) {
        Some(kind) => Failure::of(kind, error),
        None => Failure::without_code(error),
    }
}

/// Why a whole group failed: each of its callers is told.
pub(super) struct Cause {
    kind: StoreErrorKind,
    source: Arc<sqlx::Error>,
}

impl Cause {
    /// Before the first write of a transaction: nothing was done, whatever it is.
    pub(super) fn before_writing(error: sqlx::Error) -> Self {
        let kind = kind(&error).unwrap_or(StoreErrorKind::Unreachable);
        Self { kind, source: Arc::new(error) }
    }

    /// While writing. A transaction that could not be written whole is none, now and after a
    /// restart; but one that was written and not confirmed by the disk, or not entered into the
    /// log's index, may be found by the recovery after a crash.
    pub(super) fn while_writing(error: sqlx::Error) -> Self {
        let unconfirmed = matches!(
            code_of(&error),
            Some(
                code::NO_FSYNC
                    | code::NO_FOLDER_FSYNC
                    | code::NO_INDEX_ROOM
                    | code::NO_INDEX_MAP
                    | code::NO_MEMORY
            )
        );
        let kind = if unconfirmed { None } else { kind(&error) };
        Self { kind: kind.unwrap_or(StoreErrorKind::NoAnswer), source: Arc::new(error) }
    }

    pub(super) fn failure(&self) -> Failure {
        Failure::Store(StoreError::with_source(self.kind, Arc::clone(&self.source)))
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;
    use std::error::Error as StdError;
    use std::fmt;

    use sqlx::error::{DatabaseError, ErrorKind};

    use super::*;

    #[derive(Debug)]
    struct Coded(i32);

    impl fmt::Display for Coded {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "code {}", self.0)
        }
    }

    impl StdError for Coded {}

    impl DatabaseError for Coded {
        fn message(&self) -> &str {
            "coded"
        }

        fn code(&self) -> Option<Cow<'_, str>> {
            Some(self.0.to_string().into())
        }

        fn as_error(&self) -> &(dyn StdError + Send + Sync + 'static) {
            self
        }

        fn as_error_mut(&mut self) -> &mut (dyn StdError + Send + Sync + 'static) {
            self
        }

        fn into_error(self: Box<Self>) -> Box<dyn StdError + Send + Sync + 'static> {
            self
        }

        fn kind(&self) -> ErrorKind {
            ErrorKind::Other
        }
    }

    fn coded(code: i32) -> sqlx::Error {
        sqlx::Error::Database(Box::new(Coded(code)))
    }

    #[test]
    fn codes_tell_whether_to_try_again_and_whether_it_landed() {
        use StoreErrorKind::{Corrupt, NoAnswer, Refused, Unreachable};
        for (code, before, while_writing) in [
            (8, Unreachable, Unreachable),
            (8 | 4 << 8, Unreachable, Unreachable),
            (10 | 3 << 8, Unreachable, Unreachable),
            (10 | 4 << 8, Unreachable, NoAnswer),
            (10 | 5 << 8, Unreachable, NoAnswer),
            (10 | 19 << 8, Unreachable, NoAnswer),
            (10 | 21 << 8, Unreachable, NoAnswer),
            (7, Unreachable, NoAnswer),
            (13, Unreachable, Unreachable),
            (14, Unreachable, Unreachable),
            (11, Corrupt, Corrupt),
            (11 | 1 << 8, Corrupt, Corrupt),
            (26, Corrupt, Corrupt),
            (1, Refused, Refused),
            (19 | 8 << 8, Refused, Refused),
        ] {
            assert_eq!(Cause::before_writing(coded(code)).kind, before, "{code}");
            assert_eq!(Cause::while_writing(coded(code)).kind, while_writing, "{code}");
            assert_eq!(StoreError::from(read(coded(code))).kind(), before, "{code}");
        }
        assert_eq!(Cause::before_writing(sqlx::Error::WorkerCrashed).kind, Unreachable);
        assert_eq!(Cause::while_writing(sqlx::Error::WorkerCrashed).kind, NoAnswer);
    }

    #[test]
    fn a_lock_of_another_is_told_apart() {
        for code in [5, 5 | 1 << 8, 5 | 2 << 8, 6, 6 | 1 << 8] {
            assert!(is_busy(&coded(code)), "{code}");
            assert!(matches!(read(coded(code)), Failure::Locked(_)), "{code}");
        }
        assert!(!is_busy(&coded(13)));
        assert!(!is_busy(&sqlx::Error::WorkerCrashed));
    }
}
