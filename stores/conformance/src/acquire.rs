//! Laws of acquire: who is granted the key, and what the others are told.

use leasehold::{Admission, LeaseStore as _, RecordState, Terms};

use crate::Subject;
use crate::case::{Case, Gone, LONG, assert_is, fresh_address, granted, outcome, ttl};

/// A key that nobody holds is granted, and is then in flight for its TTL.
pub async fn free_key_is_granted<S: Subject>(subject: &S) {
    let case = Case::new(subject);
    assert_is!(case.peek().await, RecordState::Free);
    let since = subject.elapsed();
    let _lease = granted(case.acquire(LONG).await);
    match case.peek().await {
        RecordState::InFlight { remaining } => case.assert_remaining(remaining, LONG, since),
        other => panic!("expected in flight, got {other:?}"),
    }
}

/// A duplicate of a running lease is told that it is in flight and for how long; nothing moves.
pub async fn duplicate_of_a_running_lease_is_in_flight<S: Subject>(subject: &S) {
    let case = Case::new(subject);
    let since = subject.elapsed();
    let mut lease = case.running().await;
    let before = case.look().await;
    match case.acquire(LONG * 2).await {
        Ok(Admission::InFlight { remaining }) => case.assert_remaining(remaining, LONG, since),
        other => panic!("expected in flight, got {other:?}"),
    }
    case.assert_unmoved(&before).await;
    case.commit(&mut lease, None).await;
}

/// A duplicate of a kept key is told so, with the outcome that is kept; nothing moves.
pub async fn duplicate_of_a_kept_key_is_completed<S: Subject>(subject: &S) {
    let case = Case::new(subject);
    let mut lease = granted(case.acquire(LONG * 2).await);
    let since = subject.elapsed();
    case.commit(&mut lease, Some(outcome("first"))).await;
    let before = case.look().await;
    let kept = case.keeps_outcomes().then(|| outcome("first"));
    for _ in 0..2 {
        match case.acquire(LONG * 2).await {
            Ok(Admission::Completed { outcome, remaining }) => {
                assert_eq!(
                    outcome.as_ref().map(|o| o.as_bytes()),
                    kept.as_ref().map(|o| o.as_bytes())
                );
                case.assert_remaining(remaining, LONG, since);
            }
            other => panic!("expected completed, got {other:?}"),
        }
    }
    case.assert_unmoved(&before).await;
}

/// From its deadline on, a lease is taken over by an acquire, also within its grace.
pub async fn late_lease_is_taken_over<S: Subject>(subject: &S) {
    let case = Case::new(subject);
    let (old, later) = case.taken_over(None).await;
    assert!(later.token() > old.token());
    assert_is!(case.peek().await, RecordState::InFlight { .. });
    assert_is!(case.acquire(LONG).await, Ok(Admission::InFlight { .. }));
}

/// A key whose record is gone is granted at once: released, forgotten, past its grace, past the
/// TTL of its commit, or taken over and released; swept or not.
pub async fn key_that_is_gone_is_granted_anew<S: Subject>(subject: &S) {
    let case = Case::new(subject);
    for state in Gone::ALL {
        for swept in [false, true] {
            let old = case.gone(state).await;
            case.sweep_if(swept).await;
            let later = case.running().await;
            assert!(later.token() > old.token(), "{state:?}");
            assert_is!(case.acquire(LONG).await, Ok(Admission::InFlight { .. }));
            case.release(later).await;
        }
    }
}

/// Keys do not meet: what happens to one address changes nothing at another.
pub async fn addresses_do_not_meet<S: Subject>(subject: &S) {
    let (one, other) = (Case::new(subject), Case::new(subject));
    let before = other.look().await;
    let lease = one.running().await;
    other.assert_unmoved(&before).await;
    if subject.max_entries() == Some(1) {
        assert_is!(other.acquire(LONG).await, Err(leasehold::AcquireError::Full));
        return;
    }
    let mut second = other.running().await;
    other.commit(&mut second, None).await;
    let before = other.look().await;
    one.release(lease).await;
    other.assert_unmoved(&before).await;
    assert_is!(one.store.forget(one.address).await, Ok(false));
    other.assert_unmoved(&before).await;
}

/// Digests that differ in one bit, wherever it is, are different addresses.
pub async fn every_bit_of_an_address_counts<S: Subject>(subject: &S) {
    let store = subject.store();
    let base = fresh_address();
    let mut lease = granted(store.acquire(base, Terms::new(ttl(LONG))).await);
    assert_is!(store.commit(&mut lease, None, ttl(LONG)).await, Ok(()));
    for bit in 0..256 {
        let mut digest = *base.as_bytes();
        digest[bit / 8] ^= 1 << (bit % 8);
        let near = leasehold::Address::from_bytes(digest);
        assert_is!(store.peek(near).await, Ok(RecordState::Free));
    }
}
