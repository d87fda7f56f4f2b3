//! Runs a scenario of the engine's own parts under loom, and checks that all its outcomes were
//! seen: one that never happens means that the model no longer reaches its race.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

pub(crate) use loom::thread::{JoinHandle as Running, spawn};

/// Runs a scenario until every interleaving within the preemption bound (`LOOM_MAX_PREEMPTIONS`, 2
/// by default) was explored.
///
/// # Panics
///
/// If the outcomes that it returned are not exactly the expected ones.
pub(crate) fn explore(
    expected: &[&'static str],
    scenario: impl Fn() -> &'static str + Send + Sync + 'static,
) {
    let seen = Arc::new(Mutex::new((0_usize, BTreeSet::new())));
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(2));
    builder.max_branches = 50_000;
    let seen_in_run = Arc::clone(&seen);
    builder.check(move || {
        let outcome = scenario();
        let mut seen = seen_in_run.lock().expect("no scenario panics while it holds this");
        seen.0 += 1;
        seen.1.insert(outcome);
    });
    let (runs, outcomes) = &*seen.lock().expect("the model has ended");
    println!("{runs} runs, outcomes {outcomes:?}");
    assert_eq!(outcomes, &expected.iter().copied().collect());
}
