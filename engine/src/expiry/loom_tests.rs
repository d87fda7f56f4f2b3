//! The tree under loom: two leaves of two slots and a root, and every interleaving of a few moves.
//!
//! What is left at the end is swept by one thread: nothing that was filed may be missing then.

use std::sync::Arc;

use super::*;
use crate::sync::AtomicU64;
use crate::sync::scenario::{JoinHandle as Running, explore, spawn};

const LEAVES: usize = 2;
const SLOTS: usize = 2;
/// A slot without an entry; one with an entry holds its deadline.
const DEAD: u64 = 0;

#[derive(Clone, Copy)]
struct Swept {
    taken: usize,
    /// Raises of a leaf that did not end.
    cancelled: usize,
}

struct Table {
    tree: Deadlines,
    slots: [[AtomicU64; SLOTS]; LEAVES],
}

impl Table {
    /// A table in which something in the first leaf is due at tick 1.
    fn new() -> Arc<Self> {
        let slots = std::array::from_fn(|_| std::array::from_fn(|_| AtomicU64::new(DEAD)));
        let table = Self { tree: Deadlines::new(LEAVES).expect("the memory is there"), slots };
        table.put(0, 0, 1);
        Arc::new(table)
    }

    fn put(&self, leaf: usize, slot: usize, due: u64) {
        self.slots[leaf][slot].store(due, Ordering::Release);
        self.tree.file(Leaf(leaf as u32), Deadline(due));
    }

    /// Takes what is due; says how many this call took.
    fn sweep(&self, now: u64) -> usize {
        self.sweep_and_count(now).taken
    }

    fn sweep_and_count(&self, now: u64) -> Swept {
        let mut swept = Swept { taken: 0, cancelled: 0 };
        while let Some(raise) = self.tree.next_due(Tick(now), 0) {
            let mut earliest = NEVER;
            for slot in &self.slots[raise.leaf().0 as usize] {
                match slot.load(Ordering::Acquire) {
                    DEAD => {}
                    due if due > now => earliest = earliest.min(Deadline(due)),
                    due => swept.taken += usize::from(take(slot, due)),
                }
            }
            swept.cancelled += usize::from(!self.tree.finish(raise, earliest));
        }
        swept
    }

    fn is_dead(&self, leaf: usize, slot: usize) -> bool {
        self.slots[leaf][slot].load(Ordering::Acquire) == DEAD
    }
}

fn take(slot: &AtomicU64, due: u64) -> bool {
    slot.compare_exchange(due, DEAD, Ordering::AcqRel, Ordering::Acquire).is_ok()
}

/// Sweeps at tick 1 beside the rest of a scenario.
fn sweeper(table: &Arc<Table>) -> Running<Swept> {
    let table = Arc::clone(table);
    spawn(move || table.sweep_and_count(1))
}

/// Puts an entry beside the rest of a scenario.
fn filer(table: &Arc<Table>, leaf: usize, slot: usize, due: u64) -> Running<()> {
    let table = Arc::clone(table);
    spawn(move || table.put(leaf, slot, due))
}

/// The raise of the leaf may have looked at the slot before the word was there.
#[test]
fn a_filer_beside_a_raiser_of_its_leaf_is_not_hidden() {
    explore(3, 9_600, &["0", "1", "2"], || {
        let table = Table::new();
        let sweeper = sweeper(&table);
        table.put(0, 1, 1);
        let own = table.sweep(1);
        assert!(table.is_dead(0, 1), "a look after the filing finds what is due");
        let other = sweeper.join().expect("no panic").taken;
        assert_eq!(own + other, 2);
        assert!(!table.tree.is_due(Tick(9)));
        ["0", "1", "2"][other]
    });
}

/// The same with a deadline that is later than the tick that is raised, so that the leaf has to be
/// kept from being raised past it.
#[test]
fn a_later_deadline_is_not_raised_past() {
    explore(3, 80, &["cancelled", "undisturbed"], || {
        let table = Table::new();
        let sweeper = sweeper(&table);
        table.put(0, 1, 2);
        let swept = sweeper.join().expect("no panic");
        assert_eq!((swept.taken, table.sweep(1)), (1, 0));
        assert_eq!(table.sweep(2), 1, "nothing is lost");
        if swept.cancelled > 0 { "cancelled" } else { "undisturbed" }
    });
}

/// The raise is one of the root, beside a filer who lowers another leaf.
#[test]
fn a_lowered_child_is_not_raised_past() {
    explore(3, 41, &["swept"], || {
        let table = Table::new();
        let sweeper = sweeper(&table);
        table.put(1, 0, 2);
        assert_eq!(sweeper.join().expect("no panic").taken, 1);
        assert_eq!(table.sweep(1), 0);
        assert_eq!(table.sweep(2), 1, "nothing is lost");
        "swept"
    });
}

/// One filer lowers the leaf and stalls before the root; the other finds the leaf covered.
#[test]
fn a_filer_behind_a_stalled_one_is_not_hidden() {
    explore(3, 330, &["both", "its own"], || {
        let table = Table::new();
        assert_eq!(table.sweep(1), 1);
        let stalls = filer(&table, 1, 0, 1);
        table.put(1, 1, 1);
        let own = table.sweep(1);
        assert!(table.is_dead(1, 1), "a look after the filing finds what is due");
        stalls.join().expect("no panic");
        assert_eq!(own + table.sweep(1), 2);
        if own == 2 { "both" } else { "its own" }
    });
}

#[test]
fn two_filers_beside_a_raiser_lose_nothing() {
    for [later, earlier] in [[(0, 1), (1, 0)], [(1, 0), (0, 1)], [(1, 0), (1, 1)]] {
        explore(2, 630, &["swept"], move || {
            let table = Table::new();
            let (sweeper, filer) = (sweeper(&table), filer(&table, later.0, later.1, 3));
            table.put(earlier.0, earlier.1, 2);
            filer.join().expect("no panic");
            assert_eq!(sweeper.join().expect("no panic").taken, 1);
            assert_eq!(table.sweep(2), 1, "the earlier one is not lost");
            assert_eq!(table.sweep(3), 1, "nor the later one");
            "swept"
        });
    }
}

#[test]
fn two_raisers_take_an_entry_once_and_lose_none() {
    explore(3, 4_500, &["first", "second"], || {
        let table = Table::new();
        table.put(0, 1, 4);
        table.put(1, 0, 3);
        let sweeper = sweeper(&table);
        let own = table.sweep(1);
        assert_eq!(own + sweeper.join().expect("no panic").taken, 1);
        assert!(!table.tree.is_due(Tick(2)) && table.tree.is_due(Tick(3)));
        assert_eq!(table.sweep(3), 1);
        assert!(!table.tree.is_due(Tick(3)) && table.tree.is_due(Tick(4)));
        if own == 1 { "first" } else { "second" }
    });
}

/// One raiser may stall, and the other join its raise, while the filer is under way.
#[test]
fn a_filer_beside_two_raisers_loses_nothing() {
    for leaf in 0..LEAVES {
        explore(2, 31_000, &["swept"], move || {
            let table = Table::new();
            let sweepers = [sweeper(&table), sweeper(&table)];
            table.put(leaf, 1, 2);
            let taken = sweepers.map(|sweeper| sweeper.join().expect("no panic").taken);
            assert_eq!(taken.into_iter().sum::<usize>(), 1);
            assert_eq!(table.sweep(2), 1, "nothing is lost");
            "swept"
        });
    }
}
