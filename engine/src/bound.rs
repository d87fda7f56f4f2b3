//! The bound: how many entries may be live, and who holds a place.
//!
//! A place is reserved before an entry is made and refunded exactly once when it ends: by the
//! reservation's drop if no entry came of it, or by whoever kills the entry. Never by both, never
//! by none.

use crossbeam_utils::CachePadded;

use crate::sync::{AtomicU64, Ordering};

/// Counts the places in use, pending reservations among them.
#[derive(Debug)]
pub(crate) struct Bound {
    /// Padded: every grant and release writes it, and readers of the neighbours do not care.
    used: CachePadded<AtomicU64>,
    max: u64,
}

impl Bound {
    pub(crate) fn new(max: usize) -> Self {
        Self {
            used: CachePadded::new(AtomicU64::new(0)),
            max: max as u64,
        }
    }

    /// A place for one entry, or nothing at the bound.
    pub(crate) fn reserve(&self) -> Option<Reservation<'_>> {
        // [B1] `Relaxed` to begin with: a hint for the swap below.
        let mut used = self.used.load(Ordering::Relaxed);
        // Ends: each failed swap means that another place was taken or refunded.
        while used < self.max {
            // [B2] `Acquire` on success: who gets a refunded place also sees that its slot is free
            // ([B3]). On failure `Relaxed`: we only look again.
            match self
                .used
                .compare_exchange(used, used + 1, Ordering::Acquire, Ordering::Relaxed)
            {
                Ok(_) => return Some(Reservation { bound: self }),
                Err(now) => used = now,
            }
        }
        None
    }

    /// Gives back the place of an entry that was killed.
    pub(crate) fn refund(&self) {
        // [B3] `Release`: the slot was made free before its place is. Pairs with [B2].
        let before = self.used.fetch_sub(1, Ordering::Release);
        debug_assert!(before > 0, "a place was refunded twice");
    }

    /// Places in use. Exact when nothing runs.
    pub(crate) fn used(&self) -> usize {
        // [B4] `Relaxed`: a figure for people; it may be one call old.
        self.used.load(Ordering::Relaxed) as usize
    }

    pub(crate) const fn max(&self) -> usize {
        self.max as usize
    }
}

/// A place that no entry has yet. Dropping it refunds it.
#[derive(Debug)]
pub(crate) struct Reservation<'a> {
    bound: &'a Bound,
}

impl Reservation<'_> {
    /// The entry exists: from now on whoever kills it refunds the place.
    pub(crate) fn keep(self) {
        std::mem::forget(self);
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        self.bound.refund();
    }
}

#[cfg(all(test, not(lease_loom)))]
mod tests {
    use super::*;

    #[test]
    fn places_end_at_the_bound_and_come_back_once() {
        let bound = Bound::new(2);
        let one = bound.reserve().expect("two places are free");
        bound.reserve().expect("one place is free").keep();
        assert!(bound.reserve().is_none());
        drop(one);
        assert_eq!(bound.used(), 1);
        bound.reserve().expect("one place is free").keep();
        bound.refund();
        bound.refund();
        assert_eq!((bound.used(), bound.max()), (0, 2));
    }
}
