//! Medians, ratios, and the lines in which they are handed on.

use serde::{Deserialize, Serialize};

/// The store of ours.
pub const OURS: &str = "leasehold";

/// One figure of the comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// `W1` to `W5`, or `B16`.
    pub workload: String,
    /// Threads at work.
    pub threads: usize,
    /// Live keys before the timed part. Churn has no size: the entries that rate and ttl lead to.
    pub live: usize,
    /// Name of the store.
    pub store: String,
    /// Median over the laps of all rounds: nanoseconds between two ends of an operation, of
    /// whichever thread.
    pub ns_per_op: f64,
    /// How many rounds.
    pub rounds: usize,
    /// Share of operations that were not told what they should be: keys that a cache has evicted.
    pub wrong: f64,
    /// For our store: the best rival's figure by ours. Above one we are ahead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio_to_best_rival: Option<f64>,
    /// For our store: whose figure that is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best_rival: Option<String>,
    /// For batches: what the same keys cost one by one, by this. Above one a batch is cheaper.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio_to_single_calls: Option<f64>,
}

impl Figure {
    /// A figure that is still to be measured.
    #[must_use]
    pub fn of(workload: &str, threads: usize, live: usize, store: &str) -> Self {
        Self {
            workload: workload.to_owned(),
            threads,
            live,
            store: store.to_owned(),
            ns_per_op: f64::NAN,
            rounds: 0,
            wrong: 0.0,
            ratio_to_best_rival: None,
            best_rival: None,
            ratio_to_single_calls: None,
        }
    }
}

/// The middle value, or the mean of the two in the middle; not a number if there is none.
#[must_use]
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match (sorted.get(middle), middle.checked_sub(1).and_then(|before| sorted.get(before))) {
        (Some(upper), Some(lower)) if sorted.len().is_multiple_of(2) => (lower + upper) / 2.0,
        (Some(middle), _) => *middle,
        (None, _) => f64::NAN,
    }
}

/// Compares our figures with the best rival's of the same workload, threads and size; and batches
/// with single calls.
pub fn compare(figures: &mut [Figure]) {
    let all = figures.to_vec();
    for ours in figures.iter_mut().filter(|figure| figure.store == OURS) {
        let rivals = all.iter().filter(|rival| {
            rival.store != OURS
                && (&rival.workload, rival.threads, rival.live)
                    == (&ours.workload, ours.threads, ours.live)
        });
        let best = rivals.min_by(|one, other| one.ns_per_op.total_cmp(&other.ns_per_op));
        ours.ratio_to_best_rival = best.map(|best| best.ns_per_op / ours.ns_per_op);
        ours.best_rival = best.map(|best| best.store.clone());
        let single = all.iter().find(|single| {
            (single.store.as_str(), single.workload.as_str()) == (OURS, "W2")
                && (single.threads, single.live) == (ours.threads, ours.live)
        });
        ours.ratio_to_single_calls = single
            .filter(|_| ours.workload == "B16")
            .map(|single| single.ns_per_op / ours.ns_per_op);
    }
}

/// From here on it does not matter how much slower a store is: one bad workload must not hide that
/// it is the best of another.
const DISTANCE_MAX: f64 = 3.0;

/// The three rivals that are nearest to the best of each workload, over all figures, best first.
#[must_use]
pub fn best_rivals(figures: &[Figure]) -> Vec<String> {
    let group = |figure: &Figure| (figure.workload.clone(), figure.threads, figure.live);
    let rivals: Vec<_> = figures.iter().filter(|figure| figure.store != OURS).collect();
    let distance = |store: &str| {
        let of_store: Vec<f64> = rivals
            .iter()
            .filter(|figure| figure.store == store)
            .map(|figure| {
                let same = rivals.iter().filter(|other| group(other) == group(figure));
                let best = same.map(|other| other.ns_per_op).fold(f64::INFINITY, f64::min);
                (figure.ns_per_op / best).min(DISTANCE_MAX).ln()
            })
            .collect();
        of_store.iter().sum::<f64>() / of_store.len().max(1) as f64
    };
    let mut stores: Vec<_> = rivals.iter().map(|figure| figure.store.clone()).collect();
    stores.sort();
    stores.dedup();
    stores.sort_by(|one, other| distance(one).total_cmp(&distance(other)));
    stores.truncate(3);
    stores
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(workload: &str, store: &str, ns_per_op: f64) -> Figure {
        Figure { ns_per_op, rounds: 1, ..Figure::of(workload, 1, 10, store) }
    }

    #[test]
    fn the_median_is_the_middle() {
        assert!((median(&[3.0, 1.0, 2.0]) - 2.0).abs() < 1e-9);
        assert!((median(&[4.0, 1.0, 2.0, 3.0]) - 2.5).abs() < 1e-9);
        assert!((median(&[5.0]) - 5.0).abs() < 1e-9);
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn the_ratio_is_to_the_best_rival_of_the_same_group() {
        let mut figures = [
            figure("W1", OURS, 10.0),
            figure("W1", "a", 30.0),
            figure("W1", "b", 20.0),
            figure("W2", "a", 1.0),
        ];
        compare(&mut figures);
        assert_eq!(figures[0].ratio_to_best_rival, Some(2.0));
        assert_eq!(figures[0].best_rival.as_deref(), Some("b"));
        assert!(figures[1..].iter().all(|figure| figure.ratio_to_best_rival.is_none()));
        let line = serde_json::to_string(&figures[1]).expect("plain data");
        assert!(!line.contains("ratio"), "{line}");
    }

    #[test]
    fn a_batch_is_compared_with_our_single_calls_and_with_no_rival() {
        let mut figures = [
            figure("B16", OURS, 10.0),
            figure("W2", "a", 15.0),
            figure("W2", OURS, 20.0),
            figure("W1", OURS, 40.0),
        ];
        compare(&mut figures);
        assert_eq!(figures[0].ratio_to_single_calls, Some(2.0));
        assert_eq!((figures[0].ratio_to_best_rival, &figures[0].best_rival), (None, &None));
        assert!(figures[1..].iter().all(|figure| figure.ratio_to_single_calls.is_none()));
    }

    #[test]
    fn the_best_three_are_best_over_all_workloads_and_one_bad_one_is_forgiven() {
        let figures = [
            figure("W1", OURS, 1.0),
            figure("W1", "a", 10.0),
            figure("W1", "b", 11.0),
            figure("W1", "c", 12.0),
            figure("W1", "d", 20.0),
            figure("W2", "a", 90.0),
            figure("W2", "b", 10.0),
            figure("W2", "c", 11.0),
            figure("W2", "d", 20.0),
        ];
        assert_eq!(best_rivals(&figures), ["b", "c", "a"]);
    }
}
