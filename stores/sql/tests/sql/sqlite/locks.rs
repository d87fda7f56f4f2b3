//! Somebody else, such as a caller's own transaction, holds the lock of the whole database.

use std::time::Duration;

use leasehold::{
    AcquireError, Admission, CommitError, LeaseStore as _, RecordState, StoreErrorKind,
};
use sqlx::sqlite::SqliteConnection;

use super::keys::{
    File, LONG, committed, config, connect, fresh_address, granted, is_completed, long_terms, ttl,
    unavailable, works,
};

/// Long enough to answer what needs no lock, short enough to wait for. What needs the lock and the
/// disk is asked of a store that has more.
const PATIENCE: Duration = Duration::from_secs(1);

async fn take(line: &mut SqliteConnection) {
    sqlx::query("BEGIN IMMEDIATE").execute(line).await.expect("the lock is free");
}

async fn give_back(line: &mut SqliteConnection) {
    sqlx::query("ROLLBACK").execute(line).await.expect("the lock is ours");
}

#[tokio::test(flavor = "multi_thread")]
async fn duplicates_are_answered_while_the_database_is_locked() {
    let file = File::new();
    let store = file.store().await;
    let kept = committed(&store, "kept").await;
    let running = fresh_address();
    let _lease = granted(store.acquire(running, long_terms()).await);
    let mut other = file.line().await;
    take(&mut other).await;
    let answer = store.acquire(kept, long_terms()).await;
    assert!(matches!(answer, Ok(Admission::Completed { .. })), "{answer:?}");
    let answer = store.acquire(running, long_terms()).await;
    assert!(matches!(answer, Ok(Admission::InFlight { .. })), "{answer:?}");
    store.ping().await.expect("an answer");
    assert_eq!(store.stuck().await.expect("an answer"), 0);
    give_back(&mut other).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_needs_the_lock_ends_as_unavailable_and_unwritten() {
    let file = File::new();
    let patient = file.store().await;
    let mut lease = granted(patient.acquire(fresh_address(), long_terms()).await);
    let store = connect(config(&file.path()).store_timeout(PATIENCE)).await;
    let mut other = file.line().await;
    take(&mut other).await;
    let address = fresh_address();
    let error = unavailable(store.acquire(address, long_terms()).await);
    assert_eq!(error.kind(), StoreErrorKind::Unreachable);
    match store.commit(&mut lease, None, ttl(LONG)).await {
        Err(CommitError::Unavailable(error)) => {
            assert_eq!(error.kind(), StoreErrorKind::Unreachable);
        }
        other => panic!("{other:?}"),
    }
    let error = store.sweep(10).await.expect_err("it needs the lock");
    assert_eq!(error.kind(), StoreErrorKind::Unreachable);
    give_back(&mut other).await;
    assert_eq!(patient.peek(address).await.expect("an answer"), RecordState::Free);
    patient.commit(&mut lease, None, ttl(LONG)).await.expect("committed");
    works(&patient).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_is_granted_once_the_lock_is_given_back() {
    let file = File::new();
    let store = file.store().await;
    let mut other = file.line().await;
    take(&mut other).await;
    let mut waiting = Box::pin(store.acquire(fresh_address(), long_terms()));
    let early = tokio::time::timeout(PATIENCE, &mut waiting).await;
    assert!(early.is_err(), "{early:?}");
    give_back(&mut other).await;
    let _lease = granted(waiting.await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_left_while_it_waited_is_not_served() {
    let file = File::new();
    let store = file.store().await;
    let mut other = file.line().await;
    take(&mut other).await;
    let address = fresh_address();
    let left = tokio::time::timeout(PATIENCE, store.acquire(address, long_terms())).await;
    assert!(left.is_err(), "{left:?}");
    give_back(&mut other).await;
    // Goes the same way, behind the one that left.
    works(&store).await;
    assert_eq!(store.peek(address).await.expect("an answer"), RecordState::Free);
}

/// More than one group and one queue hold.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_queue_ends_with_its_callers_time() {
    let file = File::new();
    let patient = file.store().await;
    let kept = committed(&patient, "kept").await;
    let store = connect(config(&file.path()).store_timeout(PATIENCE)).await;
    let mut other = file.line().await;
    take(&mut other).await;
    let store = std::sync::Arc::new(store);
    let mut callers = tokio::task::JoinSet::new();
    for _ in 0..2_000 {
        let store = std::sync::Arc::clone(&store);
        callers.spawn(async move { store.acquire(fresh_address(), long_terms()).await });
    }
    for answer in callers.join_all().await {
        assert!(matches!(answer, Err(AcquireError::Unavailable(_))), "{answer:?}");
    }
    assert!(is_completed(&*store, kept).await);
    give_back(&mut other).await;
    works(&patient).await;
}
