//! A caller's open transaction holds a row: nobody waits for it.

use std::sync::Arc;
use std::time::Duration;

use leasehold::{
    Address, Admission, CommitError, LeaseStore as _, RecordState, StoreErrorKind, Terms,
};
use leasehold_sql::{SqlConfig, SqlStore};
use sqlx::MySqlConnection;
use tokio::task::JoinSet;

use crate::keys::{
    LONG, MOMENT, config, connect, fresh_address, granted, hex, long_terms, outcome, ttl, works,
};
use crate::mysql::{line_after, shared};

/// Duplicates of one key, many more than there are connections.
const DUPLICATES: usize = 50;

/// Somebody's transaction, which has run one statement and stays open.
async fn open_transaction(statement: String) -> MySqlConnection {
    line_after(format!("BEGIN; {statement}")).await
}

async fn lock(config: &SqlConfig, address: &Address) -> MySqlConnection {
    let (table, digest) = (&config.table, hex(address));
    open_transaction(format!("SELECT 1 FROM {table} WHERE digest = x'{digest}' FOR UPDATE")).await
}

async fn end(mut line: MySqlConnection, how: &'static str) {
    sqlx::raw_sql(how).execute(&mut line).await.expect("ended");
}

/// Fifty duplicates are told that the key is in flight, and other keys go their whole way, all
/// while the row is locked.
async fn nobody_waits(store: &Arc<SqlStore>, address: Address) {
    let mut duplicates = JoinSet::new();
    for _ in 0..DUPLICATES {
        let store = Arc::clone(store);
        duplicates.spawn(async move { store.acquire(address, long_terms()).await });
    }
    for _ in 0..5 {
        works(&**store).await;
    }
    for answer in duplicates.join_all().await {
        match answer {
            Ok(Admission::InFlight { remaining }) => assert!(remaining > Duration::ZERO),
            answer => panic!("{answer:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn duplicates_of_a_locked_lease_that_runs_are_in_flight_at_once() {
    let config = config(shared().url()).connections(2);
    let store = Arc::new(connect(config.clone()).await);
    let address = fresh_address();
    let mut lease = granted(store.acquire(address, long_terms()).await);
    let transaction = lock(&config, &address).await;
    nobody_waits(&store, address).await;
    end(transaction, "ROLLBACK").await;
    store.commit(&mut lease, None, ttl(LONG)).await.expect("committed");
}

#[tokio::test(flavor = "multi_thread")]
async fn duplicates_of_a_locked_lease_that_has_ended_are_in_flight_at_once() {
    let config = config(shared().url()).connections(2);
    let store = Arc::new(connect(config.clone()).await);
    let address = fresh_address();
    let _late = granted(store.acquire(address, Terms::new(ttl(MOMENT))).await);
    let transaction = lock(&config, &address).await;
    nobody_waits(&store, address).await;
    end(transaction, "ROLLBACK").await;
    let _lease = granted(store.acquire(address, long_terms()).await);
}

/// A caller who inserts the row himself, before anybody else sees it.
#[tokio::test(flavor = "multi_thread")]
async fn duplicates_of_a_row_that_nobody_sees_yet_are_in_flight() {
    let config = config(shared().url()).connections(2);
    let store = Arc::new(connect(config.clone()).await);
    let address = fresh_address();
    let (table, digest) = (&config.table, hex(&address));
    let insert = format!(
        "INSERT INTO {table} (digest, biz_type, status, token, attempt, expires_us, purge_us, \
         created_us, updated_us) \
         VALUES (x'{digest}', '', 'FAILED', 1, REPEAT('a', 16), 0, 0, 0, 0)"
    );
    let transaction = open_transaction(insert).await;
    nobody_waits(&store, address).await;
    end(transaction, "ROLLBACK").await;
    let _lease = granted(store.acquire(address, long_terms()).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn settling_a_locked_row_is_done_once_it_is_free() {
    let config = config(shared().url());
    let store = Arc::new(connect(config.clone()).await);
    let address = fresh_address();
    let mut lease = granted(store.acquire(address, long_terms()).await);
    let transaction = lock(&config, &address).await;
    let (begun, has_begun) = tokio::sync::oneshot::channel();
    let committer = tokio::spawn({
        let store = Arc::clone(&store);
        async move {
            begun.send(()).expect("the test waits");
            store.commit(&mut lease, Some(outcome("body")), ttl(LONG)).await
        }
    });
    has_begun.await.expect("the committer runs");
    // Whatever it does meanwhile: the others' connections are not in its way.
    works(&*store).await;
    assert!(!committer.is_finished(), "the row is locked");
    end(transaction, "COMMIT").await;
    committer.await.expect("no panic").expect("committed");
    let state = store.peek(address).await.expect("an answer");
    assert!(matches!(state, RecordState::Completed { replayable: true, .. }), "{state:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn settling_a_row_that_stays_locked_is_unavailable_and_writes_nothing() {
    let config = config(shared().url()).store_timeout(Duration::from_secs(2));
    let store = connect(config.clone()).await;
    let address = fresh_address();
    let mut lease = granted(store.acquire(address, long_terms()).await);
    let transaction = lock(&config, &address).await;
    match store.commit(&mut lease, None, ttl(LONG)).await {
        Err(CommitError::Unavailable(error)) => {
            assert_eq!(error.kind(), StoreErrorKind::Unreachable, "{error:?}");
            assert!(!error.is_outcome_unknown());
        }
        answer => panic!("{answer:?}"),
    }
    let error = store.forget(address).await.expect_err("the row is locked");
    assert_eq!(error.kind(), StoreErrorKind::Unreachable, "{error:?}");
    let state = store.peek(address).await.expect("an answer");
    assert!(matches!(state, RecordState::InFlight { .. }), "{state:?}");
    end(transaction, "ROLLBACK").await;
    store.commit(&mut lease, None, ttl(LONG)).await.expect("committed");
}

/// A holder whose transaction goes on past the lease's end and its grace, as long as it has the
/// row.
#[tokio::test(flavor = "multi_thread")]
async fn upkeep_leaves_a_locked_row_to_its_holder() {
    let config = config(shared().url()).late_grace(Duration::ZERO).stuck_retention(Duration::ZERO);
    let store = connect(config.clone()).await;
    let address = fresh_address();
    let lapsed = granted(store.acquire(address, Terms::new(ttl(MOMENT))).await);
    let transaction = lock(&config, &address).await;
    let done = store.upkeep_once().await.expect("an answer");
    assert_eq!((done.marked, done.purged), (0, 0));
    end(transaction, "ROLLBACK").await;
    let done = store.upkeep_once().await.expect("an answer");
    assert_eq!((done.marked, done.purged), (1, 1), "{lapsed:?}");
}
