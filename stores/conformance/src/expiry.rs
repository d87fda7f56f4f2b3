//! Laws of time: nothing ends before its TTL, and what has ended shows without a sweep.

use std::time::Duration;

use leasehold::{Admission, CommitError, LeaseStore as _, MAX_TTL, RecordState};

use crate::Subject;
use crate::case::{Case, LONG, assert_is, granted, ttl};

/// The smallest step of time that a duration can tell.
const STEP: Duration = Duration::from_nanos(1);

/// Lets `whole` pass in four parts, the last of which ends one step before it, and asserts after
/// each that neither peek nor acquire finds the record ended too early. Then lets the rest pass,
/// and asserts that both find it ended, without a sweep.
async fn watch_end<S: Subject>(case: &Case<'_, S>, since: Duration, whole: Duration) {
    let quarter = whole / 4;
    for part in [quarter, quarter, quarter, (whole - quarter * 3).saturating_sub(STEP)] {
        case.subject.advance(part).await;
        if case.peek().await == RecordState::Free {
            case.assert_not_early(since, whole);
        }
        match case.acquire(LONG).await {
            Ok(Admission::Granted(_)) => return case.assert_not_early(since, whole),
            other => {
                assert_is!(other, Ok(Admission::InFlight { .. } | Admission::Completed { .. }));
            }
        }
    }
    case.subject.advance(STEP + case.subject.resolution()).await;
    assert_is!(case.peek().await, RecordState::Free);
    let _later = granted(case.acquire(LONG).await);
}

/// A lease never ends before its TTL, and ends without a sweep once it and the clock's resolution
/// have passed.
pub async fn lease_ends_on_read_and_never_early<S: Subject>(subject: &S) {
    let case = Case::new(subject);
    let since = subject.elapsed();
    let _lease = granted(case.acquire(subject.short_ttl()).await);
    watch_end(&case, since, subject.short_ttl()).await;
}

/// A kept key never ends before the TTL of its commit, and then ends without a sweep.
pub async fn kept_key_ends_on_read_and_never_early<S: Subject>(subject: &S) {
    let case = Case::new(subject);
    let mut lease = case.running().await;
    let since = subject.elapsed();
    assert_is!(case.store.commit(&mut lease, None, ttl(subject.short_ttl())).await, Ok(()));
    watch_end(&case, since, subject.short_ttl()).await;
}

/// A renewed lease never ends before the TTL of its renewal.
pub async fn renewed_lease_ends_on_read_and_never_early<S: Subject>(subject: &S) {
    let case = Case::new(subject);
    let mut lease = case.running().await;
    let since = subject.elapsed();
    assert_is!(case.store.renew(&mut lease, ttl(subject.short_ttl())).await, Ok(_));
    watch_end(&case, since, subject.short_ttl()).await;
}

/// The grace never ends early: until then a commit is done. Once it and the clock's resolution
/// have passed, a commit is superseded without a sweep.
pub async fn grace_ends_on_read_and_never_early<S: Subject>(subject: &S) {
    let case = Case::new(subject);
    let whole = subject.short_ttl() + subject.late_grace();
    let since = subject.elapsed();
    let mut lease = granted(case.acquire(subject.short_ttl()).await);
    subject.advance(whole - STEP).await;
    match case.store.commit(&mut lease, None, ttl(LONG)).await {
        Err(CommitError::Superseded) => case.assert_not_early(since, whole),
        other => assert_is!(other, Ok(())),
    }
    assert_is!(case.store.forget(case.address).await, Ok(_));
    let mut lease = granted(case.acquire(subject.short_ttl()).await);
    subject.advance(whole + subject.resolution()).await;
    assert_is!(case.store.commit(&mut lease, None, ttl(LONG)).await, Err(CommitError::Superseded));
}

/// The longest TTL is taken by acquire, renew and commit, and kept whole.
pub async fn longest_ttl_is_kept_whole<S: Subject>(subject: &S) {
    let case = Case::new(subject);
    let since = subject.elapsed();
    let mut lease = granted(case.acquire(MAX_TTL).await);
    assert_is!(case.store.renew(&mut lease, ttl(MAX_TTL)).await, Ok(_));
    match case.acquire(LONG).await {
        Ok(Admission::InFlight { remaining }) => case.assert_remaining(remaining, MAX_TTL, since),
        other => panic!("expected in flight, got {other:?}"),
    }
    assert_is!(case.store.commit(&mut lease, None, ttl(MAX_TTL)).await, Ok(()));
    match case.acquire(LONG).await {
        Ok(Admission::Completed { remaining, .. }) => {
            case.assert_remaining(remaining, MAX_TTL, since);
        }
        other => panic!("expected completed, got {other:?}"),
    }
}

/// The shortest TTL, far below any clock's resolution, is taken by acquire, renew and commit: it
/// is not rounded to nothing or to forever.
pub async fn shortest_ttl_is_taken_and_ends<S: Subject>(subject: &S) {
    let case = Case::new(subject);
    let _lease = granted(case.acquire(STEP).await);
    case.pass(STEP).await;
    let mut lease = case.running().await;
    assert_is!(case.store.renew(&mut lease, ttl(STEP)).await, Ok(_));
    case.pass(STEP).await;
    let mut lease = case.running().await;
    assert_is!(case.store.commit(&mut lease, None, ttl(STEP)).await, Ok(()));
    case.pass(STEP).await;
    let _later = case.running().await;
}
