//! The verbs of the memory store as a caller uses them, the key's parts hashed in the call.
//!
//! Panics where a workload is not what it should be: a bench of the wrong thing must not go on.

use leasehold::{Admission, Lease, MemoryStore, Terms, Ttl};

use crate::key::Key;
use crate::workload;

/// Acquires a lease that nobody holds.
///
/// # Panics
///
/// If the key is taken or the store is full.
pub fn acquire_fresh(store: &MemoryStore, key: &Key, terms: &Terms) -> Lease {
    match store.acquire(store.identify(&key.parts()), terms) {
        Ok(Admission::Granted(lease)) => lease,
        other => panic!("a fresh key was not granted: {other:?}"),
    }
}

/// Asks for a key whose request has succeeded.
///
/// # Panics
///
/// If it has not.
pub fn acquire_duplicate(store: &MemoryStore, key: &Key, terms: &Terms) {
    match store.acquire(store.identify(&key.parts()), terms) {
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
    store.commit(lease, None, ttl).expect("the lease is the current one");
}

/// Releases.
///
/// # Panics
///
/// If the lease is not the current one.
pub fn release(store: &MemoryStore, lease: &mut Lease) {
    store.release(lease).expect("the lease is the current one");
}

/// A store that holds so many committed keys at the usual load, and the keys.
///
/// # Panics
///
/// If it does not take them.
#[must_use]
pub fn filled(live: usize) -> (MemoryStore, Vec<Key>) {
    let store = workload::store(workload::bound(live));
    let keys: Vec<_> = workload::keys(workload::Purpose::Live).take(live).collect();
    let (terms, kept) = (workload::terms(), workload::ttl(workload::KEPT_TTL));
    for key in &keys {
        commit(&store, &mut acquire_fresh(&store, key, &terms), kept);
    }
    (store, keys)
}
