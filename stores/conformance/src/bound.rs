//! Laws of the bound: it is reached exactly, refuses rather than evicts, and gives places back.

use std::time::Duration;

use leasehold::{AcquireError, Admission, LeaseStore as _, RecordState};

use crate::Subject;
use crate::case::{Case, LONG, assert_is, granted, ttl};

/// The bound, for stores that have one; else asserts that the store reports none.
pub(crate) fn bound<S: Subject>(subject: &S) -> Option<usize> {
    let max = subject.max_entries();
    assert_eq!(max, subject.store().usage().map(|usage| usage.max_entries));
    max
}

/// Entries that hold a place.
pub(crate) fn entries<S: Subject>(subject: &S) -> usize {
    subject.store().usage().expect("a bounded store reports its usage").entries
}

/// Fills all places but `spare` with running leases, and keeps them running.
pub(crate) async fn fill<S: Subject>(subject: &S, max: usize, spare: usize) {
    for _ in spare..max {
        let _lease = Case::new(subject).running().await;
    }
}

/// A full store refuses a new key, exactly from its bound on, and counts what it has.
pub async fn bound_is_reached_exactly<S: Subject>(subject: &S) {
    let Some(max) = bound(subject) else { return };
    for held in 0..max {
        assert_eq!(entries(subject), held);
        let _lease = Case::new(subject).running().await;
    }
    for _ in 0..3 {
        assert_is!(Case::new(subject).acquire(LONG).await, Err(AcquireError::Full));
        assert_eq!(entries(subject), max);
    }
}

/// A full store keeps everything it has: running leases, late ones within their grace, kept keys.
pub async fn full_store_evicts_nothing<S: Subject>(subject: &S) {
    let Some(max) = bound(subject) else { return };
    let mut held = Vec::new();
    for n in 0..max {
        let case = Case::new(subject);
        let lease_ttl = if n % 3 == 1 { subject.short_ttl() } else { LONG };
        let mut lease = granted(case.acquire(lease_ttl).await);
        if n % 3 == 2 {
            case.commit(&mut lease, None).await;
        }
        held.push((case, lease));
    }
    let late = !subject.late_grace().is_zero();
    if late {
        subject.advance(subject.short_ttl() + subject.resolution()).await;
    }
    for _ in 0..3 {
        assert_is!(Case::new(subject).acquire(LONG).await, Err(AcquireError::Full));
    }
    for (n, (case, lease)) in held.iter_mut().enumerate() {
        match case.peek().await {
            RecordState::Free => assert!(late && n % 3 == 1),
            RecordState::InFlight { .. } => assert_ne!(n % 3, 2),
            RecordState::Completed { .. } => assert_eq!(n % 3, 2),
        }
        case.commit(lease, None).await;
    }
}

/// A key that is present is never answered full: in flight, mismatch, taken over, completed.
pub async fn present_key_is_never_full<S: Subject>(subject: &S) {
    let Some(max) = bound(subject) else { return };
    let case = Case::new(subject);
    let _lease = granted(case.acquire_for("one", subject.short_ttl()).await);
    fill(subject, max, 1).await;
    assert_is!(Case::new(subject).acquire(LONG).await, Err(AcquireError::Full));
    assert_is!(case.acquire_for("one", LONG).await, Ok(Admission::InFlight { .. }));
    assert_is!(case.acquire_for("other", LONG).await, Ok(Admission::Mismatch));
    case.pass(subject.short_ttl()).await;
    let mut later = granted(case.acquire(subject.short_ttl()).await);
    assert_is!(case.acquire(LONG).await, Ok(Admission::InFlight { .. }));
    let answer = case.store.commit(&mut later, None, ttl(subject.short_ttl())).await;
    assert_is!(answer, Ok(()));
    assert_is!(case.acquire(LONG).await, Ok(Admission::Completed { .. }));
    case.pass(subject.short_ttl()).await;
    let _last = granted(case.acquire(LONG).await);
    assert_is!(Case::new(subject).acquire(LONG).await, Err(AcquireError::Full));
}

/// Release and forget give the place up at once, and no more than one.
pub async fn freed_key_gives_up_its_place<S: Subject>(subject: &S) {
    let Some(max) = bound(subject) else { return };
    fill(subject, max, 1).await;
    let mut case = Case::new(subject);
    for kept in [false, true, false] {
        let mut lease = case.running().await;
        if kept {
            case.commit(&mut lease, None).await;
            assert_is!(case.store.forget(case.address).await, Ok(true));
        } else {
            assert_is!(case.store.release(&mut lease).await, Ok(()));
            // Releasing what is gone gives nothing up again.
            assert_is!(case.store.release(&mut lease).await, Ok(()));
        }
        assert_is!(case.store.forget(case.address).await, Ok(false));
        assert_eq!(entries(subject), max - 1);
        case = Case::new(subject);
    }
    let _lease = case.running().await;
    assert_is!(Case::new(subject).acquire(LONG).await, Err(AcquireError::Full));
}

/// A late lease keeps its place against other keys until its grace is over; then it gives it up
/// without a sweep.
pub async fn late_lease_keeps_its_place<S: Subject>(subject: &S) {
    let Some(max) = bound(subject) else { return };
    fill(subject, max, 1).await;
    let case = Case::new(subject);
    if !case.lacks_grace().await {
        let mut lease = case.late().await;
        let other = Case::new(subject);
        assert_is!(other.acquire(LONG).await, Err(AcquireError::Full));
        assert_is!(case.store.renew(&mut lease, ttl(subject.short_ttl())).await, Ok(_));
        case.pass(subject.short_ttl() + subject.late_grace()).await;
    }
    subject.advance(subject.place_lag(subject.short_ttl() + subject.late_grace())).await;
    let _other = Case::new(subject).running().await;
    assert_is!(case.acquire(LONG).await, Err(AcquireError::Full));
}

/// A kept key keeps its place for its TTL, and then gives it up without a sweep.
pub async fn kept_key_keeps_its_place_for_its_ttl<S: Subject>(subject: &S) {
    let Some(max) = bound(subject) else { return };
    fill(subject, max, 1).await;
    let case = Case::new(subject);
    let mut lease = granted(case.acquire(subject.short_ttl()).await);
    let old_end = subject.short_ttl() + subject.late_grace();
    let kept_for = old_end * 4;
    let since = subject.elapsed();
    assert_is!(case.store.commit(&mut lease, None, ttl(kept_for)).await, Ok(()));
    subject.advance(old_end + subject.place_lag(old_end)).await;
    match Case::new(subject).acquire(LONG).await {
        Err(AcquireError::Full) => {}
        Ok(Admission::Granted(_)) => case.assert_not_early(since, kept_for),
        other => panic!("expected full, got {other:?}"),
    }
    subject.advance(kept_for - old_end + subject.place_lag(kept_for)).await;
    let _other = Case::new(subject).running().await;
}

/// An end that a commit or a renewal moves earlier gives the place up when the new end says so,
/// not when the old one would have.
pub async fn shortened_end_gives_up_its_place<S: Subject>(subject: &S) {
    let Some(max) = bound(subject) else { return };
    fill(subject, max, 1).await;
    let short = subject.short_ttl();
    for commits in [true, false] {
        let case = Case::new(subject);
        let mut lease = case.running().await;
        let whole = if commits {
            assert_is!(case.store.commit(&mut lease, None, ttl(short)).await, Ok(()));
            short
        } else {
            assert_is!(case.store.renew(&mut lease, ttl(short)).await, Ok(_));
            short + subject.late_grace()
        };
        assert_is!(Case::new(subject).acquire(LONG).await, Err(AcquireError::Full));
        subject.advance(whole + subject.place_lag(whole)).await;
        let other = Case::new(subject);
        let lease = other.running().await;
        other.release(lease).await;
    }
}

/// An end that a renewal moves later keeps the place past the old one.
pub async fn lengthened_end_keeps_its_place<S: Subject>(subject: &S) {
    let Some(max) = bound(subject) else { return };
    fill(subject, max, 1).await;
    let short = subject.short_ttl();
    for commits in [true, false] {
        let case = Case::new(subject);
        let mut lease = granted(case.acquire(short).await);
        if commits {
            case.commit(&mut lease, None).await;
        } else {
            assert_is!(case.store.renew(&mut lease, ttl(LONG)).await, Ok(_));
        }
        let old_end = short + subject.late_grace();
        subject.advance(old_end + subject.place_lag(old_end)).await;
        assert_is!(Case::new(subject).acquire(LONG).await, Err(AcquireError::Full));
        assert_eq!(entries(subject), max);
        assert_is!(case.store.forget(case.address).await, Ok(true));
    }
}

/// Keys that come and go, far more than there are places and each with a long TTL, leave no place
/// taken.
pub async fn keys_that_come_and_go_leave_no_entries<S: Subject>(subject: &S) {
    let Some(max) = bound(subject) else { return };
    for n in 0..max * 50 {
        let case = Case::new(subject);
        let mut lease = granted(case.acquire(LONG * 24 + Duration::from_secs(n as u64)).await);
        if n % 2 == 0 {
            case.release(lease).await;
        } else {
            case.commit(&mut lease, None).await;
            assert_is!(case.store.forget(case.address).await, Ok(true));
        }
        assert_eq!(entries(subject), 0);
    }
    fill(subject, max, 0).await;
    assert_is!(Case::new(subject).acquire(LONG).await, Err(AcquireError::Full));
}

/// Entries that have all ended make way for as many new ones, without a sweep.
pub async fn ended_entries_all_make_way<S: Subject>(subject: &S) {
    let Some(max) = bound(subject) else { return };
    let short = subject.short_ttl();
    for n in 0..max {
        let case = Case::new(subject);
        let mut lease = granted(case.acquire(short).await);
        if n % 2 == 0 {
            assert_is!(case.store.commit(&mut lease, None, ttl(short)).await, Ok(()));
        }
    }
    let whole = short + subject.late_grace();
    subject.advance(whole + subject.place_lag(whole)).await;
    fill(subject, max, 0).await;
    assert_is!(Case::new(subject).acquire(LONG).await, Err(AcquireError::Full));
    assert_eq!(entries(subject), max);
}
