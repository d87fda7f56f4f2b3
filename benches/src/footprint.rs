//! Bytes per key: what a process holds more once a store is there and filled to its bound.
//!
//! Both figures are the kernel's and cover all memory alike, whoever asked for it: a table that the
//! store maps by itself, and what the allocator holds, its overhead and its reserve included.

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
    /// Bytes that are in memory, by held keys.
    pub resident_per_key: f64,
    /// Bytes that were asked of the kernel and not given back, touched or not, by held keys.
    pub requested_per_key: f64,
}

/// Bytes of a process, as the kernel counts them page by page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Held {
    /// In memory.
    resident: usize,
    /// Mapped for it alone and writable, so that each page may come to be in memory: the heap and
    /// anonymous mappings.
    requested: usize,
}

type Measure = fn(usize) -> Footprint;

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
/// back to the allocator is used again without being seen.
///
/// `None` if there is no such store.
#[must_use]
pub fn measure(store: &str, bound: usize) -> Option<Footprint> {
    let (_, measure) = MEASURES.iter().find(|(name, _)| *name == store)?;
    Some(measure(bound))
}

fn of<S: Store>(bound: usize) -> Footprint {
    // The first look asks for the memory that a look takes.
    held();
    let before = held();
    let store = S::new(bound, Duration::from_secs(24 * 60 * 60), Watch::system());
    // Keys are made one by one, so that no list of them is counted.
    let granted = workload::keys(Purpose::Live)
        .take(bound)
        .filter(|key| acquire_and_commit(&store, key, KEPT_TTL))
        .count();
    let (entries, after) = (store.entries(), held());
    let one_more = workload::keys(Purpose::Fresh).next().map(|key| store.acquire(&key));
    let per_key =
        |after: usize, before: usize| after.saturating_sub(before) as f64 / entries.max(1) as f64;
    Footprint {
        store: S::NAME.to_owned(),
        bound,
        held: entries,
        refused_early: bound - granted,
        refuses_more: matches!(one_more, Some(Answer::Full)),
        orders_expiry: S::PROMISES.orders_expiry,
        resident_per_key: per_key(after.resident, before.resident),
        requested_per_key: per_key(after.requested, before.requested),
    }
}

/// What this process holds; nothing where there is no Linux.
fn held() -> Held {
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    Held {
        // Summed over the mappings, where the sums in `status` may lag behind; and without the
        // program's own pages, of which more come in as more of it runs.
        resident: bytes(&read("/proc/self/smaps_rollup"), "Anonymous:").unwrap_or(0),
        requested: bytes(&read("/proc/self/status"), "VmData:").unwrap_or(0),
    }
}

/// A line of kilobytes in a summary, as bytes.
fn bytes(summary: &str, name: &str) -> Option<usize> {
    let line = summary.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: usize = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kilobytes * 1_024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_from_the_summary() {
        let summary =
            "5500-7fff ---p 00000000 00:00 0    [rollup]\nRss: 1 kB\nAnonymous:   64 kB\n";
        assert_eq!(bytes(summary, "Anonymous:"), Some(64 * 1_024));
        assert_eq!(bytes("VmSize:\t 9 kB\nVmData:\t    360 kB\n", "VmData:"), Some(360 * 1_024));
        assert_eq!(bytes("nothing", "Anonymous:"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn memory_counts_as_requested_at_once_and_as_resident_once_it_is_touched() {
        // Far more than tests that run beside this one hold.
        const BYTES: usize = 1 << 30;
        const TOUCHED: usize = 1 << 26;
        let before = held();
        let mut zeroed = vec![0_u8; BYTES];
        let untouched = held();
        assert!(untouched.requested >= before.requested + BYTES / 2);
        assert!(untouched.resident < before.resident + BYTES / 2);
        zeroed.iter_mut().take(TOUCHED).step_by(4_096).for_each(|byte| *byte = 1);
        assert!(held().resident >= before.resident + TOUCHED / 2);
        std::hint::black_box(zeroed);
    }

    #[test]
    fn a_store_is_filled_to_exactly_its_bound() {
        for store in ["leasehold", "dashmap", "scc", "papaya", "mutex_heap", "rwlock_btree"] {
            let footprint = measure(store, 1_000).expect("a store");
            assert_eq!((footprint.held, footprint.refused_early), (1_000, 0), "{store}");
            assert!(footprint.refuses_more, "{store}");
        }
        assert_eq!(measure("none", 1), None);
    }
}
