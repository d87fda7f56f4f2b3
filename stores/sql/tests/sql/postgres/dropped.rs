//! Futures that are dropped wherever they are.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use leasehold::{Address, Admission, LeaseStore as _, RecordState};
use leasehold_sql::SqlStore;
use tokio::task::JoinSet;

use crate::keys::{LONG, config, connect, fresh_address, granted, long_terms, outcome, ttl, works};
use crate::postgres::{shared, url_as};

/// Futures that are dropped.
const DROPPED: usize = 1_000;

/// Tasks that drop them side by side.
const TASKS: usize = 20;

/// Seed of the points at which they are dropped.
const SEED: u64 = 0x6c65_6173_6568_6f6c;

/// Any verb, at an address whose record it may change.
async fn any_verb(store: &SqlStore, address: Address, choice: u8) {
    match choice % 6 {
        0 => drop(store.acquire(address, long_terms()).await),
        1 => drop(store.peek(address).await),
        2 => drop(store.forget(address).await),
        3 => drop(store.abandon(address, long_terms().attempt).await),
        4 => drop(store.sweep(1).await),
        _ => {
            if let Ok(Admission::Granted(mut lease)) = store.acquire(address, long_terms()).await {
                drop(store.commit(&mut lease, Some(outcome(vec![7; 5_000])), ttl(LONG)).await);
            }
        }
    }
}

/// The server's processes that serve this test.
fn processes() -> HashSet<String> {
    let ask = "SELECT pid FROM pg_stat_activity WHERE application_name = 'dropped'";
    shared().ask(ask).lines().map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn dropped_futures_leave_the_connections_as_good_as_before() {
    let store = Arc::new(connect(config(url_as("dropped")).connections(4)).await);
    let known = fresh_address();
    let mut lease = granted(store.acquire(known, long_terms()).await);
    store.commit(&mut lease, Some(outcome("known")), ttl(LONG)).await.expect("committed");
    let before = processes();
    assert!(!before.is_empty());
    let mut tasks = JoinSet::new();
    for task in 0..TASKS {
        let store = Arc::clone(&store);
        let mut random = fastrand::Rng::with_seed(SEED + task as u64);
        tasks.spawn(async move {
            for _ in 0..DROPPED / TASKS {
                let verb = any_verb(&store, fresh_address(), random.u8(..));
                // From before the first poll to after the last: some end, most are dropped.
                let patience = Duration::from_micros(random.u64(0..3_000));
                let _ = tokio::time::timeout(patience, verb).await;
                // An answer to a dropped question, taken for this one's, would show here.
                match store.acquire(known, long_terms()).await {
                    Ok(Admission::Completed { outcome: kept, .. }) => {
                        assert_eq!(kept, Some(outcome("known")));
                    }
                    answer => panic!("{answer:?}"),
                }
                let free = store.peek(fresh_address()).await.expect("an answer");
                assert_eq!(free, RecordState::Free);
            }
        });
    }
    while let Some(task) = tasks.join_next().await {
        task.expect("no task panics");
    }
    works(&*store).await;
    let after = processes();
    assert!(after.is_superset(&before), "a connection was closed: {before:?}, {after:?}");
    assert!(after.len() <= 4, "{after:?}");
}
