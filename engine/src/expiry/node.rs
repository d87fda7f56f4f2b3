//! One node of the tree: a tick before which nothing below it falls due, in one atomic word.
//!
//! ```text
//! | tick 35 | raising 1 | tag 28 |
//! ```
//! *Raising* says that somebody is looking for a later tick, and that whoever files meanwhile must
//! cancel that. The *tag* changes with every move, so that a raise ends only if nothing has
//! happened to the node since it began. Tags wrap: for that to go unseen a raiser has to stall
//! while some 2^28 raises of the same tick are begun and none of them ends.
//!
//! It must never be lowered by a raise: see [`Node::finish`].

use crate::clock::{Deadline, LAST_TICK, Tick};
use crate::sync::{AtomicU64, Ordering, fence};

/// Nothing to look for: the end of the clock's range, seventeen years away.
pub(crate) const NEVER: Deadline = Deadline(u64::MAX >> TICK_SHIFT);

const TAG_BITS: u32 = 28;
const TAG_MASK: u64 = (1 << TAG_BITS) - 1;
const RAISING: u64 = 1 << TAG_BITS;
const TICK_SHIFT: u32 = TAG_BITS + 1;

// What falls due latest is a lease at the clock's end, after a late grace of ten years.
const _: () = assert!(LAST_TICK + LAST_TICK * 10 / 17 < NEVER.0);

/// One reading of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reading(u64);

impl Reading {
    const fn new(earliest: Deadline, raising: bool, tag: u64) -> Self {
        let tick = if earliest.0 < NEVER.0 { earliest.0 } else { NEVER.0 };
        let raising = if raising { RAISING } else { 0 };
        Self(tick << TICK_SHIFT | raising | tag & TAG_MASK)
    }

    /// Nothing below falls due before it.
    pub(super) const fn earliest(self) -> Deadline {
        Deadline(self.0 >> TICK_SHIFT)
    }

    /// Whether something below may be due.
    pub(super) fn is_due(self, now: Tick) -> bool {
        self.earliest() != NEVER && self.earliest().is_past(now)
    }

    const fn is_raising(self) -> bool {
        self.0 & RAISING != 0
    }

    /// Whether a look will come in time for `due`, whatever those do who are looking now.
    fn covers(self, due: Deadline) -> bool {
        !self.is_raising() && self.earliest() <= due
    }

    /// Lowered to `due` unless it is lower; a raise under way is cancelled.
    fn lowered_to(self, due: Deadline) -> Self {
        self.moved_to(self.earliest().min(due), false)
    }

    /// A raise begins. The tick stays, so that it hides nothing.
    const fn raising(self) -> Self {
        self.moved_to(self.earliest(), true)
    }

    /// A raise ends.
    fn raised_to(self, earliest: Deadline) -> Self {
        self.moved_to(self.earliest().max(earliest), false)
    }

    const fn moved_to(self, earliest: Deadline, raising: bool) -> Self {
        Self::new(earliest, raising, self.0.wrapping_add(1))
    }
}

/// One node.
#[derive(Debug)]
pub(super) struct Node(AtomicU64);

impl Node {
    /// A node that says *never*.
    pub(super) fn new() -> Self {
        Self(AtomicU64::new(Reading::new(NEVER, false, 0).0))
    }

    pub(super) fn read(&self) -> Reading {
        // [D1] `Acquire`: who sees a lowered tick sees what it was lowered for, a word or a child.
        // Pairs with [D2].
        Reading(self.0.load(Ordering::Acquire))
    }

    /// Makes sure that a look will come in time for `due`; true if this call moved the node.
    pub(super) fn lower(&self, due: Deadline) -> bool {
        let mut seen = self.read();
        // Ends: a failure means that another filer was through here, or that a raise began or
        // ended; and a raise begins but once until it ends or a filer cancels it.
        while !seen.covers(due) {
            match self.swap(seen, seen.lowered_to(due)) {
                Ok(()) => return true,
                Err(found) => seen = found,
            }
        }
        false
    }

    /// Begins a raise, or joins the one under way; nothing if the tick has not passed. The caller
    /// looks at everything below after this, and ends it by [`finish`](Self::finish).
    pub(super) fn begin(&self, now: Tick) -> Option<Reading> {
        let mut seen = self.read();
        // Ends: as in `lower`.
        while !seen.is_raising() {
            if !seen.is_due(now) {
                return None;
            }
            match self.swap(seen, seen.raising()) {
                Ok(()) => seen = seen.raising(),
                Err(found) => seen = found,
            }
        }
        // [D3] `SeqCst`: the node is being raised before anything below is read. Pairs with [D4]
        // and [D5]: the filer's fence came first, then what it published is seen below; or this one
        // came first, then the filer sees the raise, or its end. To join is as good as to begin:
        // who sees the raise is as far behind its beginning as who made it.
        fence(Ordering::SeqCst);
        seen.is_due(now).then_some(seen)
    }

    /// Ends the raise with the earliest deadline that was seen below; false if it was cancelled, or
    /// ended by another.
    ///
    /// It never lowers: what was filed below that is earlier than the tick has a filer who is on
    /// the way here. So between two filers the tick only rises, and whoever lowers a node visits
    /// its parent next.
    pub(super) fn finish(&self, begun: Reading, earliest: Deadline) -> bool {
        debug_assert!(begun.is_raising());
        self.swap(begun, begun.raised_to(earliest)).is_ok()
    }

    fn swap(&self, seen: Reading, to: Reading) -> Result<(), Reading> {
        // [D2] `AcqRel`: `Release` publishes the word or the child that a filer lowers for, and
        // keeps a raiser's looks before its end; `Acquire`, on failure too, since what was found
        // is judged like what [D1] read.
        self.0
            .compare_exchange(seen.0, to.0, Ordering::AcqRel, Ordering::Acquire)
            .map(|_| ())
            .map_err(Reading)
    }
}

#[cfg(all(test, not(lease_loom)))]
mod tests {
    use super::*;

    fn lowered(tick: u64) -> Node {
        let node = Node::new();
        assert!(node.lower(Deadline(tick)));
        node
    }

    #[test]
    fn never_is_not_due_even_at_the_end_of_the_range() {
        let node = Node::new();
        for now in [0, LAST_TICK - 1, LAST_TICK, u64::MAX] {
            assert!(!node.read().is_due(Tick(now)), "{now}");
            assert_eq!(node.begin(Tick(now)), None, "{now}");
        }
        assert!(!node.lower(NEVER), "never is covered by never");
        assert!(!node.lower(Deadline(u64::MAX)));
    }

    #[test]
    fn a_node_falls_due_at_its_tick_and_not_before() {
        for tick in [0, 1, 1 << 33, LAST_TICK - 1] {
            let node = lowered(tick);
            assert_eq!(node.read().earliest(), Deadline(tick));
            assert!(node.read().is_due(Tick(tick)));
            assert!(tick == 0 || !node.read().is_due(Tick(tick - 1)));
        }
    }

    #[test]
    fn only_an_earlier_deadline_moves_a_node() {
        let node = lowered(10);
        let before = node.read();
        assert!(!node.lower(Deadline(10)) && !node.lower(Deadline(11)));
        assert_eq!(node.read(), before);
        assert!(node.lower(Deadline(9)));
        assert_eq!(node.read().earliest(), Deadline(9));
    }

    #[test]
    fn a_raise_hides_nothing_until_it_ends() {
        let node = lowered(10);
        let begun = node.begin(Tick(10)).expect("due");
        assert!(node.read().is_due(Tick(10)));
        assert!(node.finish(begun, Deadline(20)));
        assert_eq!(node.read().earliest(), Deadline(20));
        assert_eq!(node.begin(Tick(19)), None);
    }

    #[test]
    fn a_later_deadline_cancels_a_raise_and_leaves_the_tick() {
        let node = lowered(10);
        let begun = node.begin(Tick(10)).expect("due");
        assert!(node.lower(Deadline(30)), "not covered: the raiser may have looked already");
        assert!(!node.finish(begun, Deadline(50)));
        assert_eq!(node.read().earliest(), Deadline(10));
    }

    #[test]
    fn two_raisers_share_one_raise_and_one_of_them_ends_it() {
        let node = lowered(10);
        let first = node.begin(Tick(10)).expect("due");
        let second = node.begin(Tick(12)).expect("due");
        assert_eq!(first, second);
        assert!(node.finish(second, Deadline(20)));
        assert!(!node.finish(first, Deadline(40)));
        assert_eq!(node.read().earliest(), Deadline(20));
    }

    #[test]
    fn a_raise_of_an_older_reading_is_not_joined_before_its_tick() {
        let node = lowered(10);
        assert!(node.begin(Tick(10)).is_some());
        assert_eq!(node.begin(Tick(9)), None);
    }

    #[test]
    fn a_raise_never_lowers() {
        let node = lowered(10);
        let begun = node.begin(Tick(10)).expect("due");
        assert!(node.finish(begun, Deadline(3)));
        assert_eq!(node.read().earliest(), Deadline(10));
    }

    #[test]
    fn a_raise_that_was_cancelled_stays_cancelled_when_another_begins() {
        let node = lowered(10);
        let first = node.begin(Tick(10)).expect("due");
        assert!(node.lower(Deadline(10)));
        let second = node.begin(Tick(10)).expect("due");
        assert_ne!(first, second);
        assert!(!node.finish(first, Deadline(40)));
        assert!(node.finish(second, Deadline(40)));
    }

    #[test]
    fn a_raise_to_beyond_the_range_ends_with_never() {
        let node = lowered(10);
        let begun = node.begin(Tick(10)).expect("due");
        assert!(node.finish(begun, Deadline(u64::MAX)));
        assert_eq!(node.read().earliest(), NEVER);
    }

    #[test]
    fn tags_wrap_and_leave_their_neighbours_alone() {
        let last = Reading::new(Deadline(7), false, TAG_MASK);
        let next = last.raising();
        assert_eq!(next, Reading::new(Deadline(7), true, 0));
        assert_eq!(next.lowered_to(Deadline(5)), Reading::new(Deadline(5), false, 1));
    }
}
