//! Side array: what each committed entry's run left, reclaimed by epoch.
//!
//! # Belonging
//! A kept outcome names the generation that left it, and counts only while the slot's word has that
//! generation. So an outcome may be put before its commit and outlive its entry by a moment, and
//! still nobody pairs it with another grant.
//!
//! # Putting
//! Load the cell, ask whether the lease is still current, swap. A later generation that put its own
//! meanwhile has changed the cell, so the swap fails; one that has not yet will replace what it
//! finds. Whoever put an outcome and then learns that the lease was lost removes it again.
//!
//! # Counting
//! The bytes are charged until the last clone is dropped, be it the store's or a reader's.
//!
//! # What it must never do
//! Hand out a guard, or drop an outcome's bytes while a reader may still load the cell.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use crossbeam_epoch::{self as epoch, Atomic, Guard, Owned, Shared};

use super::Slot;
use super::mapping::FromZeros;
use super::side::Side;
use crate::contract::Outcome;
use crate::sync::plain::{AtomicU64, Ordering};
use crate::sync::step;
use crate::word::Generation;

#[cfg(feature = "validate")]
mod validate;

/// How often a charge that finds no room hastens the collection. An outcome is freed two epochs
/// after it was given up, and each pass moves the epoch on by one at most, if no other thread holds
/// it up.
const COLLECTIONS_MAX: usize = 8;

/// One kept outcome.
struct Kept {
    generation: Generation,
    outcome: Outcome,
}

/// A slot's outcome, if it has one.
struct Cell(Atomic<Kept>);

// SAFETY: an atomic pointer, and zeros are null; `Outcomes` drops what it points to.
unsafe impl FromZeros for Cell {
    #[cfg(lease_loom)]
    fn zero() -> Self {
        Self(Atomic::null())
    }
}

/// The bytes of all outcomes, and their bound.
#[derive(Debug)]
struct Budget {
    used: AtomicU64,
    max: u64,
}

/// Bytes that are charged to a budget until they are dropped.
struct Charged {
    bytes: Bytes,
    budget: Arc<Budget>,
}

impl AsRef<[u8]> for Charged {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Charged {
    fn drop(&mut self) {
        // [O1] `Relaxed`: only the sum counts; the bytes themselves are freed by their own owner.
        self.budget.used.fetch_sub(self.bytes.len() as u64, Ordering::Relaxed);
    }
}

/// Why an outcome was not put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotPut {
    /// This generation has one.
    Exists,
    /// The lease is not current any more.
    NotCurrent,
}

/// The array.
pub(crate) struct Outcomes {
    cells: Side<Cell>,
    budget: Arc<Budget>,
}

impl Outcomes {
    /// No outcomes.
    ///
    /// # Errors
    ///
    /// The system's, if it does not give the address space.
    pub(crate) fn new(slots: usize, bytes_max: usize) -> io::Result<Self> {
        let budget = Budget { used: AtomicU64::new(0), max: bytes_max as u64 };
        Ok(Self { cells: Side::new(slots)?, budget: Arc::new(budget) })
    }

    /// The outcome, charged; nothing if it finds no room. An empty one needs none.
    pub(crate) fn charge(&self, outcome: Outcome) -> Option<Outcome> {
        let bytes = outcome.into_bytes();
        let size = bytes.len() as u64;
        if size == 0 {
            return (self.budget.max > 0).then(|| Outcome::new(bytes));
        }
        if size > self.budget.max {
            return None;
        }
        if !self.reserve(size) {
            // Bytes that were given up may wait for their collection: this hastens it, for a while.
            let reserved = (0..COLLECTIONS_MAX).any(|_| {
                epoch::pin().flush();
                self.reserve(size)
            });
            if !reserved {
                return None;
            }
        }
        let charged = Charged { bytes, budget: Arc::clone(&self.budget) };
        Some(Outcome::new(Bytes::from_owner(charged)))
    }

    /// Counts so many bytes, if there is room for them.
    fn reserve(&self, size: u64) -> bool {
        // [O1] `Relaxed`: see the drop.
        let mut used = self.budget.used.load(Ordering::Relaxed);
        // Ends: a failure means that another thread charged or freed bytes.
        while let Some(sum) = used.checked_add(size).filter(|sum| *sum <= self.budget.max) {
            let swapped = self.budget.used.compare_exchange(
                used,
                sum,
                // [O1] `Relaxed`: see the drop.
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
            match swapped {
                Ok(_) => return true,
                Err(now) => used = now,
            }
        }
        false
    }

    /// Bytes charged now.
    pub(crate) fn bytes_used(&self) -> u64 {
        // [O1] `Relaxed`: a figure for people.
        self.budget.used.load(Ordering::Relaxed)
    }

    /// The outcome that this generation left, if any.
    #[inline]
    pub(crate) fn get(&self, slot: Slot, generation: Generation) -> Option<Outcome> {
        Self::kept(&self.cells.get(slot)?.0, generation)
    }

    fn kept(cell: &Atomic<Kept>, generation: Generation) -> Option<Outcome> {
        let guard = &epoch::pin();
        let kept = load(cell, guard)?;
        (kept.generation == generation).then(|| kept.outcome.clone())
    }

    /// Puts a generation's outcome, unless it has one. `is_current` says whether the slot's word
    /// still has that generation; ask again afterwards, and [`clear`](Self::clear) if it has not.
    pub(crate) fn put(
        &self,
        slot: Slot,
        generation: Generation,
        outcome: Outcome,
        is_current: impl Fn() -> bool,
    ) -> Result<(), NotPut> {
        let Some(Cell(cell)) = self.cells.get_to_use(slot) else {
            return Err(NotPut::NotCurrent);
        };
        let guard = &epoch::pin();
        let mut new = Owned::new(Kept { generation, outcome });
        // Ends: a failed swap means that another thread put or cleared an outcome.
        loop {
            step();
            // [O2] `Acquire`: the kept outcome is complete before it is read. Pairs with [O3].
            let seen = cell.load(Ordering::Acquire, guard);
            if read(seen, guard).is_some_and(|kept| kept.generation == generation) {
                return Err(NotPut::Exists);
            }
            if !is_current() {
                return Err(NotPut::NotCurrent);
            }
            step();
            // [O3] `AcqRel`: `Release` publishes the outcome, `Acquire` pairs with the put of what
            // is retired here. Pairs with [O2].
            match cell.compare_exchange(seen, new, Ordering::AcqRel, Ordering::Relaxed, guard) {
                Ok(_) => {
                    retire(seen, guard);
                    return Ok(());
                }
                Err(failed) => new = failed.new,
            }
        }
    }

    /// Removes the outcome that this generation left, if it is there.
    #[inline]
    pub(crate) fn clear(&self, slot: Slot, generation: Generation) {
        if let Some(Cell(cell)) = self.cells.get(slot) {
            Self::clear_cell(cell, generation);
        }
    }

    fn clear_cell(cell: &Atomic<Kept>, generation: Generation) {
        let guard = &epoch::pin();
        step();
        // [O2] `Acquire`: see `put`.
        let seen = cell.load(Ordering::Acquire, guard);
        if read(seen, guard).is_some_and(|kept| kept.generation == generation) {
            step();
            // [O3] `AcqRel`: see `put`. A failure means that somebody else replaced or cleared it.
            let cleared = cell.compare_exchange(
                seen,
                Shared::null(),
                Ordering::AcqRel,
                Ordering::Relaxed,
                guard,
            );
            if cleared.is_ok() {
                retire(seen, guard);
            }
        }
    }
}

impl Drop for Outcomes {
    fn drop(&mut self) {
        let guard = &epoch::pin();
        for Cell(cell) in self.cells.all() {
            // [O3] `AcqRel`: `&mut self` proves that nobody else is here.
            let kept = cell.swap(Shared::null(), Ordering::AcqRel, guard);
            if !kept.is_null() {
                // SAFETY: no other thread can load the cell, and the pointer came from `Owned::new`
                // and was not retired, since retiring removes it.
                drop(unsafe { kept.into_owned() });
            }
        }
    }
}

/// Loads a cell for reading.
fn load<'g>(cell: &Atomic<Kept>, guard: &'g Guard) -> Option<&'g Kept> {
    step();
    // [O2] `Acquire`: see `put`.
    read(cell.load(Ordering::Acquire, guard), guard)
}

/// What a loaded pointer points to.
fn read<'g>(shared: Shared<'g, Kept>, _guard: &'g Guard) -> Option<&'g Kept> {
    // SAFETY: the pointer was loaded with `Acquire` under the guard, so what it points to is
    // complete ([O3]), and it is freed only after every guard of that time is gone (`retire`).
    unsafe { shared.as_ref() }
}

/// Frees what was removed from a cell, once no reader can hold it.
fn retire(removed: Shared<'_, Kept>, guard: &Guard) {
    if !removed.is_null() {
        // SAFETY: the caller's swap removed the pointer from the only cell that had it, so no later
        // guard can load it, and only one swap can have removed it.
        unsafe { guard.defer_destroy(removed) };
        // At once to the others: in this thread's own bag it would wait for 63 more, charged.
        guard.flush();
    }
}

#[cfg(all(test, not(lease_loom)))]
mod tests {
    use super::*;

    fn outcomes(slots: usize, bytes_max: usize) -> Outcomes {
        Outcomes::new(slots, bytes_max).expect("the memory is there")
    }

    fn outcome(text: &'static str) -> Outcome {
        Outcome::new(Bytes::from_static(text.as_bytes()))
    }

    const ONE: Generation = Generation::from_bits(1);
    const TWO: Generation = Generation::from_bits(2);

    #[test]
    fn an_outcome_belongs_to_its_generation_alone() {
        let outcomes = outcomes(1, 100);
        assert_eq!(outcomes.put(Slot(0), ONE, outcome("one"), || true), Ok(()));
        assert_eq!(outcomes.get(Slot(0), ONE), Some(outcome("one")));
        assert_eq!(outcomes.get(Slot(0), TWO), None);
        let again = outcomes.put(Slot(0), ONE, outcome("again"), || true);
        assert_eq!(again, Err(NotPut::Exists));
        outcomes.clear(Slot(0), TWO);
        assert_eq!(outcomes.get(Slot(0), ONE), Some(outcome("one")));
        assert_eq!(outcomes.put(Slot(0), TWO, outcome("two"), || true), Ok(()));
        assert_eq!(outcomes.get(Slot(0), ONE), None);
        outcomes.clear(Slot(0), TWO);
        assert_eq!(outcomes.get(Slot(0), TWO), None);
    }

    #[test]
    fn a_lease_that_is_not_current_puts_nothing() {
        let outcomes = outcomes(1, 100);
        let put = outcomes.put(Slot(0), ONE, outcome("one"), || false);
        assert_eq!(put, Err(NotPut::NotCurrent));
        assert_eq!(outcomes.get(Slot(0), ONE), None);
    }

    #[test]
    fn bytes_are_charged_until_the_last_clone_is_gone() {
        let outcomes = outcomes(1, 5);
        let kept = outcomes.charge(outcome("abc")).expect("five bytes are free");
        assert!(outcomes.charge(outcome("abc")).is_none());
        assert!(outcomes.charge(outcome("ab")).is_some(), "dropped at once");
        let reader = kept.clone();
        drop(kept);
        assert_eq!(outcomes.bytes_used(), 3);
        assert_eq!(reader.as_bytes().as_ref(), b"abc");
        drop(reader);
        assert_eq!(outcomes.bytes_used(), 0);
    }

    #[test]
    fn no_room_at_all_keeps_not_even_an_empty_outcome() {
        assert!(outcomes(1, 0).charge(outcome("")).is_none());
        assert!(outcomes(1, 1).charge(outcome("")).is_some());
    }
}
