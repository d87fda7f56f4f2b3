//! Why a statement failed, and what that means for a caller: did the write land, may it work later?
//!
//! Each database's codes are read in its own folder; what they have in common is here. No text of
//! the driver's reaches a caller but as a source, and none of it holds a password or a payload.

use leasehold::{StoreError, StoreErrorKind};

/// Why a call got no answer.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Another transaction has the row's lock. Nothing was written.
    Locked(StoreError),
    /// A deadlock or a serialization failure: the database has undone the statement, or the
    /// transaction that it was part of. The same again may do.
    Conflict(StoreError),
    /// The connection is gone: what was sent may have landed.
    Broken(StoreError),
    /// Everything else.
    Store(StoreError),
}

impl Failure {
    /// Nothing was sent, since there was no connection in time.
    pub(crate) const fn unconnected() -> Self {
        Self::Store(StoreError::new(StoreErrorKind::Unreachable))
    }

    /// No answer came in time; what was sent may have landed.
    pub(crate) const fn silence() -> Self {
        Self::Store(StoreError::new(StoreErrorKind::NoAnswer))
    }

    /// A row that this version does not write.
    pub(crate) const fn corrupt() -> Self {
        Self::Store(StoreError::new(StoreErrorKind::Corrupt))
    }

    /// Each time the row was looked at it had been changed again. Nothing was written.
    #[cfg_attr(
        not(any(feature = "postgres", feature = "mysql")),
        expect(dead_code, reason = "others hold a row's lock")
    )]
    pub(crate) const fn moved() -> Self {
        Self::Conflict(StoreError::new(StoreErrorKind::Unreachable))
    }

    /// A failure of a kind, by an error of the driver's.
    pub(crate) fn of(kind: StoreErrorKind, error: sqlx::Error) -> Self {
        Self::Store(StoreError::with_source(kind, error))
    }

    /// The same when nothing but the connection was asked for: then nothing was written.
    pub(crate) fn before_sending(self) -> Self {
        match self {
            Self::Broken(error) => {
                Self::Store(StoreError::with_source(StoreErrorKind::Unreachable, error))
            }
            other => other,
        }
    }

    /// Whether what was sent may have been written.
    pub(crate) const fn may_have_landed(&self) -> bool {
        self.error().is_outcome_unknown()
    }

    /// The same where an earlier try of the same call may have landed.
    pub(crate) fn after_a_lost_answer(self) -> Self {
        if self.may_have_landed() {
            return self;
        }
        Self::Store(StoreError::with_source(StoreErrorKind::NoAnswer, StoreError::from(self)))
    }

    const fn error(&self) -> &StoreError {
        match self {
            Self::Locked(error)
            | Self::Conflict(error)
            | Self::Broken(error)
            | Self::Store(error) => error,
        }
    }

    /// Whether the connection that it came over is as good as before.
    pub(crate) const fn leaves_the_line_whole(&self) -> bool {
        matches!(self, Self::Locked(_) | Self::Conflict(_))
    }

    /// An error that has no code of a database's. Those with a code are read before.
    pub(crate) fn without_code(error: sqlx::Error) -> Self {
        use sqlx::Error;
        match error {
            Error::Io(_) | Error::Protocol(_) | Error::WorkerCrashed => {
                Self::Broken(StoreError::with_source(StoreErrorKind::NoAnswer, error))
            }
            Error::PoolTimedOut | Error::PoolClosed => Self::of(StoreErrorKind::Unreachable, error),
            Error::ColumnDecode { .. } | Error::Decode(_) | Error::ColumnNotFound(_) => {
                Self::of(StoreErrorKind::Corrupt, error)
            }
            _ => Self::of(StoreErrorKind::Refused, error),
        }
    }
}

impl From<Failure> for StoreError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Locked(error)
            | Failure::Conflict(error)
            | Failure::Broken(error)
            | Failure::Store(error) => error,
        }
    }
}
