//! Bytes per key: what a process holds more once a store is there and filled to its bound.

use std::fs;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::passes::acquire_and_commit;
use crate::store::{
    Answer, DashMap, Leasehold, Moka, MutexHeap, Papaya, QuickCache, RwLockBTree, Scc, Store, Watch,
};
use crate::workload::{self, KEPT_TTL, Purpose};

/// One store's memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Footprint {
    /// Name of the store.
    pub store: String,
    /// Its bound.
    pub bound: usize,
    /// Keys that it holds after as many were brought.
    pub held: usize,
    /// Keys that it refused before its bound was reached.
    pub refused_early: usize,
    /// Whether it refuses one key more.
    pub refuses_more: bool,
    /// Whether it knows what falls due next.
    pub orders_expiry: bool,
    /// Bytes of memory that the kernel has given it, by held keys.
    pub resident_per_key: f64,
    /// Bytes that it has asked the allocator for and not given back, by held keys.
    pub requested_per_key: f64,
}

type Measure = fn(usize, fn() -> usize) -> Footprint;

const MEASURES: [(&str, Measure); 8] = [
    (Leasehold::NAME, of::<Leasehold>),
    (DashMap::NAME, of::<DashMap>),
    (Scc::NAME, of::<Scc>),
    (Papaya::NAME, of::<Papaya>),
    (Moka::NAME, of::<Moka>),
    (QuickCache::NAME, of::<QuickCache>),
    (MutexHeap::NAME, of::<MutexHeap>),
    (RwLockBTree::NAME, of::<RwLockBTree>),
];

/// Measures one store in this process, which should have done nothing before: memory that was given
/// back to the allocator is used again without being seen. `requested` gives the bytes that the
/// process holds from its allocator.
///
/// `None` if there is no such store.
#[must_use]
pub fn measure(store: &str, bound: usize, requested: fn() -> usize) -> Option<Footprint> {
    let (_, measure) = MEASURES.iter().find(|(name, _)| *name == store)?;
    Some(measure(bound, requested))
}

fn of<S: Store>(bound: usize, requested: fn() -> usize) -> Footprint {
    let (resident_before, requested_before) = (resident(), requested());
    let store = S::new(bound, Duration::from_secs(24 * 60 * 60), Watch::system());
    // Keys are made one by one, so that no list of them is counted.
    let granted = workload::keys(Purpose::Live)
        .take(bound)
        .filter(|key| acquire_and_commit(&store, key, KEPT_TTL))
        .count();
    let (held, resident, requested) = (store.entries(), resident(), requested());
    let one_more = workload::keys(Purpose::Fresh).next().map(|key| store.acquire(&key));
    let per_key =
        |after: usize, before: usize| after.saturating_sub(before) as f64 / held.max(1) as f64;
    Footprint {
        store: S::NAME.to_owned(),
        bound,
        held,
        refused_early: bound - granted,
        refuses_more: matches!(one_more, Some(Answer::Full)),
        orders_expiry: S::PROMISES.orders_expiry,
        resident_per_key: per_key(resident, resident_before),
        requested_per_key: per_key(requested, requested_before),
    }
}

/// Bytes of this process that are in memory, counted page by page; zero where there is no Linux.
fn resident() -> usize {
    rss(&fs::read_to_string("/proc/self/smaps_rollup").unwrap_or_default()).unwrap_or(0)
}

/// The sum of resident kilobytes in a summary of mappings, as bytes.
fn rss(summary: &str) -> Option<usize> {
    let line = summary.lines().find_map(|line| line.strip_prefix("Rss:"))?;
    let kilobytes: usize = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kilobytes * 1_024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resident_bytes_are_read_from_the_summary() {
        let summary = "5500-7fff ---p 00000000 00:00 0    [rollup]\nRss:      1784 kB\nPss: 1 kB\n";
        assert_eq!(rss(summary), Some(1_784 * 1_024));
        assert_eq!(rss("nothing"), None);
    }

    #[test]
    fn a_store_is_filled_to_exactly_its_bound() {
        for store in ["leasehold", "dashmap", "scc", "papaya", "mutex_heap", "rwlock_btree"] {
            let footprint = measure(store, 1_000, || 0).expect("a store");
            assert_eq!((footprint.held, footprint.refused_early), (1_000, 0), "{store}");
            assert!(footprint.refuses_more, "{store}");
        }
        assert_eq!(measure("none", 1, || 0), None);
    }
}
