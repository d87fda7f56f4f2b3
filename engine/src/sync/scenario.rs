//! Loom scenarios inside the engine: for what no public call shows by itself.
//!
//! A scenario names the outcomes that it may have; exploration fails if one of them never happened
//! or another did, so a model that no longer reaches its race does not pass.

use std::collections::BTreeSet;
use std::sync::Mutex;

pub(crate) use loom::sync::Arc;
pub(crate) use loom::thread::{JoinHandle, spawn};

/// Runs a scenario until every interleaving with up to `preemptions` preemptions was explored
/// (`LOOM_MAX_PREEMPTIONS` says another number, but for those of one, which are large).
pub(crate) fn explore<S: Into<String>>(
    preemptions: usize,
    expected: &[&str],
    scenario: impl Fn() -> S + Send + Sync + 'static,
) {
    let seen = std::sync::Arc::new(Mutex::new(BTreeSet::new()));
    let mut builder = loom::model::Builder::new();
    let other = builder.preemption_bound.filter(|_| preemptions > 1);
    builder.preemption_bound = other.or(Some(preemptions));
    builder.max_branches = 50_000;
    let seen_in_run = std::sync::Arc::clone(&seen);
    builder.check(move || {
        let outcome = scenario().into();
        seen_in_run.lock().expect("no scenario panics while it holds this").insert(outcome);
    });
    let seen: Vec<_> = seen.lock().expect("the model has ended").iter().cloned().collect();
    let mut expected: Vec<_> = expected.iter().map(|outcome| (*outcome).to_owned()).collect();
    expected.sort();
    assert_eq!(seen, expected, "outcomes that were seen, and those that were expected");
}
