//! Laws of attempts: an acquire whose reply was lost recognises itself, and nothing else.

use leasehold::{Admission, Attempt, LeaseStore as _, RecordState, Terms};

use crate::Subject;
use crate::case::{Case, LONG, assert_is, granted, ttl};

/// Asks with the same attempt again and again.
fn same_terms() -> Terms {
    Terms::new(ttl(LONG))
}

/// An acquire repeated with its attempt gets no second lease: the same one again, from a store
/// that recognises attempts, else in flight.
pub async fn repeated_attempt_gets_no_second_lease<S: Subject>(subject: &S) {
    let case = Case::new(subject);
    let terms = same_terms();
    let mut lease = granted(case.store.acquire(case.address, terms).await);
    for _ in 0..2 {
        match case.store.acquire(case.address, terms).await {
            Ok(Admission::Granted(again)) if S::RECOGNISES_ATTEMPTS => {
                assert_eq!(again.token(), lease.token());
            }
            Ok(Admission::InFlight { .. }) if !S::RECOGNISES_ATTEMPTS => {}
            other => panic!("unexpected {other:?}"),
        }
    }
    assert_is!(case.acquire(LONG).await, Ok(Admission::InFlight { .. }));
    case.commit(&mut lease, None).await;
    assert_is!(case.store.acquire(case.address, terms).await, Ok(Admission::Completed { .. }));
}

/// Abandoning an attempt releases the running lease that it was granted, in a store that
/// recognises attempts; else it changes nothing.
pub async fn abandon_releases_the_lease_of_its_attempt<S: Subject>(subject: &S) {
    let case = Case::new(subject);
    let terms = same_terms();
    let mut lease = granted(case.store.acquire(case.address, terms).await);
    let before = case.look().await;
    assert_is!(case.store.abandon(case.address, terms.attempt).await, Ok(()));
    if !S::RECOGNISES_ATTEMPTS {
        case.assert_unmoved(&before).await;
        case.commit(&mut lease, None).await;
        return;
    }
    assert_is!(case.peek().await, RecordState::Free);
    let answer = case.store.commit(&mut lease, None, ttl(LONG)).await;
    assert_is!(answer, Err(leasehold::CommitError::Superseded));
    assert_is!(case.store.abandon(case.address, terms.attempt).await, Ok(()));
    let later = granted(case.acquire(LONG).await);
    assert!(later.token() > lease.token());
}

/// Abandoning another attempt, or at a free address, is done and touches nothing.
pub async fn abandon_of_another_attempt_touches_nothing<S: Subject>(subject: &S) {
    let case = Case::new(subject);
    assert_is!(case.store.abandon(case.address, Attempt::random()).await, Ok(()));
    let mut lease = case.running().await;
    let before = case.look().await;
    assert_is!(case.store.abandon(case.address, Attempt::random()).await, Ok(()));
    case.assert_unmoved(&before).await;
    case.commit(&mut lease, None).await;
    let before = case.look().await;
    assert_is!(case.store.abandon(case.address, Attempt::random()).await, Ok(()));
    case.assert_unmoved(&before).await;
}

/// Abandoning never touches a kept key, not that of its own attempt either.
pub async fn abandon_of_a_kept_key_touches_nothing<S: Subject>(subject: &S) {
    let case = Case::new(subject);
    let terms = same_terms();
    let mut lease = granted(case.store.acquire(case.address, terms).await);
    case.commit(&mut lease, None).await;
    let before = case.look().await;
    assert_is!(case.store.abandon(case.address, terms.attempt).await, Ok(()));
    case.assert_unmoved(&before).await;
}

/// Abandoning an attempt whose lease was taken over touches nothing of the later grant's.
pub async fn abandon_after_a_takeover_touches_nothing<S: Subject>(subject: &S) {
    let case = Case::new(subject);
    let terms = Terms::new(ttl(subject.short_ttl()));
    let _old = granted(case.store.acquire(case.address, terms).await);
    case.pass(subject.short_ttl()).await;
    let mut later = case.running().await;
    let before = case.look().await;
    assert_is!(case.store.abandon(case.address, terms.attempt).await, Ok(()));
    case.assert_unmoved(&before).await;
    case.commit(&mut later, None).await;
}
