//! One trait over the memory store and over what a user would reach for instead.
//!
//! Each rival is wrapped as somebody would write it who knows the crate well and needs the same
//! verbs: one winner per key, a token that fences, expiry on read, and a bound where the crate lets
//! one count. What a crate cannot do stands in the first lines of its file and in [`Promises`].
//! All rivals hash with ahash and are built with room for their bound. They read the clock that the
//! memory store reads, as often and by the same calls: once in an acquire, once in a commit, never
//! in a release. moka alone has a clock of its own.

mod dashmap;
mod entry;
mod leasehold;
mod moka;
mod mutex_heap;
mod papaya;
mod quick_cache;
mod rwlock_btree;
mod scc;
mod supplies;
#[cfg(test)]
mod tests;

use std::time::Duration;

pub use dashmap::DashMap;
pub use leasehold::Leasehold;
pub use moka::Moka;
pub use mutex_heap::MutexHeap;
pub use papaya::Papaya;
pub use quick_cache::QuickCache;
pub use rwlock_btree::RwLockBTree;
pub use scc::Scc;
pub use supplies::Watch;

use crate::key::Key;
use crate::workload::BATCH;

/// What an acquire is told.
#[derive(Debug, PartialEq, Eq)]
pub enum Answer<L> {
    /// The caller runs.
    Granted(L),
    /// Another caller runs.
    InFlight,
    /// Somebody has succeeded.
    Completed,
    /// There is no room for one more key.
    Full,
}

/// What a store keeps of the memory store's contract.
#[derive(Clone, Copy, Debug)]
pub struct Promises {
    /// Never drops a live key to make room.
    pub keeps_live_keys: bool,
    /// Refuses a new key at exactly its bound.
    pub refuses_at_bound: bool,
    /// Knows what falls due next, so that expired keys go without a look at all keys.
    pub orders_expiry: bool,
    /// Takes many keys in one call.
    pub takes_batches: bool,
}

/// Verbs that are timed. All of them may be called from any thread.
pub trait Store: Send + Sync + Sized {
    /// What the tables call it.
    const NAME: &'static str;

    /// What it keeps.
    const PROMISES: Promises;

    /// What a grant is settled with.
    type Lease: Send;

    /// An empty store with room for `bound` keys. Stores without an order of expiry look through
    /// all keys once in `sweep_every`. A store with a clock of its own does not look at `watch`.
    fn new(bound: usize, sweep_every: Duration, watch: Watch) -> Self;

    /// Asks for the right to run, for [`LEASE_TTL`](crate::workload::LEASE_TTL).
    fn acquire(&self, key: &Key) -> Answer<Self::Lease>;

    /// Keeps the key for `kept` from now; false if the lease is not the current one.
    fn commit(&self, key: &Key, lease: Self::Lease, kept: Duration) -> bool;

    /// Frees the key; false if the lease is not the current one.
    fn release(&self, key: &Key, lease: Self::Lease) -> bool;

    /// Asks for all of these keys in one call, and gives how many were told *completed*: none by
    /// stores that take no batches.
    fn completed_of(&self, _keys: &[Key; BATCH]) -> usize {
        0
    }

    /// How many keys it holds, expired ones that were not removed yet included.
    fn entries(&self) -> usize;
}
