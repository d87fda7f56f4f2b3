//! Laws of commit: only the current token commits, once, and the work that was done counts.

use bytes::Bytes;
use leasehold::{Admission, CommitError, LeaseStore as _, Outcome, RecordState};

use crate::Subject;
use crate::case::{Case, Gone, LONG, assert_is, granted, outcome, ttl};

/// A commit keeps the key for its TTL, counted from the commit and not from the grant, be it
/// shorter or longer than what was left of the lease.
pub async fn commit_counts_its_ttl_from_the_commit<S: Subject>(subject: &S) {
    for kept_for in [LONG / 2, LONG * 3] {
        let case = Case::new(subject);
        let mut lease = case.running().await;
        subject.advance(subject.short_ttl()).await;
        let since = subject.elapsed();
        assert_is!(case.store.commit(&mut lease, None, ttl(kept_for)).await, Ok(()));
        match case.peek().await {
            RecordState::Completed { remaining, replayable: false } => {
                case.assert_remaining(remaining, kept_for, since);
            }
            other => panic!("expected completed, got {other:?}"),
        }
        assert_is!(case.store.forget(case.address).await, Ok(true));
    }
}

/// Within the grace the holder may still commit: the work was done.
pub async fn commit_within_the_grace_is_done<S: Subject>(subject: &S) {
    let case = Case::new(subject);
    if case.lacks_grace().await {
        return;
    }
    let mut lease = case.late().await;
    case.commit(&mut lease, None).await;
    assert_is!(case.acquire(LONG).await, Ok(Admission::Completed { .. }));
}

/// A commit of a lease whose record is gone is superseded, whether a sweep has run or not, and
/// leaves the key free.
pub async fn commit_of_what_is_gone_is_superseded<S: Subject>(subject: &S) {
    let case = Case::new(subject);
    for state in Gone::ALL {
        for swept in [false, true] {
            let mut lease = case.gone(state).await;
            case.sweep_if(swept).await;
            let answer = case.store.commit(&mut lease, Some(outcome("late")), ttl(LONG)).await;
            assert!(matches!(answer, Err(CommitError::Superseded)), "{state:?}: {answer:?}");
            assert_is!(case.peek().await, RecordState::Free);
        }
    }
}

/// A commit after a takeover is superseded and touches neither a running nor a kept later grant.
pub async fn commit_after_a_takeover_is_superseded<S: Subject>(subject: &S) {
    let case = Case::new(subject);
    for state in Gone::all_or_late() {
        let (mut old, mut later) = case.taken_over(state).await;
        for kept in [false, true] {
            if kept {
                case.commit(&mut later, None).await;
            }
            let before = case.look().await;
            let answer = case.store.commit(&mut old, Some(outcome("old")), ttl(LONG * 2)).await;
            assert!(matches!(answer, Err(CommitError::Superseded)), "{state:?}: {answer:?}");
            case.assert_unmoved(&before).await;
        }
        assert_is!(case.store.forget(case.address).await, Ok(true));
    }
}

/// A commit repeated by the token that committed is done and moves nothing: neither the deadline
/// nor the outcome, also where there was none.
pub async fn repeated_commit_is_done_and_moves_nothing<S: Subject>(subject: &S) {
    for first in [None, Some(outcome("first"))] {
        let case = Case::new(subject);
        let mut lease = case.running().await;
        case.commit(&mut lease, first.clone()).await;
        let before = case.look().await;
        for again in [None, Some(outcome("second"))] {
            for kept_for in [LONG / 2, LONG * 2] {
                let answer = case.store.commit(&mut lease, again.clone(), ttl(kept_for)).await;
                assert_is!(answer, Ok(()));
                case.assert_unmoved(&before).await;
            }
        }
        match case.acquire(LONG).await {
            Ok(Admission::Completed { outcome, .. }) => {
                assert_eq!(outcome, first.filter(|_| case.keeps_outcomes()));
            }
            other => panic!("expected completed, got {other:?}"),
        }
        assert_is!(case.store.forget(case.address).await, Ok(true));
    }
}

/// A commit succeeds without its outcome where that finds no room, and with it where it does.
pub async fn outcome_without_room_is_left_out<S: Subject>(subject: &S) {
    let Some(max) = subject.max_outcome_bytes() else {
        return kept_bytes(subject, 1 << 16, true).await;
    };
    kept_bytes(subject, max + 1, false).await;
    kept_bytes(subject, 512, max != 0).await;
}

async fn kept_bytes<S: Subject>(subject: &S, length: usize, fits: bool) {
    let case = Case::new(subject);
    let mut lease = case.running().await;
    let bytes = Outcome::new(Bytes::from(vec![7; length]));
    case.commit(&mut lease, Some(bytes.clone())).await;
    match case.acquire(LONG).await {
        Ok(Admission::Completed { outcome, .. }) => assert_eq!(outcome, fits.then_some(bytes)),
        other => panic!("expected completed, got {other:?}"),
    }
    assert_is!(case.store.forget(case.address).await, Ok(true));
}

/// An outcome that a reader was given stays whole when its key is forgotten and used again.
pub async fn outcome_outlives_its_key<S: Subject>(subject: &S) {
    let case = Case::new(subject);
    let mut lease = case.running().await;
    case.commit(&mut lease, Some(outcome("first"))).await;
    let Ok(Admission::Completed { outcome: held, .. }) = case.acquire(LONG).await else {
        panic!("a kept key is completed");
    };
    assert_is!(case.store.forget(case.address).await, Ok(true));
    let mut later = granted(case.acquire(LONG).await);
    case.commit(&mut later, Some(outcome("second"))).await;
    assert_eq!(held, case.keeps_outcomes().then(|| outcome("first")));
}
