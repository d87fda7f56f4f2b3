//! Why a verb failed: one small enum per verb, and what a store's own failure looks like.
//!
//! No key, payload or secret may appear in any of them.

use std::error::Error as StdError;
use std::fmt;

use thiserror::Error;

/// Why an acquire got no answer. In every case nothing was granted to this call, except that after
/// [`AcquireError::Unavailable`] a lease may exist that nobody holds.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AcquireError {
    /// The bound is reached and no record is due. Nothing was evicted. Try later, or raise the
    /// bound; never answered for a key that is present.
    #[error("the store is full")]
    Full,
    /// The store was closed. Do not run the request.
    #[error("the store is closed")]
    Closed,
    /// The store's clock has reached the end of its range (17 years after construction in memory).
    /// Make a new store.
    #[error("the store's clock is exhausted")]
    ClockExhausted,
    /// The store did not answer. Do not run the request; send one
    /// [`abandon`](super::LeaseStore::abandon), since a lease may have been granted.
    #[error("the store is unavailable")]
    Unavailable(#[source] StoreError),
}

/// Why a commit failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CommitError {
    /// The lease is no longer the current one: it was released, forgotten, taken over, or its late
    /// grace ended. The work may run again; count it and alert.
    #[error("the lease is superseded")]
    Superseded,
    /// The lease was granted by another store. A mistake in the program.
    #[error("the lease was granted by another store")]
    Foreign,
    /// The store did not answer. Repeat the commit: repeating one that landed is harmless.
    #[error("the store is unavailable")]
    Unavailable(#[source] StoreError),
}

/// Why an outcome was not attached. Always harmless: the key stays committed, not replayable.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AttachError {
    /// The entry is not committed by this token any more, or has an outcome already.
    #[error("it is too late to attach an outcome")]
    TooLate,
    /// The bound on the bytes of all outcomes is reached.
    #[error("there is no room for the outcome")]
    NoRoom,
    /// The lease was granted by another store. A mistake in the program.
    #[error("the lease was granted by another store")]
    Foreign,
    /// The store did not answer.
    #[error("the store is unavailable")]
    Unavailable(#[source] StoreError),
}

/// Why a release failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReleaseError {
    /// The key is committed, or held by a later grant; nothing was touched.
    #[error("the lease is superseded")]
    Superseded,
    /// The lease was granted by another store. A mistake in the program.
    #[error("the lease was granted by another store")]
    Foreign,
    /// The store did not answer. Repeat the release, or let the lease end by itself.
    #[error("the store is unavailable")]
    Unavailable(#[source] StoreError),
}

/// Why a renewal failed. The lease's deadline is unchanged.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RenewError {
    /// The lease was released, committed, forgotten, taken over, or its late grace ended. The
    /// holder should stop its work if it can.
    #[error("the lease is superseded")]
    Superseded,
    /// The lease was granted by another store. A mistake in the program.
    #[error("the lease was granted by another store")]
    Foreign,
    /// The store did not answer. Renew again before the deadline.
    #[error("the store is unavailable")]
    Unavailable(#[source] StoreError),
}

/// A store's own failure: what kind it is, and what lies below.
///
/// The source's type is not part of the contract and may change in any release; ask
/// [`StoreError::is_transient`] and [`StoreError::is_outcome_unknown`] instead.
#[derive(Debug)]
pub struct StoreError {
    kind: StoreErrorKind,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

/// What kind of failure a store had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// The store was not reached: nothing was written.
    Unreachable,
    /// No answer in time, or the connection broke: the write may have landed.
    NoAnswer,
    /// The store answered that it refuses, and will refuse again.
    Refused,
    /// The store's data is not what this version writes.
    Corrupt,
}

impl StoreError {
    /// For stores: a failure of a kind, without a source.
    #[must_use]
    pub const fn new(kind: StoreErrorKind) -> Self {
        Self { kind, source: None }
    }

    /// For stores: a failure of a kind, with what lies below.
    #[must_use]
    pub fn with_source(
        kind: StoreErrorKind,
        source: impl Into<Box<dyn StdError + Send + Sync>>,
    ) -> Self {
        Self { kind, source: Some(source.into()) }
    }

    /// What kind of failure it was.
    #[must_use]
    pub const fn kind(&self) -> StoreErrorKind {
        self.kind
    }

    /// Whether the same call may succeed later.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        matches!(self.kind, StoreErrorKind::Unreachable | StoreErrorKind::NoAnswer)
    }

    /// Whether the write may have landed although it was not confirmed.
    #[must_use]
    pub const fn is_outcome_unknown(&self) -> bool {
        matches!(self.kind, StoreErrorKind::NoAnswer)
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            StoreErrorKind::Unreachable => "the store could not be reached",
            StoreErrorKind::NoAnswer => "the store did not answer in time",
            StoreErrorKind::Refused => "the store refused the request",
            StoreErrorKind::Corrupt => "the store's record cannot be read",
        })
    }
}

impl StdError for StoreError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_text_and_its_queries() {
        let table = [
            (StoreErrorKind::Unreachable, "the store could not be reached", true, false),
            (StoreErrorKind::NoAnswer, "the store did not answer in time", true, true),
            (StoreErrorKind::Refused, "the store refused the request", false, false),
            (StoreErrorKind::Corrupt, "the store's record cannot be read", false, false),
        ];
        for (kind, text, transient, unknown) in table {
            let error = StoreError::with_source(kind, "below");
            assert_eq!(error.to_string(), text);
            assert_eq!(error.kind(), kind);
            assert_eq!((error.is_transient(), error.is_outcome_unknown()), (transient, unknown));
            assert_eq!(error.source().map(ToString::to_string), Some("below".to_owned()));
            assert!(StoreError::new(kind).source().is_none());
        }
    }

    #[test]
    fn verbs_print_one_level_and_pass_their_source_on() {
        let error = AcquireError::Unavailable(StoreError::new(StoreErrorKind::Refused));
        assert_eq!(error.to_string(), "the store is unavailable");
        assert!(error.source().is_some());
        assert_eq!(AcquireError::Full.to_string(), "the store is full");
        assert_eq!(CommitError::Superseded.to_string(), "the lease is superseded");
        assert_eq!(ReleaseError::Foreign.to_string(), "the lease was granted by another store");
    }
}
