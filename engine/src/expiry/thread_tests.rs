//! The tree by real threads that file and raise at once.

use std::sync::Arc;
use std::thread;

use super::*;
use crate::clock::LAST_TICK;
use crate::sync::AtomicU64;

/// Slots of a leaf.
const SLOTS: usize = 5;

/// One entry: a deadline and a number that no other entry has. Never zero, which is *dead*.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Word(u64);

impl Word {
    fn new(due: u64, serial: u64) -> Self {
        Self(due << 40 | serial)
    }

    fn due(self) -> Deadline {
        Deadline(self.0 >> 40)
    }
}

struct Table {
    tree: Deadlines,
    words: Vec<AtomicU64>,
    now: AtomicU64,
}

impl Table {
    fn new(leaves: usize) -> Self {
        let words = (0..leaves * SLOTS).map(|_| AtomicU64::new(0)).collect();
        Self {
            tree: Deadlines::new(leaves).expect("the memory is there"),
            words,
            now: AtomicU64::new(0),
        }
    }

    /// Puts an entry into a slot; false if the slot is taken.
    fn put(&self, slot: usize, word: Word) -> bool {
        let put = self.words[slot].compare_exchange(0, word.0, Ordering::AcqRel, Ordering::Acquire);
        if put.is_ok() {
            self.tree.file(Leaf((slot / SLOTS) as u32), word.due());
        }
        put.is_ok()
    }

    /// Takes everything that is due; says how many this call took.
    fn sweep(&self, now: Tick, hint: usize) -> u64 {
        let mut taken = 0;
        while let Some(raise) = self.tree.next_due(now, hint) {
            let first = raise.leaf().0 as usize * SLOTS;
            let mut earliest = NEVER;
            for slot in &self.words[first..first + SLOTS] {
                let word = Word(slot.load(Ordering::Acquire));
                if word == Word(0) {
                    continue;
                }
                if !word.due().is_past(now) {
                    earliest = earliest.min(word.due());
                } else if slot
                    .compare_exchange(word.0, 0, Ordering::AcqRel, Ordering::Acquire)
                    .is_ok()
                {
                    taken += 1;
                }
            }
            self.tree.finish(raise, earliest);
        }
        taken
    }
}

/// Puts `count` entries; now and then one that is due at once, which a sweep by the same thread
/// must not leave behind, whoever takes it.
fn file(table: &Table, thread: u64, count: u64, leaves: usize) -> u64 {
    let mut random = fastrand::Rng::with_seed(thread);
    let (mut filed, mut taken) = (0, 0);
    while filed < count {
        let now = table.now.load(Ordering::Acquire);
        let at_once = random.u8(0..8) == 0;
        let due = if at_once { now } else { now + random.u64(0..40) };
        let (slot, word) =
            (random.usize(0..leaves * SLOTS), Word::new(due, (thread << 32) + filed + 1));
        if !table.put(slot, word) {
            thread::yield_now();
            continue;
        }
        filed += 1;
        if at_once {
            taken += table.sweep(Tick(now), random.usize(..));
            assert_ne!(table.words[slot].load(Ordering::Acquire), word.0, "a due entry was missed");
        }
    }
    taken
}

fn file_and_sweep(leaves: usize, count: u64) {
    let table = Arc::new(Table::new(leaves));
    let done = Arc::new(AtomicU64::new(0));
    let filers: Vec<_> = (1..=3)
        .map(|thread| {
            let (table, done) = (Arc::clone(&table), Arc::clone(&done));
            thread::spawn(move || {
                let taken = file(&table, thread, count, leaves);
                done.fetch_add(1, Ordering::AcqRel);
                taken
            })
        })
        .collect();
    let sweepers: Vec<_> = (0..2)
        .map(|hint| {
            let (table, done) = (Arc::clone(&table), Arc::clone(&done));
            thread::spawn(move || {
                let mut taken = 0;
                while done.load(Ordering::Acquire) < 3 {
                    let now = table.now.fetch_add(1, Ordering::AcqRel) + 1;
                    taken += table.sweep(Tick(now), hint * leaves / 2);
                    thread::yield_now();
                }
                taken
            })
        })
        .collect();
    let threads = filers.into_iter().chain(sweepers);
    let mut taken: u64 = threads.map(|thread| thread.join().expect("no assertion failed")).sum();
    taken += table.sweep(Tick(LAST_TICK), 0);
    // Each entry was taken by one compare and swap: fewer means lost, and none can be more.
    assert_eq!(taken, 3 * count);
    assert!(table.words.iter().all(|word| word.load(Ordering::Acquire) == 0));
    assert!(!table.tree.is_due(Tick(LAST_TICK)));
}

#[test]
fn nothing_is_lost_among_threads_that_share_one_leaf() {
    file_and_sweep(1, 30_000);
}

#[test]
fn nothing_is_lost_among_threads_in_a_tree_of_two_levels() {
    file_and_sweep(5, 30_000);
}

#[test]
fn nothing_is_lost_among_threads_in_a_tree_of_three_levels() {
    file_and_sweep(300, 60_000);
}
