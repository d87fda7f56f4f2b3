//! Which keys may have an entry, counted from outside, so that a *full* that nothing explains is
//! found, and an *in flight* of a key that nobody has.
//!
//! A key counts from before the acquire that may make its entry until after the call that ended
//! that, or until it is certainly due. A key has one entry at most, so it counts once however many
//! ask for it. An acquire that is told *full* is one of its own key's visitors: the others explain
//! it if there are as many of them as places.

use std::sync::atomic::{AtomicU64, Ordering};

/// The count.
#[derive(Debug)]
pub(crate) struct Room {
    bound: u64,
    /// Of each key: entries, and acquires under way.
    visitors: Box<[Visitors]>,
    /// Keys with visitors, and now and then one more, never fewer.
    visited: AtomicU64,
    /// How often somebody has come when more keys were visited than there are places. Raised before
    /// that somebody's call.
    crowded: AtomicU64,
}

/// Those of one key: `how many have ever come 40 | there are now 24`.
#[derive(Debug, Default)]
struct Visitors(AtomicU64);

/// One that has come.
const COME: u64 = 1 << NOW_BITS;

const NOW_BITS: u32 = 24;

/// One acquire under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Visit {
    key: usize,
    /// It came as the key's only visitor, and as the how-many-th.
    first: bool,
    number: u64,
    crowded: bool,
    before: u64,
}

impl Room {
    pub(crate) fn new(bound: usize, keys: usize) -> Self {
        Self {
            bound: bound as u64,
            visitors: (0..keys).map(|_| Visitors::default()).collect(),
            visited: AtomicU64::new(0),
            crowded: AtomicU64::new(0),
        }
    }

    /// Counts an acquire of a key that is about to begin.
    ///
    /// Of those who made the entries of a full store, and the one who is told so, consider who came
    /// here last: that one finds the keys of all others counted, and its own, so it says *crowded*;
    /// and it says so within the visit of the one who is told.
    pub(crate) fn enter(&self, key: usize) -> Visit {
        let before = self.crowded.load(Ordering::SeqCst);
        let counted = self.visited.fetch_add(1, Ordering::SeqCst) + 1;
        let visitors = &self.visitors[key];
        let met = visitors.0.fetch_add(COME + 1, Ordering::SeqCst);
        let (first, number) = (met.is_multiple_of(COME), (met >> NOW_BITS) + 1);
        let visited = if first { counted } else { self.visited.fetch_sub(1, Ordering::SeqCst) - 1 };
        let crowded = visited > self.bound;
        if crowded {
            self.crowded.fetch_add(1, Ordering::SeqCst);
        }
        Visit { key, first, number, crowded, before }
    }

    /// Takes out an acquire that made no entry, or an entry that has ended.
    pub(crate) fn leave(&self, key: usize) {
        if self.visitors[key].0.fetch_sub(1, Ordering::SeqCst) % COME == 1 {
            self.visited.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// Whether at some moment of the visit other keys may have had every place.
    pub(crate) fn may_have_been_full(&self, visit: Visit) -> bool {
        let others = self.visitors.len() as u64 - 1;
        let crowded = visit.crowded || self.crowded.load(Ordering::SeqCst) != visit.before;
        others >= self.bound && crowded
    }

    /// Whether nobody else had the key, or asked for it, at any moment of the visit.
    pub(crate) fn was_alone(&self, visit: Visit) -> bool {
        let ever = self.visitors[visit.key].0.load(Ordering::SeqCst) >> NOW_BITS;
        visit.first && ever == visit.number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_is_explained_by_other_keys_alone() {
        let room = Room::new(1, 2);
        let alone = room.enter(0);
        let again = room.enter(0);
        assert!(!room.may_have_been_full(alone) && !room.may_have_been_full(again));
        assert!(!room.was_alone(alone) && !room.was_alone(again));
        let other = room.enter(1);
        assert!([alone, again, other].iter().all(|visit| room.may_have_been_full(*visit)));
        for key in [0, 0, 1] {
            room.leave(key);
        }
        let later = room.enter(0);
        assert!(!room.may_have_been_full(later) && room.was_alone(later));
    }

    #[test]
    fn as_many_places_as_keys_are_never_full() {
        let room = Room::new(2, 2);
        let visits = [0, 1, 0, 1].map(|key| room.enter(key));
        assert!(!visits.iter().any(|visit| room.may_have_been_full(*visit)));
    }
}
