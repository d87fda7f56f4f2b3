//! The warning that a bounded store is nearly full, before requests are refused.

use std::time::Duration;

use leasehold::{LeaseStore, Usage};
use tokio::time::{Instant, interval};

/// How often the store is looked at, which costs some loads for each thread. Arbitrary.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How long the same warning is not repeated.
const QUIET: Duration = Duration::from_secs(60 * 60);

/// Looks at the store for as long as it is polled; ends at once for stores that do not count.
pub(crate) async fn watch<S: LeaseStore>(store: S) {
    let mut looks = interval(LOOK_EVERY);
    let mut warned = None;
    while let Some(usage) = store.usage() {
        if is_due(usage, warned.map(|at: Instant| at.elapsed())) {
            warned = Some(Instant::now());
            let Usage { entries, max_entries } = usage;
            tracing::warn!(entries, max_entries, "the store is nearly full, then it refuses");
        }
        looks.tick().await;
    }
}

/// Whether to warn now: from 80 % on, and not within the hour.
fn is_due(usage: Usage, since: Option<Duration>) -> bool {
    let nearly = usage.entries as u128 * 5 >= usage.max_entries as u128 * 4;
    nearly && since.is_none_or(|since| since >= QUIET)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_warning_comes_at_80_percent_and_once_an_hour() {
        let usage = |entries| Usage { entries, max_entries: 10 };
        assert!(!is_due(usage(7), None));
        assert!(is_due(usage(8), None));
        assert!(is_due(usage(10), None));
        assert!(!is_due(usage(10), Some(QUIET - Duration::from_nanos(1))));
        assert!(is_due(usage(10), Some(QUIET)));
        assert!(is_due(Usage { entries: usize::MAX, max_entries: usize::MAX }, None));
    }
}
