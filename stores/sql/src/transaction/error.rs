//! Why a lease was not guarded, or not committed, in the caller's transaction.

use leasehold::StoreError;
use thiserror::Error;

use super::steps::Fault;
use crate::config::Dialect;

/// Why a lease was not guarded. Nothing was written; roll the transaction back.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum GuardError {
    /// The lease is no longer the current one: it was released, forgotten, taken over, or its late
    /// grace ended. Do not do the work.
    #[error("the lease is superseded")]
    Superseded,
    /// This lease is committed: an earlier transaction, whose end was not known, did land. Do not
    /// do the work again.
    #[error("the lease is committed already")]
    Committed,
    /// Another transaction has the record locked. Begin again with the same lease.
    #[error("another transaction has the lease's record locked")]
    Locked,
    /// A serialization failure or a deadlock: the database has undone this transaction for the
    /// sake of another. Begin again with the same lease.
    #[error("the transaction has met another")]
    Conflict(#[source] StoreError),
    /// The store keeps its table in another kind of database. A mistake in the program.
    #[error("the store is of {store:?}, and the transaction of {transaction:?}")]
    OtherDatabase {
        /// The store's.
        store: Dialect,
        /// The transaction's.
        transaction: Dialect,
    },
    /// The database did not answer, or refused the statement.
    #[error("the store is unavailable")]
    Unavailable(#[source] StoreError),
}

impl GuardError {
    /// Whether the same lease may be guarded in a new transaction at once.
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        matches!(self, Self::Locked | Self::Conflict(_))
    }
}

impl From<Fault> for GuardError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Conflict(error) => Self::Conflict(error),
            Fault::Unavailable(error) => Self::Unavailable(error),
        }
    }
}

/// Why a lease was not committed in the caller's transaction. Roll it back: its work must not
/// become visible without its record.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CommitInError {
    /// The lease is no longer the current one, which a lock that was held until now prevents: the
    /// transaction, or the part of it that took the lock, has been rolled back.
    #[error("the lease is superseded")]
    Superseded,
    /// The guard was made by a store of another table, or the transaction is of another kind of
    /// database. A mistake in the program.
    #[error("the guard was made by another store")]
    OtherStore,
    /// The guard was made in another transaction (on MySQL and MariaDB: over another connection; on
    /// SQLite it cannot be told). A mistake in the program.
    #[error("the guard was made in another transaction")]
    OtherTransaction,
    /// A serialization failure or a deadlock: the database has undone this transaction for the
    /// sake of another. Begin again with the same lease.
    #[error("the transaction has met another")]
    Conflict(#[source] StoreError),
    /// The database did not answer, or refused the statement.
    #[error("the store is unavailable")]
    Unavailable(#[source] StoreError),
}

impl CommitInError {
    /// Whether the same lease may be guarded in a new transaction at once.
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        matches!(self, Self::Conflict(_))
    }
}

impl From<Fault> for CommitInError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Conflict(error) => Self::Conflict(error),
            Fault::Unavailable(error) => Self::Unavailable(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use leasehold::StoreErrorKind;

    use super::*;

    #[test]
    fn errors_say_one_level_and_whether_to_begin_again() {
        let unavailable = || StoreError::new(StoreErrorKind::NoAnswer);
        let other =
            GuardError::OtherDatabase { store: Dialect::Postgres, transaction: Dialect::Sqlite };
        for (error, text, is_retryable, has_source) in [
            (GuardError::Superseded, "the lease is superseded", false, false),
            (GuardError::Committed, "the lease is committed already", false, false),
            (GuardError::Locked, "another transaction has the lease's record locked", true, false),
            (GuardError::Conflict(unavailable()), "the transaction has met another", true, true),
            (other, "the store is of Postgres, and the transaction of Sqlite", false, false),
            (GuardError::Unavailable(unavailable()), "the store is unavailable", false, true),
        ] {
            assert_eq!(error.to_string(), text);
            assert_eq!(error.is_retryable(), is_retryable, "{text}");
            assert_eq!(error.source().is_some(), has_source, "{text}");
        }
        for (error, text, is_retryable, has_source) in [
            (CommitInError::Superseded, "the lease is superseded", false, false),
            (CommitInError::OtherStore, "the guard was made by another store", false, false),
            (
                CommitInError::OtherTransaction,
                "the guard was made in another transaction",
                false,
                false,
            ),
            (CommitInError::Conflict(unavailable()), "the transaction has met another", true, true),
            (CommitInError::Unavailable(unavailable()), "the store is unavailable", false, true),
        ] {
            assert_eq!(error.to_string(), text);
            assert_eq!(error.is_retryable(), is_retryable, "{text}");
            assert_eq!(error.source().is_some(), has_source, "{text}");
        }
    }
}
