//! A map by address that many threads look into at once, nearly always in vain.
//!
//! It must never stay locked across a wait, nor while code of others runs.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use leasehold::Address;

/// Parts with a lock each: enough that two threads hardly ever meet at one; a power of two.
/// Arbitrary beyond that.
const SHARDS: usize = 64;

/// A map by address, in parts.
pub(crate) struct ByAddress<T> {
    shards: [Mutex<HashMap<Address, T>>; SHARDS],
}

impl<T> ByAddress<T> {
    /// The part of the map that an address belongs to.
    pub(crate) fn lock(&self, address: &Address) -> MutexGuard<'_, HashMap<Address, T>> {
        // An address is a digest, so any byte of it spreads well.
        let shard = &self.shards[usize::from(address.as_bytes()[0]) % SHARDS];
        // Nothing panics with the lock held; were it poisoned, the map would still be whole.
        shard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.shards.iter().all(|shard| shard.lock().expect("not poisoned").is_empty())
    }
}

impl<T> Default for ByAddress<T> {
    fn default() -> Self {
        Self { shards: std::array::from_fn(|_| Mutex::default()) }
    }
}

impl<T> fmt::Debug for ByAddress<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ByAddress").finish_non_exhaustive()
    }
}
