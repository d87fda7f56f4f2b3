//! A number of free places, which any thread may take from and give to.
//!
//! Must never fall below zero, or be changed by a thread that is not busy.

use crate::sync::{AtomicU64, Ordering};

/// Free places of the pool or of an account.
pub(super) struct Places(AtomicU64);

impl Places {
    pub(super) fn new(count: u64) -> Self {
        Self(AtomicU64::new(count))
    }

    pub(super) fn count(&self) -> u64 {
        // [N3] `Acquire`: who sees a change sees that its thread became busy. Pairs with [N4].
        self.0.load(Ordering::Acquire)
    }

    /// Takes up to `most` places; nothing if there are none.
    #[inline]
    pub(super) fn take(&self, most: u64) -> Option<u64> {
        // [N3] `Relaxed`: a guess for the exchange that follows.
        let mut count = self.0.load(Ordering::Relaxed);
        // Ends: each turn means that another thread took or gave.
        while count > 0 {
            let taken = count.min(most);
            // [N4] `AcqRel`: publishes that the thread is busy, to [N3]; and who takes a place sees
            // the slot that was killed before it was given.
            let left = count - taken;
            match self.0.compare_exchange(count, left, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return Some(taken),
                Err(now) => count = now,
            }
        }
        None
    }

    /// Puts places in, and says how many there are then.
    pub(super) fn give(&self, places: u64) -> u64 {
        // [N4] `Release`: publishes that the thread is busy, to [N3], and what it has killed, to
        // who takes the place.
        self.0.fetch_add(places, Ordering::Release) + places
    }
}
