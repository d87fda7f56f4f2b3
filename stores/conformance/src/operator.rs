//! Laws of the operator's tools: peek looks, forget removes, sweep only frees memory.

use leasehold::{CommitError, LeaseStore as _, RecordState, RenewError};

use crate::Subject;
use crate::bound::{bound, entries};
use crate::case::{Case, Gone, LONG, assert_is, granted, outcome, ttl};

/// Peek sees what an acquire would meet, in every state, whether a sweep has run or not.
pub async fn peek_sees_what_an_acquire_would_meet<S: Subject>(subject: &S) {
    let case = Case::new(subject);
    assert_is!(case.peek().await, RecordState::Free);
    for state in Gone::ALL {
        for swept in [false, true] {
            let _lease = case.gone(state).await;
            case.sweep_if(swept).await;
            assert_is!(case.peek().await, RecordState::Free);
        }
    }
    for swept in [false, true] {
        let _late = case.late().await;
        case.sweep_if(swept).await;
        assert_is!(case.peek().await, RecordState::Free);
        let mut lease = case.running().await;
        case.sweep_if(swept).await;
        assert_is!(case.peek().await, RecordState::InFlight { .. });
        case.commit(&mut lease, swept.then(|| outcome("body"))).await;
        match case.peek().await {
            RecordState::Completed { replayable, .. } => {
                assert_eq!(replayable, swept && case.keeps_outcomes());
            }
            other => panic!("expected completed, got {other:?}"),
        }
        assert_is!(case.store.forget(case.address).await, Ok(true));
    }
}

/// Peek changes nothing: a late holder may still commit, a running one goes on.
pub async fn peek_changes_nothing<S: Subject>(subject: &S) {
    let case = Case::new(subject);
    let lease = case.running().await;
    let before = case.look().await;
    for _ in 0..3 {
        case.assert_unmoved(&before).await;
    }
    case.release(lease).await;
    if case.lacks_grace().await {
        return;
    }
    let mut lease = case.late().await;
    for _ in 0..3 {
        assert_is!(case.peek().await, RecordState::Free);
    }
    case.commit(&mut lease, None).await;
}

/// Forget removes a running lease and answers true; its holder then finds itself superseded.
pub async fn forget_of_a_running_lease_supersedes_it<S: Subject>(subject: &S) {
    let case = Case::new(subject);
    let mut lease = case.running().await;
    assert_is!(case.store.forget(case.address).await, Ok(true));
    assert_is!(case.peek().await, RecordState::Free);
    assert_is!(case.store.renew(&mut lease, ttl(LONG)).await, Err(RenewError::Superseded));
    assert_is!(case.store.commit(&mut lease, None, ttl(LONG)).await, Err(CommitError::Superseded));
    assert_is!(case.peek().await, RecordState::Free);
}

/// Forget removes a kept key with its outcome and answers true.
pub async fn forget_of_a_kept_key_frees_it<S: Subject>(subject: &S) {
    let case = Case::new(subject);
    let mut lease = case.running().await;
    case.commit(&mut lease, Some(outcome("first"))).await;
    assert_is!(case.store.forget(case.address).await, Ok(true));
    assert_is!(case.peek().await, RecordState::Free);
    let mut later = granted(case.acquire(LONG).await);
    case.commit(&mut later, None).await;
    assert_is!(case.peek().await, RecordState::Completed { replayable: false, .. });
}

/// Forget of a late lease answers false, since an acquire would be granted anyway, and removes it
/// all the same: its holder finds itself superseded.
pub async fn forget_of_a_late_lease_ends_its_grace<S: Subject>(subject: &S) {
    let case = Case::new(subject);
    let mut lease = case.late().await;
    assert_is!(case.store.forget(case.address).await, Ok(false));
    assert_is!(case.store.renew(&mut lease, ttl(LONG)).await, Err(RenewError::Superseded));
    assert_is!(case.store.commit(&mut lease, None, ttl(LONG)).await, Err(CommitError::Superseded));
    assert_is!(case.peek().await, RecordState::Free);
}

/// Forget answers false where there is no live record: never granted, or gone; swept or not.
pub async fn forget_of_what_is_gone_is_false<S: Subject>(subject: &S) {
    let case = Case::new(subject);
    assert_is!(case.store.forget(case.address).await, Ok(false));
    for state in Gone::ALL {
        for swept in [false, true] {
            let _lease = case.gone(state).await;
            case.sweep_if(swept).await;
            for _ in 0..2 {
                assert_is!(case.store.forget(case.address).await, Ok(false));
                assert_is!(case.peek().await, RecordState::Free);
            }
        }
    }
}

/// A sweep touches neither running leases, nor late ones within their grace, nor kept keys.
pub async fn sweep_touches_nothing_that_is_owed<S: Subject>(subject: &S) {
    let case = Case::new(subject);
    let mut lease = case.running().await;
    let before = case.look().await;
    case.sweep_if(true).await;
    case.assert_unmoved(&before).await;
    case.commit(&mut lease, Some(outcome("first"))).await;
    let before = case.look().await;
    case.sweep_if(true).await;
    case.assert_unmoved(&before).await;
    assert_is!(case.store.forget(case.address).await, Ok(true));
    if case.lacks_grace().await {
        return;
    }
    let mut lease = case.late().await;
    case.sweep_if(true).await;
    case.commit(&mut lease, None).await;
}

/// A sweep keeps to its budget, counts what it reclaims, and with enough of it leaves nothing that
/// has ended.
pub async fn sweep_reclaims_and_counts_what_has_ended<S: Subject>(subject: &S) {
    let store = subject.store();
    assert_is!(store.sweep(0).await, Ok(0));
    let Some(max) = bound(subject) else { return };
    let short = subject.short_ttl();
    for n in 0..max {
        let case = Case::new(subject);
        let mut lease = granted(case.acquire(short).await);
        if n % 2 == 0 {
            assert_is!(store.commit(&mut lease, None, ttl(short)).await, Ok(()));
        }
    }
    assert_is!(store.sweep(usize::MAX).await, Ok(0));
    let whole = short + subject.late_grace();
    subject.advance(whole + subject.place_lag(whole)).await;
    for budget in [0, 1, max / 2, usize::MAX] {
        let before = entries(subject);
        let reclaimed = store.sweep(budget).await.expect("the store answers");
        assert!(reclaimed <= budget, "{reclaimed} reclaimed by a budget of {budget}");
        assert_eq!(entries(subject), before - reclaimed);
    }
    assert_eq!(entries(subject), 0);
    assert_is!(store.sweep(usize::MAX).await, Ok(0));
}
