//! Each wrapper keeps what it claims.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use super::*;
use crate::workload::{KEPT_TTL, LEASE_TTL, Purpose, keys};

const MINUTE: Duration = Duration::from_secs(60);

fn new<S: Store>(bound: usize) -> S {
    S::new(bound, MINUTE, Watch::system())
}

fn granted<S: Store>(store: &S, key: &Key) -> S::Lease {
    match store.acquire(key) {
        Answer::Granted(lease) => lease,
        _ => panic!("{} did not grant a free key", S::NAME),
    }
}

fn one_key_is_granted_once_until_it_is_released_or_kept<S: Store>() {
    let store: S = new(100);
    let key = keys(Purpose::Live).next().expect("a key");
    let lease = granted(&store, &key);
    assert!(matches!(store.acquire(&key), Answer::InFlight), "{}", S::NAME);
    assert!(store.release(&key, lease), "{}", S::NAME);
    let lease = granted(&store, &key);
    assert!(store.commit(&key, lease, KEPT_TTL), "{}", S::NAME);
    assert!(matches!(store.acquire(&key), Answer::Completed), "{}", S::NAME);
    assert_eq!(store.entries(), 1, "{}", S::NAME);
}

fn of_two_threads_one_is_granted<S: Store>() {
    let store: S = new(1_000);
    let wins = AtomicUsize::new(0);
    let race = || {
        for key in keys(Purpose::Live).take(500) {
            if let Answer::Granted(lease) = store.acquire(&key) {
                wins.fetch_add(1, Ordering::Relaxed);
                assert!(store.commit(&key, lease, KEPT_TTL), "{}", S::NAME);
            }
        }
    };
    thread::scope(|scope| {
        scope.spawn(race);
        scope.spawn(race);
    });
    assert_eq!(wins.into_inner(), 500, "{}", S::NAME);
}

fn the_bound_is_kept_as_claimed<S: Store>() {
    let store: S = new(1_000);
    let refused = keys(Purpose::Live)
        .take(1_100)
        .filter(|key| match store.acquire(key) {
            Answer::Granted(lease) => {
                // A cache may have evicted the lease at once.
                assert!(store.commit(key, lease, KEPT_TTL) || !S::PROMISES.keeps_live_keys);
                false
            }
            Answer::Full => true,
            _ => panic!("{} knows a fresh key", S::NAME),
        })
        .count();
    assert_eq!(refused, if S::PROMISES.refuses_at_bound { 100 } else { 0 }, "{}", S::NAME);
    let kept = keys(Purpose::Live).take(1_000);
    let known = kept.filter(|key| matches!(store.acquire(key), Answer::Completed)).count();
    assert_eq!(known == 1_000, S::PROMISES.keeps_live_keys, "{} knows {known}", S::NAME);
}

#[test]
fn every_store_grants_a_key_once() {
    crate::for_each_store!(one_key_is_granted_once_until_it_is_released_or_kept);
    crate::for_each_store!(of_two_threads_one_is_granted);
}

#[test]
fn every_store_keeps_its_bound_as_claimed() {
    crate::for_each_store!(the_bound_is_kept_as_claimed);
}

/// For the stores that read the watch: the memory store's expiry has its own tests, and moka's
/// clock cannot be moved.
fn a_lease_ends_on_read_and_its_token_is_fenced<S: Store>() {
    let (watch, hand) = Watch::mock();
    let store = S::new(100, 100 * MINUTE, watch);
    let key = keys(Purpose::Live).next().expect("a key");
    let late = granted(&store, &key);
    hand.increment(LEASE_TTL - Duration::from_nanos(1));
    assert!(matches!(store.acquire(&key), Answer::InFlight), "{}", S::NAME);
    hand.increment(1_u64);
    let lease = granted(&store, &key);
    assert!(!store.commit(&key, late, KEPT_TTL), "{}", S::NAME);
    assert!(store.commit(&key, lease, MINUTE), "{}", S::NAME);
    hand.increment(LEASE_TTL);
    assert!(matches!(store.acquire(&key), Answer::Completed), "{}", S::NAME);
    hand.increment(MINUTE - LEASE_TTL);
    let lease = granted(&store, &key);
    assert!(store.release(&key, lease), "{}", S::NAME);
    assert_eq!(store.entries(), 0, "{}", S::NAME);
}

#[test]
fn what_has_expired_is_granted_again() {
    a_lease_ends_on_read_and_its_token_is_fenced::<DashMap>();
    a_lease_ends_on_read_and_its_token_is_fenced::<Scc>();
    a_lease_ends_on_read_and_its_token_is_fenced::<Papaya>();
    a_lease_ends_on_read_and_its_token_is_fenced::<QuickCache>();
    a_lease_ends_on_read_and_its_token_is_fenced::<MutexHeap>();
    a_lease_ends_on_read_and_its_token_is_fenced::<RwLockBTree>();
}

/// A store at its bound has room again once what it held is due, at the latest after one sweep.
fn what_is_due_frees_its_place<S: Store>() {
    let (watch, hand) = Watch::mock();
    let store = S::new(10, MINUTE, watch);
    for key in keys(Purpose::Live).take(10) {
        let lease = granted(&store, &key);
        assert!(store.commit(&key, lease, MINUTE), "{}", S::NAME);
    }
    let fresh = keys(Purpose::Fresh).next().expect("a key");
    assert!(matches!(store.acquire(&fresh), Answer::Full), "{}", S::NAME);
    hand.increment(2 * MINUTE);
    drop(granted(&store, &fresh));
}

#[test]
fn every_store_that_says_full_sweeps() {
    what_is_due_frees_its_place::<DashMap>();
    what_is_due_frees_its_place::<Scc>();
    what_is_due_frees_its_place::<Papaya>();
    what_is_due_frees_its_place::<MutexHeap>();
    what_is_due_frees_its_place::<RwLockBTree>();
}
