//! Explores every interleaving of a scenario, and checks that all its outcomes were seen.
//!
//! Empty but under `--cfg lease_loom`: run it by `cargo xtask loom`. A scenario names the outcomes
//! that it may have; exploration fails if one of them never happened or another did, so a model
//! that is cut short, or that no longer reaches its race, does not pass.

#![forbid(unsafe_code)]
#![cfg(lease_loom)]

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use leasehold::{
    AcquireError, Admission, Clock, Identity, Lease, ManualClock, MemoryConfig, MemoryStore, Terms,
    Ttl,
};

/// One tick of the store's clock. Deadlines are rounded up to it.
pub const TICK: Duration = Duration::from_millis(32);

/// How long leases last in the scenarios.
pub const LEASE: Duration = Duration::from_millis(320);

/// How long they outlive their deadline for their holder.
pub const GRACE: Duration = Duration::from_millis(320);

/// Runs a scenario under loom until every interleaving within the preemption bound
/// (`LOOM_MAX_PREEMPTIONS`, 2 by default) was explored.
///
/// # Panics
///
/// If the outcomes that it returned are not exactly the expected ones, or if there were fewer runs
/// than `runs_min`.
pub fn explore(
    runs_min: usize,
    expected: &[&str],
    scenario: impl Fn() -> String + Send + Sync + 'static,
) {
    explore_with(2, runs_min, expected, scenario);
}

/// The same with at most one preemption unless `LOOM_MAX_PREEMPTIONS_WIDE` says otherwise: for
/// scenarios of three threads that claim slots, of which two preemptions take hours.
///
/// # Panics
///
/// As [`explore`].
pub fn explore_wide(
    runs_min: usize,
    expected: &[&str],
    scenario: impl Fn() -> String + Send + Sync + 'static,
) {
    let bound = std::env::var("LOOM_MAX_PREEMPTIONS_WIDE").ok();
    let bound = bound.and_then(|bound| bound.parse().ok()).unwrap_or(1);
    explore_with(bound, runs_min, expected, scenario);
}

fn explore_with(
    preemptions_max: usize,
    runs_min: usize,
    expected: &[&str],
    scenario: impl Fn() -> String + Send + Sync + 'static,
) {
    let seen = Arc::new(Mutex::new(BTreeSet::new()));
    let runs = Arc::new(AtomicUsize::new(0));
    let mut builder = loom::model::Builder::new();
    let narrow = builder.preemption_bound.filter(|_| preemptions_max > 1);
    builder.preemption_bound = narrow.or(Some(preemptions_max));
    builder.max_branches = 50_000;
    let (seen_in_run, runs_in_run) = (Arc::clone(&seen), Arc::clone(&runs));
    builder.check(move || {
        let outcome = scenario();
        runs_in_run.fetch_add(1, Ordering::Relaxed);
        seen_in_run.lock().expect("no scenario panics while it holds this").insert(outcome);
    });
    let seen: Vec<_> = seen.lock().expect("the model has ended").iter().cloned().collect();
    let mut expected: Vec<_> = expected.iter().map(|outcome| (*outcome).to_owned()).collect();
    expected.sort();
    let runs = runs.load(Ordering::Relaxed);
    println!("{runs} runs, outcomes {seen:?}");
    assert_eq!(seen, expected);
    assert!(runs >= runs_min, "{runs} runs, expected at least {runs_min}");
}

/// A store of a scenario, and the hand of its clock.
pub fn store(max_entries: usize) -> (Arc<MemoryStore>, ManualClock) {
    let (clock, hand) = Clock::manual();
    let config = MemoryConfig::default().max_entries(max_entries).late_grace(GRACE);
    let store = MemoryStore::with_clock(config, clock).expect("a valid configuration");
    (Arc::new(store), hand)
}

/// A key of a scenario.
pub fn key(store: &MemoryStore, name: &str) -> Identity {
    store.identify(&[name.as_bytes()])
}

/// A ttl of a scenario.
pub fn ttl(duration: Duration) -> Ttl {
    Ttl::new(duration).expect("above zero")
}

/// Terms of a scenario.
pub fn terms() -> Terms {
    Terms::new(ttl(LEASE))
}

/// A lease of a key that is free.
pub fn granted(store: &MemoryStore, identity: Identity) -> Lease {
    match store.acquire(identity, &terms()) {
        Ok(Admission::Granted(lease)) => lease,
        other => panic!("{other:?}"),
    }
}

/// An answer in one word.
pub fn word(answer: &Result<Admission, AcquireError>) -> &'static str {
    match answer {
        Ok(Admission::Granted(_)) => "granted",
        Ok(Admission::InFlight { .. }) => "in flight",
        Ok(Admission::Completed { outcome: Some(_), .. }) => "completed with its outcome",
        Ok(Admission::Completed { outcome: None, .. }) => "completed",
        Ok(Admission::Mismatch) => "mismatch",
        Err(AcquireError::Full) => "full",
        Err(AcquireError::Closed) => "closed",
        Err(_) => "another error",
    }
}

/// `done` or `refused`.
pub fn done<T, E>(answer: &Result<T, E>) -> &'static str {
    if answer.is_ok() { "done" } else { "refused" }
}

/// Runs a part of a scenario beside the rest of it.
pub fn beside<T: 'static>(
    store: &Arc<MemoryStore>,
    part: impl FnOnce(&MemoryStore) -> T + 'static,
) -> loom::thread::JoinHandle<T> {
    let store = Arc::clone(store);
    loom::thread::spawn(move || part(&store))
}
