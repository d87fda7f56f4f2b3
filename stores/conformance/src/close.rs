//! Laws of close: no new acquire, and nothing that runs is lost.

use leasehold::{AcquireError, LeaseStore as _, RecordState};

use crate::Subject;
use crate::case::{Case, LONG, assert_is, outcome, ttl};

/// A closed store refuses every acquire, of a free key as of one that is present.
pub async fn closed_store_refuses_every_acquire<S: Subject>(subject: &S) {
    let (case, free) = (Case::new(subject), Case::new(subject));
    let mut lease = case.running().await;
    case.store.close();
    case.store.close();
    for case in [&case, &free] {
        assert_is!(case.acquire(LONG).await, Err(AcquireError::Closed));
    }
    case.commit(&mut lease, None).await;
    assert_is!(case.acquire(LONG).await, Err(AcquireError::Closed));
    assert_is!(free.peek().await, RecordState::Free);
}

/// In a closed store running leases are still renewed, committed and attached to.
pub async fn closed_store_still_commits<S: Subject>(subject: &S) {
    let case = Case::new(subject);
    let mut lease = case.running().await;
    case.store.close();
    assert_is!(case.peek().await, RecordState::InFlight { .. });
    assert_is!(case.store.renew(&mut lease, ttl(LONG * 2)).await, Ok(_));
    case.commit(&mut lease, None).await;
    if case.keeps_outcomes() {
        assert_is!(case.store.attach(&lease, outcome("body")).await, Ok(()));
    }
    case.sweep_if(true).await;
    match case.peek().await {
        RecordState::Completed { replayable, .. } => assert_eq!(replayable, case.keeps_outcomes()),
        other => panic!("expected completed, got {other:?}"),
    }
    assert_is!(case.store.forget(case.address).await, Ok(true));
}

/// In a closed store running leases are still released.
pub async fn closed_store_still_releases<S: Subject>(subject: &S) {
    let case = Case::new(subject);
    let lease = case.running().await;
    case.store.close();
    case.release(lease).await;
    assert_is!(case.peek().await, RecordState::Free);
}

/// A late lease is committed within its grace in a closed store too.
pub async fn closed_store_still_commits_late<S: Subject>(subject: &S) {
    let case = Case::new(subject);
    if case.lacks_grace().await {
        return;
    }
    let mut lease = case.late().await;
    case.store.close();
    case.commit(&mut lease, None).await;
    assert_is!(case.peek().await, RecordState::Completed { .. });
}
