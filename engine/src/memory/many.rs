//! Acquire for many keys in one call. Must never grant, refuse or count otherwise than as many
//! single acquires would.

use super::MemoryStore;
use crate::contract::{AcquireError, Admission, Terms};
use crate::identity::Identity;

/// Keys whose lines are fetched together: two lines each, about as many as a core can have under
/// way, so that the first are still there when the last have come.
const AT_ONCE: usize = 16;

impl MemoryStore {
    /// Acquires each identity, as [`acquire`](Self::acquire) would in this order, and gives the
    /// answers in this order.
    ///
    /// For callers that have their keys together: a consumer that has fetched a batch of messages,
    /// or a request with many operations.
    ///
    /// Not atomic as a whole: each answer is of a moment of its own within the call, other threads
    /// may acquire in between, and one key's answer says nothing about another's. An identity that
    /// occurs twice is granted at most once. A batch of which some are refused keeps what was
    /// granted: settle each lease by itself.
    ///
    /// Lock-free. Memory: one vector of the answers, nothing besides; bound the length of a batch
    /// that a stranger chooses. Never panics.
    ///
    /// # Errors
    ///
    /// None as a whole. Each answer may be an [`AcquireError`], for the reasons that
    /// [`acquire`](Self::acquire) names; those after it are asked for all the same.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use leasehold::{Admission, MemoryConfig, MemoryStore, Terms, Ttl};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = MemoryStore::new(MemoryConfig::default())?;
    /// let batch = [b"message-1", b"message-2", b"message-1"].map(|key| store.identify(&[key]));
    /// let terms = Terms::new(Ttl::new(Duration::from_secs(30))?);
    /// for answer in store.acquire_many(&batch, &terms) {
    ///     match answer? {
    ///         Admission::Granted(mut lease) => store.release(&mut lease)?,
    ///         other => assert!(matches!(other, Admission::InFlight { .. })),
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn acquire_many(
        &self,
        identities: &[Identity],
        terms: &Terms,
    ) -> Vec<Result<Admission, AcquireError>> {
        let mut answers = Vec::with_capacity(identities.len());
        for group in identities.chunks(AT_ONCE) {
            // All lines of the group are on their way before the first is waited for.
            for identity in group {
                self.entries.index.prefetch(&self.entries.index.sought(*identity));
            }
            answers.extend(group.iter().map(|identity| self.acquire(*identity, terms)));
        }
        answers
    }
}
