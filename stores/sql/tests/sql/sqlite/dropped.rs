//! Futures that are dropped wherever they are.

use std::sync::Arc;
use std::time::Duration;

use leasehold::{Address, Admission, LeaseStore as _, RecordState};
use leasehold_sql::SqlStore;
use tokio::task::JoinSet;

use super::keys::{
    File, LONG, assert_is_whole, committed, fresh_address, long_terms, outcome, ttl, works,
};

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
        4 => drop(store.sweep(10).await),
        _ => {
            if let Ok(Admission::Granted(mut lease)) = store.acquire(address, long_terms()).await {
                drop(store.commit(&mut lease, Some(outcome(vec![7; 5_000])), ttl(LONG)).await);
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn dropped_futures_leave_the_store_as_good_as_before() {
    let file = File::new();
    let store = Arc::new(file.store().await);
    let known = committed(&*store, "known").await;
    let mut tasks = JoinSet::new();
    for task in 0..TASKS {
        let store = Arc::clone(&store);
        let mut random = fastrand::Rng::with_seed(SEED + task as u64);
        tasks.spawn(async move {
            for _ in 0..DROPPED / TASKS {
                let verb = any_verb(&store, fresh_address(), random.u8(..));
                // From before the first poll to after the last: some end, most are dropped.
                let patience = Duration::from_micros(random.u64(0..6_000));
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
    tasks.join_all().await;
    works(&*store).await;
    assert_is_whole(&file.path()).await;
}
