//! The verbs of the memory store, without a runtime: its futures are ready at their first poll.
//!
//! Panics where a workload is not what it should be: a bench of the wrong thing must not go on.

use std::future::Future;

use futures_util::FutureExt as _;
use leasehold::{Address, Admission, Lease, LeaseStore, MemoryStore, Terms, Ttl};

/// Acquires a lease that nobody holds.
///
/// # Panics
///
/// If the key is taken or the store is full.
pub fn acquire_fresh(store: &MemoryStore, address: Address, terms: Terms) -> Lease {
    match ready(LeaseStore::acquire(store, address, terms)) {
        Ok(Admission::Granted(lease)) => lease,
        other => panic!("a fresh key was not granted: {other:?}"),
    }
}

/// Asks for a key whose request has succeeded.
///
/// # Panics
///
/// If it has not.
pub fn acquire_duplicate(store: &MemoryStore, address: Address, terms: Terms) {
    match ready(LeaseStore::acquire(store, address, terms)) {
        Ok(Admission::Completed { .. }) => {}
        other => panic!("a duplicate was not refused: {other:?}"),
    }
}

/// Commits without an outcome.
///
/// # Panics
///
/// If the lease is not the current one.
pub fn commit(store: &MemoryStore, lease: &mut Lease, ttl: Ttl) {
    ready(LeaseStore::commit(store, lease, None, ttl)).expect("the lease is the current one");
}

/// Releases.
///
/// # Panics
///
/// If the lease is not the current one.
pub fn release(store: &MemoryStore, lease: &mut Lease) {
    ready(LeaseStore::release(store, lease)).expect("the lease is the current one");
}

fn ready<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().expect("the memory store never waits")
}
