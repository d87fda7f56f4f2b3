//! All stores, round after round: in each round every store is built anew and measured once, and
//! the order moves on by one, so that a slow minute of the machine meets all of them alike.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::figures::{Figure, median};
use crate::key::Key;
use crate::passes::{self, Shift};
use crate::stopwatch::Stopwatch;
use crate::store::{
    DashMap, Leasehold, Moka, MutexHeap, Papaya, QuickCache, RwLockBTree, Scc, Store, Watch,
};
use crate::team::Work;
use crate::workload::{self, Purpose};

/// The workloads by the names that the tables use.
pub const WORKLOADS: [(&str, &str); 5] = [
    ("W1", "lifecycle: acquire and commit of fresh keys"),
    ("W2", "duplicate: acquire of committed keys, uniformly random"),
    ("W3", "retry: acquire and release of fresh keys"),
    ("W4", "hot: all threads acquire and release the same 16 keys"),
    ("W5", "churn: W1 with keys kept for 50 to 350 ms, closed loop"),
];

/// What only we have: its figure stands beside that of W2, and there is no rival to it.
pub const BATCHES: (&str, &str) = ("B16", "batch: acquire_many of 16 committed keys");

/// Churn has no size: it is what rate and ttl lead to.
pub const CHURN: &str = "W5";

/// The size that churn is listed under, where a number is needed.
pub const CHURN_LIVE: usize = 1_000_000;

/// Room for what churn leads to, and for what stores without an order of expiry have not removed.
const CHURN_BOUND: usize = 4_000_000;

/// Keys for each thread's churn: more than any store gets through.
const CHURN_KEYS: usize = 3_000_000;

/// Different times for which they are kept, again and again.
const CHURN_TTLS: usize = 100_000;

/// How often stores without an order of expiry look through all keys while these come and go: the
/// mean ttl. Less often costs memory, more often time.
const CHURN_SWEEP: Duration = Duration::from_millis(200);

/// The same while nothing expires: a minute, so that it does not happen in a timed part.
const SWEEP: Duration = Duration::from_secs(60);

/// Longest that one workload may take in one round.
const PASS_MAX: Duration = Duration::from_millis(250);

/// Keys that everybody asks for.
const HOT_KEYS: usize = 16;

/// What to measure.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Names of stores, in the order of the tables.
    pub stores: Vec<String>,
    /// Names of workloads.
    pub workloads: Vec<String>,
    /// Numbers of threads.
    pub threads: Vec<usize>,
    /// Rounds to make.
    pub rounds: usize,
    /// Time for them. At least one round is made.
    pub budget: Duration,
    /// How long churn goes on before it is measured, and while it is.
    pub churn: [Duration; 2],
}

impl Plan {
    fn has(&self, workload: &str) -> bool {
        self.workloads.iter().any(|name| name == workload)
    }
}

/// What one store did in one round: the work of each lap, by workload and threads.
type Round = BTreeMap<(&'static str, usize), Vec<Work>>;

/// Measures one store once.
type Measure<I> = fn(&Plan, &I) -> Round;

/// Names of all stores, ours first.
#[must_use]
pub fn store_names() -> Vec<&'static str> {
    sized().into_iter().map(|(name, _)| name).collect()
}

fn sized() -> Vec<(&'static str, Measure<Lists>)> {
    vec![
        (Leasehold::NAME, one_size::<Leasehold>),
        (DashMap::NAME, one_size::<DashMap>),
        (Scc::NAME, one_size::<Scc>),
        (Papaya::NAME, one_size::<Papaya>),
        (Moka::NAME, one_size::<Moka>),
        (QuickCache::NAME, one_size::<QuickCache>),
        (MutexHeap::NAME, one_size::<MutexHeap>),
        (RwLockBTree::NAME, one_size::<RwLockBTree>),
    ]
}

fn churned() -> Vec<(&'static str, Measure<ChurnLists>)> {
    vec![
        (Leasehold::NAME, one_churn::<Leasehold>),
        (DashMap::NAME, one_churn::<DashMap>),
        (Scc::NAME, one_churn::<Scc>),
        (Papaya::NAME, one_churn::<Papaya>),
        (Moka::NAME, one_churn::<Moka>),
        (QuickCache::NAME, one_churn::<QuickCache>),
        (MutexHeap::NAME, one_churn::<MutexHeap>),
        (RwLockBTree::NAME, one_churn::<RwLockBTree>),
    ]
}

/// Keys for the workloads that have a size.
struct Lists {
    live: Vec<Key>,
    duplicates: Vec<Key>,
    batches: Vec<Key>,
    fresh: Vec<Key>,
    failing: Vec<Key>,
    hot: Vec<Key>,
    /// How often a round does all of it: small sizes are over soon, so one round takes many.
    laps: usize,
}

impl Lists {
    fn new(live: usize) -> Self {
        let list = |purpose, count| workload::keys(purpose).take(count).collect::<Vec<_>>();
        let live_keys = list(Purpose::Live, live);
        let asked = live.clamp(1_000, 200_000);
        // One list for both, so that the batches ask for keys that the single calls have not just
        // brought into a cache.
        let mut duplicates = workload::duplicates(&live_keys, 2 * asked);
        let batches = duplicates.split_off(asked);
        Self {
            duplicates,
            batches,
            // A tenth more at most, so that the store stays about as full as it was.
            fresh: list(Purpose::Fresh, (live / 10).clamp(1, 200_000)),
            failing: list(Purpose::Failing, (live / 2).clamp(1_000, 100_000)),
            hot: workload::duplicates(
                &list(Purpose::Hot, HOT_KEYS),
                (live / 2).clamp(1_000, 100_000),
            ),
            laps: (200_000 / live.max(1)).clamp(1, 20),
            live: live_keys,
        }
    }
}

/// Keys and times for churn.
struct ChurnLists {
    keys: Vec<Vec<Key>>,
    kept: Vec<Duration>,
}

/// Fills a store and runs the workloads of a size over it.
///
/// Duplicates come first, since they change nothing. Lifecycles come before retries, since these
/// leave places and records behind that make what follows cheaper, or dearer. Batches come last:
/// they must not warm a cache for what is compared with rivals.
fn one_size<S: Store>(plan: &Plan, lists: &Lists) -> Round {
    let mut round = Round::new();
    let longest = PASS_MAX / u32::try_from(lists.laps).unwrap_or(1);
    for _ in 0..lists.laps {
        let store = S::new(workload::bound(lists.live.len()), SWEEP, Watch::system());
        passes::fill(&store, &lists.live);
        let mut timed = |name, list: &[Key], pass: fn(&S, &[Key], Shift) -> Work| {
            for (turn, threads) in plan.threads.iter().copied().enumerate() {
                if plan.has(name) {
                    // Each turn takes keys that the turns before it have not made known.
                    let keys = passes::part(list, turn, plan.threads.len());
                    let work = pass(&store, keys, Shift { threads, longest });
                    round.entry((name, threads)).or_default().push(work);
                }
            }
        };
        timed("W2", &lists.duplicates, passes::duplicate);
        timed("W1", &lists.fresh, passes::lifecycle);
        timed("W3", &lists.failing, passes::retry);
        timed("W4", &lists.hot, passes::hot);
        if S::PROMISES.takes_batches {
            timed(BATCHES.0, &lists.batches, passes::batches);
        }
        std::hint::black_box(store.entries());
    }
    round
}

fn one_churn<S: Store>(plan: &Plan, lists: &ChurnLists) -> Round {
    let [warm_up, measured] = plan.churn;
    let churn = |threads: usize| {
        let store = S::new(CHURN_BOUND, CHURN_SWEEP, Watch::system());
        let keys = lists.keys.get(..threads).unwrap_or_default();
        (("W5", threads), vec![passes::churn(&store, keys, &lists.kept, warm_up, measured)])
    };
    plan.threads.iter().copied().map(churn).collect()
}

/// Workloads W1 to W4 at a size.
#[must_use]
pub fn at_size(plan: &Plan, live: usize) -> Vec<Figure> {
    rounds(plan, live, &sized(), &Lists::new(live))
}

/// Workload W5.
#[must_use]
pub fn of_churn(plan: &Plan) -> Vec<Figure> {
    let threads = plan.threads.iter().copied().max().unwrap_or(1);
    let list = |thread| workload::keys(Purpose::Churn(thread)).take(CHURN_KEYS).collect();
    let numbers = 0..u8::try_from(threads).unwrap_or(u8::MAX);
    let lists =
        ChurnLists { keys: numbers.map(list).collect(), kept: workload::churn_ttls(CHURN_TTLS) };
    rounds(plan, CHURN_LIVE, &churned(), &lists)
}

/// Rounds over all stores of the plan until there are enough, or the time is over.
fn rounds<I>(
    plan: &Plan,
    live: usize,
    all: &[(&'static str, Measure<I>)],
    lists: &I,
) -> Vec<Figure> {
    let mut stores: Vec<_> =
        all.iter().filter(|(name, _)| plan.stores.iter().any(|store| store == name)).collect();
    let mut works: BTreeMap<(&str, usize, &str), Vec<Work>> = BTreeMap::new();
    let stopwatch = Stopwatch::start();
    let mut made = 0;
    while made < plan.rounds {
        made += 1;
        for (name, measure) in &stores {
            for ((workload, threads), laps) in measure(plan, lists) {
                laps.iter().for_each(|lap| check(name, workload, *lap));
                works.entry((workload, threads, *name)).or_default().extend(laps);
            }
        }
        let first = 1.min(stores.len());
        stores.rotate_left(first);
        // Goes on only if another round fits.
        if stopwatch.elapsed().mul_f64(1.0 + 1.0 / made as f64) > plan.budget {
            break;
        }
    }
    let order = store_names();
    let mut figures: Vec<_> = works
        .into_iter()
        .map(|((workload, threads, store), works)| Figure {
            rounds: made,
            ..figure(workload, threads, live, store, &works)
        })
        .collect();
    let place = |figure: &Figure| order.iter().position(|name| **name == figure.store);
    figures.sort_by_key(|figure| (figure.workload.clone(), figure.threads, place(figure)));
    figures
}

/// What is told wrongly makes a figure worthless. Only caches may do it: they evict.
///
/// # Panics
///
/// If a store that does not evict was told to.
fn check(store: &str, workload: &str, work: Work) {
    let evicts = [Moka::NAME, QuickCache::NAME].contains(&store);
    assert!(
        evicts || work.wrong == 0,
        "{store} in {workload}: {} of {} operations went otherwise than they should",
        work.wrong,
        work.operations
    );
}

fn figure(workload: &str, threads: usize, live: usize, store: &str, works: &[Work]) -> Figure {
    let costs: Vec<_> = works.iter().map(Work::ns_per_op).collect();
    let sum = |part: fn(&Work) -> u64| works.iter().map(part).sum::<u64>() as f64;
    Figure {
        ns_per_op: median(&costs),
        wrong: sum(|work| work.wrong) / sum(|work| work.operations).max(1.0),
        ..Figure::of(workload, threads, live, store)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::OURS;

    #[test]
    fn every_store_has_a_figure_for_every_workload_and_number_of_threads() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let plan = Plan {
            stores: names(&store_names()),
            workloads: names(&["W1", "W2", "W3", "W4", "B16"]),
            threads: vec![1, 2],
            rounds: 2,
            budget: Duration::MAX,
            churn: [Duration::ZERO; 2],
        };
        let lists = Lists { laps: 1, ..Lists::new(500) };
        let figures = rounds(&plan, 500, &sized(), &lists);
        assert_eq!(figures.len(), 8 * 4 * 2 + 2);
        assert!(figures.iter().all(|figure| figure.rounds == 2 && figure.ns_per_op > 0.0));
        let batches: Vec<_> = figures.iter().filter(|figure| figure.workload == "B16").collect();
        assert!(batches.iter().all(|figure| figure.store == OURS && figure.wrong == 0.0));
        assert_eq!(batches.len(), 2);
    }

    #[test]
    #[should_panic(expected = "dashmap in W2: 1 of 2 operations")]
    fn a_wrong_answer_ends_the_run() {
        check("moka", "W2", Work { operations: 2, wrong: 1, elapsed: Duration::ZERO });
        check("dashmap", "W2", Work { operations: 2, wrong: 1, elapsed: Duration::ZERO });
    }
}
