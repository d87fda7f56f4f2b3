//! Loom scenarios inside the engine: for what no public call shows by itself.
//!
//! A scenario names the outcomes that it may have, and a least number of runs; exploration fails if
//! an outcome never happened, if another did, or if there were fewer runs. So a model that is cut
//! short, or that no longer reaches its race, does not pass.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

pub(crate) use loom::sync::Arc;
pub(crate) use loom::thread::{JoinHandle, spawn};

/// Runs a scenario until every interleaving with up to `preemptions` preemptions was explored: as
/// many as it can take within minutes, or fewer if `LOOM_MAX_PREEMPTIONS` asks for fewer.
/// `runs_min` holds from two on, or from one if it can take no more.
pub(crate) fn explore<S: Into<String>>(
    preemptions: usize,
    runs_min: usize,
    expected: &[&str],
    scenario: impl Fn() -> S + Send + Sync + 'static,
) {
    let seen = std::sync::Arc::new(Mutex::new(BTreeSet::new()));
    let mut builder = loom::model::Builder::new();
    let asked = builder.preemption_bound.unwrap_or(preemptions);
    builder.preemption_bound = Some(asked.min(preemptions));
    builder.max_branches = 50_000;
    let runs = std::sync::Arc::new(AtomicUsize::new(0));
    let (seen_in_run, runs_in_run) = (std::sync::Arc::clone(&seen), std::sync::Arc::clone(&runs));
    builder.check(move || {
        let outcome = scenario().into();
        runs_in_run.fetch_add(1, Ordering::Relaxed);
        seen_in_run.lock().expect("no scenario panics while it holds this").insert(outcome);
    });
    let seen: Vec<_> = seen.lock().expect("the model has ended").iter().cloned().collect();
    let mut expected: Vec<_> = expected.iter().map(|outcome| (*outcome).to_owned()).collect();
    expected.sort();
    let runs = runs.load(Ordering::Relaxed);
    println!("{runs} runs, outcomes {seen:?}");
    assert_eq!(seen, expected, "outcomes that were seen, and those that were expected");
    assert!(runs >= runs_min, "{runs} runs, expected at least {runs_min}");
}
