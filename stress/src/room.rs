//! How many entries there may be at most, counted from outside, so that a *full* that nothing
//! explains is found.
//!
//! An entry counts from before the acquire that may make it until after the call that ended it, or
//! until it is certainly due. An acquire under way counts like an entry: it may hold a place.

use std::sync::atomic::{AtomicU64, Ordering};

/// The count.
#[derive(Debug)]
pub(crate) struct Room {
    bound: u64,
    /// Entries and acquires under way.
    count: AtomicU64,
    /// How often somebody has raised the count above the bound. Raised before that somebody's call.
    crowded: AtomicU64,
}

/// One acquire under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Visit {
    crowded: bool,
    before: u64,
}

impl Room {
    pub(crate) fn new(bound: usize) -> Self {
        Self { bound: bound as u64, count: AtomicU64::new(0), crowded: AtomicU64::new(0) }
    }

    /// Counts an acquire that is about to begin.
    pub(crate) fn enter(&self) -> Visit {
        let before = self.crowded.load(Ordering::SeqCst);
        let crowded = self.count.fetch_add(1, Ordering::SeqCst) + 1 > self.bound;
        if crowded {
            self.crowded.fetch_add(1, Ordering::SeqCst);
        }
        Visit { crowded, before }
    }

    /// Takes out an acquire that made no entry, or an entry that has ended.
    pub(crate) fn leave(&self) {
        self.count.fetch_sub(1, Ordering::SeqCst);
    }

    /// Whether at some moment of the visit others may have had every place.
    pub(crate) fn may_have_been_full(&self, visit: Visit) -> bool {
        visit.crowded || self.crowded.load(Ordering::SeqCst) != visit.before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_is_explained_by_others_alone() {
        let room = Room::new(1);
        let alone = room.enter();
        assert!(!room.may_have_been_full(alone));
        let second = room.enter();
        assert!(room.may_have_been_full(alone) && room.may_have_been_full(second));
        room.leave();
        room.leave();
        let later = room.enter();
        assert!(!room.may_have_been_full(later));
    }
}
