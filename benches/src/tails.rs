//! The slow operations of each store: rounds over our store and the best rivals.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use crate::contest::store_names;
use crate::figures::{Figure, OURS, best_rivals, median};
use crate::key::Key;
use crate::pace::{self, Pace, Span};
use crate::passes;
use crate::store::{
    DashMap, Leasehold, Moka, MutexHeap, Papaya, QuickCache, RwLockBTree, Scc, Store, Watch,
};
use crate::workload::{self, Purpose};

/// Fastest that a closed loop goes: keys are made for this many operations a second and thread.
const CLOSED_RATE_MAX: u32 = 3_000_000;

/// Room for what a closed loop leads to, before the load that is usual.
const CHURN_BOUND: usize = 3_000_000;

/// Different times for which keys are kept, again and again.
const TTLS: usize = 100_000;

/// What to measure.
#[derive(Clone, Debug)]
pub struct Course {
    /// When operations start.
    pub pace: Pace,
    /// How long a round goes on.
    pub span: Span,
    /// Threads at work.
    pub threads: usize,
    /// Keys that are kept for a day beside those that come and go.
    pub live: usize,
    /// How often stores without an order of expiry look through all keys; `None` for never.
    pub sweep_every: Option<Duration>,
    /// Rounds over all stores.
    pub rounds: usize,
}

/// One store's percentiles, in nanoseconds: the median of the rounds, but for the longest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tail {
    /// `W5` in a closed loop, `W6` at a fixed rate.
    pub workload: String,
    /// Threads at work.
    pub threads: usize,
    /// Keys that are kept for a day.
    pub live: usize,
    /// Operations a second and thread; none in a closed loop.
    pub rate: Option<u32>,
    /// Milliseconds between two looks through all keys, for stores without an order of expiry;
    /// none if they never look.
    pub sweep_ms: Option<u64>,
    /// Name of the store.
    pub store: String,
    /// Rounds.
    pub rounds: usize,
    /// Half of the operations are as fast.
    pub p50_ns: f64,
    /// 99 of 100 are.
    pub p99_ns: f64,
    /// 999 of 1,000 are.
    pub p999_ns: f64,
    /// The longest of all rounds.
    pub max_ns: f64,
    /// For our store: its p99 by the best rival's. Below one we are ahead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_by_best_rival: Option<f64>,
    /// The same for p99.9.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p999_by_best_rival: Option<f64>,
}

/// Keys and times, made before.
#[derive(Debug)]
pub struct Lists {
    /// Kept for a day.
    pub live: Vec<Key>,
    fresh: Vec<Vec<Key>>,
    kept: Vec<Duration>,
}

impl Lists {
    /// As many keys as the course can use.
    #[must_use]
    pub fn new(course: &Course) -> Self {
        let rate = match course.pace {
            Pace::Closed => CLOSED_RATE_MAX,
            Pace::Rate(rate) => rate,
        };
        let span = course.span.warm_up + course.span.measured;
        // One more, since the first starts at once.
        let count = (span.as_secs_f64() * f64::from(rate)) as usize + 1;
        let list = |thread| workload::keys(Purpose::Churn(thread)).take(count).collect();
        Self {
            live: workload::keys(Purpose::Live).take(course.live).collect(),
            fresh: (0..=u8::MAX).map(list).take(course.threads).collect(),
            kept: workload::churn_ttls(TTLS),
        }
    }

    /// A thread's keys, and how long each is kept.
    pub fn of_thread(&self, thread: usize) -> impl Iterator<Item = (&Key, &Duration)> {
        self.fresh.get(thread).into_iter().flatten().zip(self.kept.iter().cycle())
    }

    /// More entries than there ever are.
    #[must_use]
    pub fn most_entries(&self, course: &Course) -> usize {
        match course.pace {
            Pace::Closed => course.live + CHURN_BOUND,
            // All keys, so that a store that never removes what has expired refuses none.
            Pace::Rate(_) => course.live + self.fresh.iter().map(Vec::len).sum::<usize>(),
        }
    }
}

type Measure = fn(&Course, &Lists) -> Histogram<u64>;

const MEASURES: [(&str, Measure); 8] = [
    (Leasehold::NAME, one::<Leasehold>),
    (DashMap::NAME, one::<DashMap>),
    (Scc::NAME, one::<Scc>),
    (Papaya::NAME, one::<Papaya>),
    (Moka::NAME, one::<Moka>),
    (QuickCache::NAME, one::<QuickCache>),
    (MutexHeap::NAME, one::<MutexHeap>),
    (RwLockBTree::NAME, one::<RwLockBTree>),
];

/// One store in one round.
fn one<S: Store>(course: &Course, lists: &Lists) -> Histogram<u64> {
    let never = Duration::from_secs(24 * 60 * 60);
    let sweep_every = course.sweep_every.unwrap_or(never);
    let store = S::new(workload::bound(lists.most_entries(course)), sweep_every, Watch::system());
    passes::fill(&store, &lists.live);
    let times = pace::churn(&store, &lists.fresh, &lists.kept, course.pace, course.span);
    std::hint::black_box(store.entries());
    times
}

/// Our store and the three rivals that are nearest to the best percentiles, by one quick look at
/// all of them: a closed loop, and the rate beside fewer kept keys.
#[must_use]
pub fn contestants(rate: u32, threads: usize) -> Vec<String> {
    let quick = |pace, sweep_every| Course {
        pace,
        span: Span { warm_up: Duration::from_millis(400), measured: Duration::from_millis(300) },
        threads,
        live: 100_000,
        sweep_every,
        rounds: 1,
    };
    let courses = [
        quick(Pace::Closed, Some(Duration::from_millis(200))),
        quick(Pace::Rate(rate), Some(Duration::from_millis(200))),
        quick(Pace::Rate(rate), None),
    ];
    let all: Vec<_> = store_names().into_iter().map(ToOwned::to_owned).collect();
    let percentiles = courses.iter().enumerate().flat_map(|(number, course)| {
        let tails = measure(course, &all);
        tails.into_iter().flat_map(move |tail| {
            [("p99", tail.p99_ns), ("p99.9", tail.p999_ns)].map(|(name, nanos)| Figure {
                ns_per_op: nanos,
                ..Figure::of(&format!("{name} of {number}"), threads, tail.live, &tail.store)
            })
        })
    });
    let best = best_rivals(&percentiles.collect::<Vec<_>>());
    std::iter::once(OURS.to_owned()).chain(best).collect()
}

/// Rounds over these stores.
#[must_use]
pub fn measure(course: &Course, stores: &[String]) -> Vec<Tail> {
    let lists = Lists::new(course);
    let mut order: Vec<_> =
        MEASURES.iter().filter(|(name, _)| stores.iter().any(|store| store == name)).collect();
    let mut times: BTreeMap<&str, Vec<Histogram<u64>>> = BTreeMap::new();
    for _ in 0..course.rounds {
        for (name, measure) in &order {
            times.entry(*name).or_default().push(measure(course, &lists));
        }
        let first = 1.min(order.len());
        order.rotate_left(first);
    }
    let names = store_names().into_iter();
    let mut tails: Vec<_> =
        names.filter_map(|name| Some(tail(course, name, times.get(name)?))).collect();
    compare(&mut tails);
    tails
}

fn tail(course: &Course, store: &str, rounds: &[Histogram<u64>]) -> Tail {
    let middle = |percent: f64| {
        let of_rounds = rounds.iter().map(|times| times.value_at_percentile(percent) as f64);
        median(&of_rounds.collect::<Vec<_>>())
    };
    let (workload, rate) = match course.pace {
        Pace::Closed => ("W5", None),
        Pace::Rate(rate) => ("W6", Some(rate)),
    };
    Tail {
        workload: workload.to_owned(),
        threads: course.threads,
        live: course.live,
        rate,
        sweep_ms: course.sweep_every.map(|every| every.as_millis() as u64),
        store: store.to_owned(),
        rounds: rounds.len(),
        p50_ns: middle(50.0),
        p99_ns: middle(99.0),
        p999_ns: middle(99.9),
        max_ns: rounds.iter().map(Histogram::max).max().unwrap_or(0) as f64,
        p99_by_best_rival: None,
        p999_by_best_rival: None,
    }
}

/// Compares us with the best rival of the same course.
fn compare(tails: &mut [Tail]) {
    let best = |of: fn(&Tail) -> f64| {
        let rivals = tails.iter().filter(|tail| tail.store != OURS);
        rivals.map(of).min_by(f64::total_cmp)
    };
    let (p99, p999) = (best(|tail| tail.p99_ns), best(|tail| tail.p999_ns));
    for ours in tails.iter_mut().filter(|tail| tail.store == OURS) {
        ours.p99_by_best_rival = p99.map(|best| ours.p99_ns / best);
        ours.p999_by_best_rival = p999.map(|best| ours.p999_ns / best);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_medians_of_rounds_and_the_longest_is_the_longest() {
        let course = Course {
            pace: Pace::Rate(20_000),
            span: Span { warm_up: Duration::ZERO, measured: Duration::from_millis(20) },
            threads: 2,
            live: 100,
            sweep_every: None,
            rounds: 2,
        };
        let tails = measure(&course, &["scc".to_owned(), OURS.to_owned()]);
        let names: Vec<_> = tails.iter().map(|tail| tail.store.as_str()).collect();
        assert_eq!(names, [OURS, "scc"]);
        for tail in &tails {
            assert_eq!((tail.workload.as_str(), tail.rounds), ("W6", 2));
            assert!(0.0 < tail.p50_ns && tail.p50_ns <= tail.p99_ns);
            assert!(tail.p99_ns <= tail.p999_ns && tail.p999_ns <= tail.max_ns * 1.01);
            assert_eq!(tail.p99_by_best_rival.is_some(), tail.store == OURS);
        }
    }
}
