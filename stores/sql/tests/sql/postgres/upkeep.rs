//! Cleaning: what was left behind is marked, what is over goes in batches, and nothing else is
//! touched, whoever acquires meanwhile.

use std::sync::Arc;
use std::time::Duration;

use leasehold::{Address, Admission, CommitError, Lease, LeaseStore as _, RecordState, Terms};
use leasehold_sql::{SqlConfig, SqlStore, Upkeep};
use tokio::task::JoinSet;

use crate::keys::{LONG, MOMENT, config, connect, fresh_address, granted, long_terms, ttl, works};
use crate::postgres::{server, shared};

/// Rows that are over in the large test.
const EXPIRED: u32 = 50_000;

fn count(config: &SqlConfig, condition: &str) -> u64 {
    let answer = shared().ask(&format!("SELECT count(*) FROM {} WHERE {condition}", config.table));
    answer.parse().expect("a number")
}

/// Rows of keys that were kept once, or of leases that nobody settled.
fn fill(config: &SqlConfig, status: &str, rows: u32) {
    shared().ask(&format!(
        "INSERT INTO {} (digest, biz_type, status, token, attempt, expires_us, purge_us, \
         created_us, updated_us) \
         SELECT sha256('{status} {0}'::bytea || int4send(n)), '', '{status}', n, \
         decode(repeat('00', 16), 'hex'), n, n, 0, 0 FROM generate_series(1, {rows}) AS n",
        config.table
    ));
}

async fn upkeep(store: &SqlStore) -> Upkeep {
    store.upkeep_once().await.expect("the database answers")
}

#[tokio::test(flavor = "multi_thread")]
async fn lease_that_was_left_behind_stays_for_the_operators_eyes_until_it_is_taken_over() {
    let store = connect(config(shared().url()).late_grace(Duration::ZERO)).await;
    let (left, settled) = (fresh_address(), fresh_address());
    let mut lease = granted(store.acquire(left, Terms::new(ttl(MOMENT))).await);
    let mut done = granted(store.acquire(settled, long_terms()).await);
    store.commit(&mut done, None, ttl(LONG)).await.expect("committed");
    let first = upkeep(&store).await;
    assert_eq!((first.marked, first.purged, first.stuck), (1, 0, 1));
    let second = upkeep(&store).await;
    assert_eq!((second.marked, second.purged, second.stuck), (0, 0, 1), "it is marked once");
    assert!(matches!(
        store.commit(&mut lease, None, ttl(LONG)).await,
        Err(CommitError::Superseded)
    ));
    assert_eq!(store.peek(left).await.expect("an answer"), RecordState::Free);
    let later = granted(store.acquire(left, long_terms()).await);
    assert!(later.token() > lease.token());
    assert_eq!(store.stuck().await.expect("an answer"), 0, "it was taken over");
    let third = upkeep(&store).await;
    assert_eq!((third.marked, third.purged, third.stuck), (0, 0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn marked_lease_goes_after_its_retention() {
    let config = config(shared().url()).late_grace(Duration::ZERO);
    let store = connect(config.clone().stuck_retention(Duration::from_millis(300))).await;
    let address = fresh_address();
    let _left = granted(store.acquire(address, Terms::new(ttl(MOMENT))).await);
    assert_eq!(upkeep(&store).await.marked, 1);
    assert_eq!(count(&config, "stuck_us IS NOT NULL"), 1);
    // Ends: with the retention, or with the row, which another test would show.
    while upkeep(&store).await.purged == 0 {
        assert_eq!(count(&config, "stuck_us + 300000 = purge_us"), 1);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(count(&config, "true"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn running_late_and_kept_records_are_left_alone() {
    let config = config(shared().url());
    let store = connect(config.clone()).await;
    let (running, late, kept) = (fresh_address(), fresh_address(), fresh_address());
    let _running = granted(store.acquire(running, long_terms()).await);
    let mut late = granted(store.acquire(late, Terms::new(ttl(MOMENT))).await);
    let mut lease = granted(store.acquire(kept, long_terms()).await);
    store.commit(&mut lease, None, ttl(LONG)).await.expect("committed");
    assert_eq!(upkeep(&store).await, Upkeep::default());
    assert_eq!(store.sweep(usize::MAX).await.expect("an answer"), 0);
    store.commit(&mut late, None, ttl(LONG)).await.expect("a late commit");
    assert_eq!(count(&config, "true"), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn sweep_keeps_to_its_budget() {
    let config = config(shared().url()).cleanup_batch(7);
    let store = connect(config.clone()).await;
    fill(&config, "SUCCESS", 100);
    for (budget, reclaimed) in [(0, 0), (1, 1), (30, 30), (usize::MAX, 69), (5, 0)] {
        assert_eq!(store.sweep(budget).await.expect("an answer"), reclaimed);
    }
}

/// Two processes clean a full table while sixteen callers acquire and commit.
#[tokio::test(flavor = "multi_thread")]
async fn full_table_is_cleaned_while_acquires_go_on() {
    let config = config(shared().url()).connections(8).cleanup_batch(1_000);
    let store = Arc::new(connect(config.clone()).await);
    fill(&config, "SUCCESS", EXPIRED);
    fill(&config, "PROCESSING", 5_000);
    fill(&config, "FAILED", 5_000);
    let mut cleaners = JoinSet::new();
    for _ in 0..2 {
        let config = config.clone();
        cleaners.spawn(async move { upkeep(&connect(config).await).await });
    }
    let stop = Arc::new(tokio::sync::Notify::new());
    let mut callers = JoinSet::new();
    for _ in 0..16 {
        let (store, stop) = (Arc::clone(&store), Arc::clone(&stop));
        callers.spawn(async move {
            let mut kept = Vec::new();
            let stopped = stop.notified();
            tokio::pin!(stopped);
            stopped.as_mut().enable();
            // Ends: with the cleaning.
            loop {
                let address = fresh_address();
                let mut lease = granted(store.acquire(address, long_terms()).await);
                store.commit(&mut lease, None, ttl(LONG)).await.expect("committed");
                kept.push(address);
                let is_over = tokio::select! {
                    biased;
                    () = &mut stopped => true,
                    () = std::future::ready(()) => false,
                };
                if is_over {
                    return kept;
                }
            }
        });
    }
    let done = cleaners.join_all().await;
    stop.notify_waiters();
    let kept: Vec<_> = callers.join_all().await.into_iter().flatten().collect();
    let sum = |of: fn(&Upkeep) -> u64| done.iter().map(of).sum::<u64>();
    assert_eq!(sum(|done| done.purged), u64::from(EXPIRED) + 5_000);
    assert_eq!(sum(|done| done.marked), 5_000);
    assert_eq!(count(&config, "stuck_us IS NOT NULL"), 5_000);
    assert_eq!(count(&config, "status = 'SUCCESS'"), kept.len() as u64);
    for address in kept {
        let answer = store.acquire(address, long_terms()).await;
        assert!(matches!(answer, Ok(Admission::Completed { .. })), "{answer:?}");
    }
}

/// A key that is free, and whose row a sweep may have locked just now.
async fn granted_at_last(store: &SqlStore, address: Address, terms: Terms) -> Lease {
    // Ends: with the sweep's statement.
    loop {
        match store.acquire(address, terms).await {
            Ok(Admission::InFlight { .. }) => {}
            answer => return granted(answer),
        }
    }
}

/// Keys end, are swept and granted anew, all at once: a sweep never takes a grant away.
#[tokio::test(flavor = "multi_thread")]
async fn purge_never_takes_a_row_that_was_granted_or_committed_meanwhile() {
    let config = config(shared().url()).late_grace(Duration::ZERO).connections(8);
    let config = config.stuck_retention(Duration::ZERO);
    let store = Arc::new(connect(config).await);
    let mut tasks = JoinSet::new();
    for _ in 0..6 {
        let store = Arc::clone(&store);
        tasks.spawn(async move {
            let address = fresh_address();
            for round in 0..200 {
                let _over = granted_at_last(&store, address, Terms::new(ttl(MOMENT))).await;
                let mut lease = granted_at_last(&store, address, long_terms()).await;
                let kept_for = if round % 2 == 0 { MOMENT } else { LONG };
                store.commit(&mut lease, None, ttl(kept_for)).await.expect("it is held");
                if kept_for == LONG {
                    assert!(store.forget(address).await.expect("an answer"), "it was kept");
                }
            }
        });
    }
    let sweeper = tokio::spawn({
        let store = Arc::clone(&store);
        async move {
            // Runs until it is aborted.
            loop {
                store.sweep(usize::MAX).await.expect("an answer");
            }
        }
    });
    while let Some(task) = tasks.join_next().await {
        task.expect("no task panics");
    }
    sweeper.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn upkeep_goes_on_after_an_outage() {
    let server = server();
    let store = Arc::new(connect(config(server.url())).await);
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    let task = tokio::spawn({
        let store = Arc::clone(&store);
        async move {
            let interval = Duration::from_millis(10);
            store.upkeep(interval, |done| _ = tell.send(done.is_ok())).await
        }
    });
    assert_eq!(told.recv().await, Some(true));
    server.kill();
    // Ends: a dead server is noticed by the next pass.
    while told.recv().await.expect("it runs") {}
    server.start_again();
    // Ends: a pause is at most eight intervals.
    while !told.recv().await.expect("it runs") {}
    task.abort();
    works(&*store).await;
}
