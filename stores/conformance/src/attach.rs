//! Laws of attach: once, to a kept entry of one's own that has no outcome.

use bytes::Bytes;
use leasehold::{Admission, AttachError, Lease, LeaseStore as _, Outcome, RecordState};

use crate::Subject;
use crate::case::{Case, Gone, LONG, assert_is, outcome};

/// Asserts a refusal. Where no outcome ever finds room, that may be the reason that is given.
async fn refused<S: Subject>(case: &Case<'_, S>, lease: &Lease) {
    let before = case.look().await;
    match case.store.attach(lease, outcome("late")).await {
        Err(AttachError::TooLate) => {}
        Err(AttachError::NoRoom) if !case.keeps_outcomes() => {}
        other => panic!("expected too late, got {other:?}"),
    }
    case.assert_unmoved(&before).await;
}

/// An outcome is attached to a key that was kept without one, and is replayed from then on. A
/// second one is too late. Neither moves the deadline.
pub async fn attach_is_done_once<S: Subject>(subject: &S) {
    let case = Case::new(subject);
    let since = subject.elapsed();
    let lease = case.kept().await;
    if !case.keeps_outcomes() {
        assert_is!(case.store.attach(&lease, outcome("body")).await, Err(AttachError::NoRoom));
        assert_is!(case.peek().await, RecordState::Completed { replayable: false, .. });
        return;
    }
    assert_is!(case.store.attach(&lease, outcome("body")).await, Ok(()));
    refused(&case, &lease).await;
    match case.acquire(LONG).await {
        Ok(Admission::Completed { outcome: Some(kept), remaining }) => {
            assert_eq!(kept, outcome("body"));
            case.assert_remaining(remaining, LONG, since);
        }
        other => panic!("expected completed, got {other:?}"),
    }
}

/// A repeated commit does not use up the one attach.
pub async fn attach_after_a_repeated_commit_is_done<S: Subject>(subject: &S) {
    let case = Case::new(subject);
    let mut lease = case.kept().await;
    case.commit(&mut lease, Some(outcome("ignored"))).await;
    assert_is!(case.peek().await, RecordState::Completed { replayable: false, .. });
    if case.keeps_outcomes() {
        assert_is!(case.store.attach(&lease, outcome("body")).await, Ok(()));
        assert_is!(case.peek().await, RecordState::Completed { replayable: true, .. });
    } else {
        assert_is!(case.store.attach(&lease, outcome("body")).await, Err(AttachError::NoRoom));
    }
}

/// Attaching to a lease that is not committed is refused: running, or past its deadline.
pub async fn attach_before_the_commit_is_too_late<S: Subject>(subject: &S) {
    let case = Case::new(subject);
    let lease = case.running().await;
    refused(&case, &lease).await;
    case.release(lease).await;
    let mut lease = case.late().await;
    refused(&case, &lease).await;
    if !subject.late_grace().is_zero() {
        case.commit(&mut lease, None).await;
        assert_is!(case.peek().await, RecordState::Completed { replayable: false, .. });
    }
}

/// An outcome that came with the commit is not replaced.
pub async fn attach_after_an_outcome_is_too_late<S: Subject>(subject: &S) {
    let case = Case::new(subject);
    let mut lease = case.running().await;
    case.commit(&mut lease, Some(outcome("first"))).await;
    refused(&case, &lease).await;
    match case.acquire(LONG).await {
        Ok(Admission::Completed { outcome: kept, .. }) => {
            assert_eq!(kept, case.keeps_outcomes().then(|| outcome("first")));
        }
        other => panic!("expected completed, got {other:?}"),
    }
}

/// Attaching to what is gone is too late, whether a sweep has run or not.
pub async fn attach_to_what_is_gone_is_too_late<S: Subject>(subject: &S) {
    let case = Case::new(subject);
    for state in Gone::ALL {
        for swept in [false, true] {
            let lease = case.gone(state).await;
            case.sweep_if(swept).await;
            refused(&case, &lease).await;
            assert_is!(case.peek().await, RecordState::Free);
        }
    }
}

/// An attach after a takeover is too late, also when the later grant is kept without an outcome.
pub async fn attach_after_a_takeover_is_too_late<S: Subject>(subject: &S) {
    let case = Case::new(subject);
    for state in Gone::all_or_late() {
        let (old, mut later) = case.taken_over(state).await;
        refused(&case, &old).await;
        case.commit(&mut later, None).await;
        refused(&case, &old).await;
        assert_is!(case.store.forget(case.address).await, Ok(true));
    }
}

/// An outcome that finds no room is refused, and the key stays kept without it.
pub async fn attach_without_room_is_refused<S: Subject>(subject: &S) {
    let case = Case::new(subject);
    let lease = case.kept().await;
    let Some(max) = subject.max_outcome_bytes() else {
        assert_is!(case.store.attach(&lease, outcome("body")).await, Ok(()));
        return;
    };
    let before = case.look().await;
    let large = Outcome::new(Bytes::from(vec![7; max + 1]));
    assert_is!(case.store.attach(&lease, large).await, Err(AttachError::NoRoom));
    case.assert_unmoved(&before).await;
    if max != 0 {
        assert_is!(case.store.attach(&lease, outcome("body")).await, Ok(()));
    }
}
