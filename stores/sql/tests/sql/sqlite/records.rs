//! What stands in the table, and what becomes of it in time.

use std::time::Duration;

use leasehold::{AcquireError, LeaseStore as _, RecordState, StoreErrorKind, Terms, Token};
use sqlx::AssertSqlSafe;
use tokio::task::JoinSet;

use super::keys::{
    File, LONG, MOMENT, ask, committed, config, connect, fresh_address, granted, hex, is_completed,
    long_terms, outcome, ttl, until_over, works,
};

/// Many within one millisecond, which is as fine as SQLite's clock is.
#[tokio::test]
async fn tokens_rise_although_rows_go_within_the_clocks_step() {
    let file = File::new();
    let store = connect(config(&file.path()).late_grace(Duration::ZERO)).await;
    let address = fresh_address();
    let mut last = Token::new(1);
    for turn in 0..300 {
        let mut lease = granted(store.acquire(address, long_terms()).await);
        assert!(lease.token() > last, "{:?} after {last:?}, in turn {turn}", lease.token());
        last = lease.token();
        match turn % 3 {
            0 => assert!(store.forget(address).await.expect("an answer")),
            1 => store.release(&mut lease).await.expect("released"),
            _ => {
                store.release(&mut lease).await.expect("released");
                store.sweep(10).await.expect("an answer");
            }
        }
    }
}

#[tokio::test]
async fn rows_say_what_an_operator_wants_to_know() {
    let file = File::new();
    let store = connect(config(&file.path()).namespace("orders")).await;
    let (running, failed) = (fresh_address(), fresh_address());
    let _lease = granted(store.acquire(running, long_terms()).await);
    let mut lease = granted(store.acquire(failed, long_terms()).await);
    store.release(&mut lease).await.expect("released");
    let _kept = committed(&store, "body").await;
    let mut line = file.line().await;
    let text = "SELECT group_concat(row, '; ') FROM (SELECT biz_type || ' ' || status || ' ' || \
                count(*) || ' ' || count(outcome) AS row FROM idempotent_record \
                GROUP BY biz_type, status ORDER BY status)";
    let rows = ask(&mut line, text).await;
    assert_eq!(rows, "orders FAILED 1 0; orders PROCESSING 1 0; orders SUCCESS 1 1");
}

#[tokio::test]
async fn upkeep_marks_what_was_left_behind_and_deletes_what_is_over() {
    let file = File::new();
    let config = config(&file.path()).late_grace(Duration::ZERO).cleanup_batch(3);
    let store = connect(config).await;
    let left: Vec<_> = (0..8).map(|_| fresh_address()).collect();
    for address in &left {
        let _lease = granted(store.acquire(*address, Terms::new(ttl(MOMENT))).await);
    }
    for _ in 0..8 {
        let mut lease = granted(store.acquire(fresh_address(), long_terms()).await);
        store.commit(&mut lease, None, ttl(MOMENT)).await.expect("committed");
    }
    let kept = committed(&store, "kept").await;
    let running = fresh_address();
    let mut lease = granted(store.acquire(running, long_terms()).await);
    until_over(&mut file.line().await, 16).await;
    let done = store.upkeep_once().await.expect("an answer");
    assert_eq!((done.marked, done.purged, done.stuck), (8, 8, 8));
    let again = store.upkeep_once().await.expect("an answer");
    assert_eq!((again.marked, again.purged, again.stuck), (0, 0, 8));
    assert!(is_completed(&store, kept).await);
    store.commit(&mut lease, None, ttl(LONG)).await.expect("committed");
    // A marked key is as free as it was.
    let _lease = granted(store.acquire(left[0], long_terms()).await);
    assert_eq!(store.stuck().await.expect("an answer"), 7);
}

#[tokio::test]
async fn marked_leases_go_once_their_time_is_over() {
    let file = File::new();
    let config = config(&file.path()).late_grace(Duration::ZERO).stuck_retention(MOMENT);
    let store = connect(config).await;
    let _lease = granted(store.acquire(fresh_address(), Terms::new(ttl(MOMENT))).await);
    let mut line = file.line().await;
    until_over(&mut line, 1).await;
    let first = store.upkeep_once().await.expect("an answer");
    assert_eq!(first.marked, 1);
    if first.purged == 0 {
        until_over(&mut line, 1).await;
        store.upkeep_once().await.expect("an answer");
    }
    assert_eq!(ask(&mut line, "SELECT CAST(count(*) AS TEXT) FROM idempotent_record").await, "0");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_of_another_make_is_corrupt_for_its_own_key_alone() {
    let file = File::new();
    let store = std::sync::Arc::new(file.store().await);
    let odd = fresh_address();
    let lease = granted(store.acquire(odd, long_terms()).await);
    let mut line = file.line().await;
    let digest = hex(&odd);
    let change = format!("UPDATE idempotent_record SET attempt = x'00' WHERE digest = x'{digest}'");
    sqlx::query(AssertSqlSafe(change)).execute(&mut line).await.expect("changed");
    let mut tasks = JoinSet::new();
    for _ in 0..50 {
        let store = std::sync::Arc::clone(&store);
        tasks.spawn(async move { works(&*store).await });
    }
    match store.acquire(odd, long_terms()).await {
        Err(AcquireError::Unavailable(error)) => assert_eq!(error.kind(), StoreErrorKind::Corrupt),
        other => panic!("{other:?}"),
    }
    let error = store.forget(odd).await.expect_err("it is not touched");
    assert_eq!(error.kind(), StoreErrorKind::Corrupt);
    let attached = store.attach(&lease, outcome("late")).await;
    assert!(attached.is_err(), "{attached:?}");
    tasks.join_all().await;
    let rows = "SELECT CAST(count(*) AS TEXT) FROM idempotent_record WHERE attempt = x'00'";
    assert_eq!(ask(&mut line, rows).await, "1");
    assert_eq!(store.peek(fresh_address()).await.expect("an answer"), RecordState::Free);
}
