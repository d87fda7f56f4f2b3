//! Laws of release: only what is one's own and not yet committed is freed.

use leasehold::{Admission, Lease, LeaseStore as _, RecordState, ReleaseError};

use crate::Subject;
use crate::case::{Case, Gone, LONG, assert_is, granted, outcome, ttl};

/// A running lease is released, and the key is free at once for the next.
pub async fn release_frees_the_key_at_once<S: Subject>(subject: &S) {
    let case = Case::new(subject);
    let mut lease = case.running().await;
    assert_is!(case.store.release(&mut lease).await, Ok(()));
    assert_is!(case.peek().await, RecordState::Free);
    let _later = granted(case.acquire(LONG).await);
}

/// A lease past its deadline is released too, and its grace is then over.
pub async fn release_within_the_grace_is_done<S: Subject>(subject: &S) {
    let case = Case::new(subject);
    let mut lease = case.late().await;
    assert_is!(case.store.release(&mut lease).await, Ok(()));
    assert_is!(case.peek().await, RecordState::Free);
    let answer = case.store.commit(&mut lease, None, ttl(LONG)).await;
    assert_is!(answer, Err(leasehold::CommitError::Superseded));
}

/// A kept key is never released, not by its own token either: the write has happened.
pub async fn release_of_a_kept_key_is_superseded<S: Subject>(subject: &S) {
    let case = Case::new(subject);
    let mut lease = case.running().await;
    case.commit(&mut lease, Some(outcome("first"))).await;
    let before = case.look().await;
    for _ in 0..2 {
        assert_is!(case.store.release(&mut lease).await, Err(ReleaseError::Superseded));
    }
    case.assert_unmoved(&before).await;
    assert_is!(case.acquire(LONG).await, Ok(Admission::Completed { .. }));
}

/// Releasing what is gone is done, whether a sweep has run or not, and again when repeated.
pub async fn release_of_what_is_gone_is_done<S: Subject>(subject: &S) {
    let case = Case::new(subject);
    for state in Gone::ALL {
        for swept in [false, true] {
            let mut lease = case.gone(state).await;
            case.sweep_if(swept).await;
            for _ in 0..2 {
                let answer = case.store.release(&mut lease).await;
                assert!(answer.is_ok(), "{state:?}, swept {swept}: {answer:?}");
                assert_is!(case.peek().await, RecordState::Free);
            }
        }
    }
}

/// A release after a takeover is superseded and touches nothing, be the later grant running, past
/// its own deadline or kept.
pub async fn release_after_a_takeover_is_superseded<S: Subject>(subject: &S) {
    let case = Case::new(subject);
    for state in Gone::all_or_late() {
        let (mut old, mut later) = case.taken_over(state).await;
        superseded(&case, &mut old).await;
        if !subject.late_grace().is_zero() {
            let answer = case.store.renew(&mut later, ttl(subject.short_ttl())).await;
            assert_is!(answer, Ok(_));
            case.pass(subject.short_ttl()).await;
            superseded(&case, &mut old).await;
        }
        // The later holder's late commit shows that its grace was left alone.
        case.commit(&mut later, None).await;
        superseded(&case, &mut old).await;
        assert_is!(case.store.forget(case.address).await, Ok(true));
    }
}

async fn superseded<S: Subject>(case: &Case<'_, S>, lease: &mut Lease) {
    let before = case.look().await;
    assert_is!(case.store.release(lease).await, Err(ReleaseError::Superseded));
    case.assert_unmoved(&before).await;
}
