//! The whole way of a lease, with a fault between any two verbs.

use leasehold::{Admission, LeaseStore as _, RecordState};
use leasehold_sql::SqlStore;

use crate::keys::{LONG, fresh_address, granted, long_terms, outcome, ttl};

/// A fault before each verb shows nothing.
pub(crate) async fn nothing_shows(store: &SqlStore, fault: impl Fn()) {
    let address = fresh_address();
    let terms = long_terms();
    fault();
    let mut lease = granted(store.acquire(address, terms).await);
    fault();
    let answer = store.acquire(address, long_terms()).await;
    assert!(matches!(answer, Ok(Admission::InFlight { .. })), "{answer:?}");
    fault();
    let again = granted(store.acquire(address, terms).await);
    assert_eq!(again.token(), lease.token(), "the attempt recognises itself");
    fault();
    store.renew(&mut lease, ttl(LONG)).await.expect("renewed");
    fault();
    store.commit(&mut lease, None, ttl(LONG)).await.expect("committed");
    fault();
    store.attach(&lease, outcome("body")).await.expect("attached");
    fault();
    let state = store.peek(address).await.expect("an answer");
    assert!(matches!(state, RecordState::Completed { replayable: true, .. }), "{state:?}");
    fault();
    assert!(store.forget(address).await.expect("an answer"));
    fault();
    let mut released = granted(store.acquire(address, terms).await);
    fault();
    store.release(&mut released).await.expect("released");
    fault();
    let _lease = granted(store.acquire(address, terms).await);
    fault();
    store.abandon(address, terms.attempt).await.expect("abandoned");
    fault();
    store.sweep(1).await.expect("swept");
    fault();
    assert_eq!(store.peek(address).await.expect("an answer"), RecordState::Free);
}
