//! A lease that releases itself: for embedders, so that an early return or a panic frees the key.

use std::time::Instant;

use crate::contract::{CommitError, Lease, Outcome, RenewError, Token, Ttl};
use crate::memory::MemoryStore;

/// Holds a lease of a [`MemoryStore`] and releases it when dropped, unless it was committed.
///
/// ```
/// use std::time::Duration;
/// use leasehold::{Admission, MemoryConfig, MemoryStore, RecordState, Terms, Ttl};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = MemoryStore::new(MemoryConfig::default())?;
/// let key = store.identify(&[b"key-1"]);
/// let terms = Terms::new(Ttl::new(Duration::from_secs(30))?);
/// if let Admission::Granted(lease) = store.acquire(key, &terms)? {
///     let _holder = store.hold(lease);
///     // An error, a return or a panic before `commit` frees the key.
/// }
/// assert_eq!(store.peek(key), RecordState::Free);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "a holder that is dropped releases its lease"]
pub struct Holder<'a> {
    store: &'a MemoryStore,
    /// `None` once it was committed.
    lease: Option<Lease>,
    token: Token,
}

impl<'a> Holder<'a> {
    pub(crate) fn new(store: &'a MemoryStore, lease: Lease) -> Self {
        Self { store, token: lease.token(), lease: Some(lease) }
    }

    /// The fencing token of this grant.
    #[must_use]
    pub const fn token(&self) -> Token {
        self.token
    }

    /// Commits, as [`MemoryStore::commit`], and gives the settled lease, for
    /// [`attach`](MemoryStore::attach).
    ///
    /// # Errors
    ///
    /// As [`MemoryStore::commit`]. After an error nothing is released: the work was done, and the
    /// lease was not this holder's any more.
    pub fn commit(mut self, outcome: Option<Outcome>, ttl: Ttl) -> Result<Lease, CommitError> {
        let Some(mut lease) = self.lease.take() else {
            return Err(CommitError::Superseded);
        };
        self.store.commit(&mut lease, outcome, ttl)?;
        Ok(lease)
    }

    /// Renews, as [`MemoryStore::renew`].
    ///
    /// # Errors
    ///
    /// As [`MemoryStore::renew`].
    pub fn renew(&mut self, lease_ttl: Ttl) -> Result<Instant, RenewError> {
        let lease = self.lease.as_mut().ok_or(RenewError::Superseded)?;
        self.store.renew(lease, lease_ttl)
    }
}

impl Drop for Holder<'_> {
    fn drop(&mut self) {
        if let Some(lease) = &mut self.lease {
            // A refusal means that the key is another's by now: nothing to free.
            let _ = self.store.release(lease);
        }
    }
}
