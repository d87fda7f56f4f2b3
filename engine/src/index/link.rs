//! A link of a chain: to which slot, whether its owner is leaving, and how often it has changed.
//!
//! ```text
//! | tag 31 | leaving 1 | slot + 1, or 0 at the chain's end 32 |
//! ```
//!
//! Every change of a link takes the next tag, so a link that reads the same twice did not change in
//! between (short of 2^31 changes). This is the only file that knows the bits.

use super::Slot;
use crate::sync::{AtomicU64, Ordering};

const LEAVING: u64 = 1 << 32;
const TAG_SHIFT: u32 = 33;

/// One reading of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link(u64);

impl Link {
    /// The next slot in the chain.
    pub(super) const fn next(self) -> Option<Slot> {
        match self.0 as u32 {
            0 => None,
            number => Some(Slot(number - 1)),
        }
    }

    /// Whether the link's owner is leaving the chain, or is in none.
    pub(super) const fn is_leaving(self) -> bool {
        self.0 & LEAVING != 0
    }

    const fn then(self, slot_plus_one: u64, leaving: u64) -> u64 {
        ((self.0 >> TAG_SHIFT).wrapping_add(1) << TAG_SHIFT) | leaving | slot_plus_one
    }
}

/// A link in place: a chain's head, or within a slot.
#[derive(Debug)]
pub(super) struct AtomicLink(AtomicU64);

impl AtomicLink {
    /// The head of an empty chain.
    pub(super) fn empty() -> Self {
        Self(AtomicU64::new(0))
    }

    /// The link of a slot that is in no chain.
    pub(super) fn outside() -> Self {
        Self(AtomicU64::new(LEAVING))
    }

    pub(super) fn read(&self) -> Link {
        // [L1] `Acquire`: the slot that the link leads to is readable: its identity and its own
        // link were written before. Pairs with [L2] and [L3]. Also keeps the checks of a walk in
        // order.
        Link(self.0.load(Ordering::Acquire))
    }

    /// Leads on to what another link leads to; false if this one has changed.
    pub(super) fn skip_to(&self, seen: Link, after: Link) -> bool {
        self.swap(seen, seen.then(after.0 & u64::from(u32::MAX), 0))
    }

    /// Leads to a slot; false if the link has changed.
    pub(super) fn lead_to(&self, seen: Link, slot: Slot) -> bool {
        self.swap(seen, seen.then(u64::from(slot.0) + 1, 0))
    }

    /// Marks that the link's owner leaves its chain; false if the link has changed.
    pub(super) fn leave(&self, seen: Link) -> bool {
        self.swap(seen, seen.then(seen.0 & u64::from(u32::MAX), LEAVING))
    }

    /// Prepares a slot that is in no chain to lead to what `after` leads to.
    pub(super) fn prepare(&self, after: Link) {
        self.put(self.own().then(after.0 & u64::from(u32::MAX), 0));
    }

    /// Marks a prepared slot that entered no chain.
    pub(super) fn stay_outside(&self) {
        self.put(self.own().then(0, LEAVING));
    }

    /// The link of a slot that only the caller writes.
    fn own(&self) -> Link {
        // [L4] `Relaxed`: the caller's own thread, or one that handed the slot over through its
        // word ([W2]), wrote it last.
        Link(self.0.load(Ordering::Relaxed))
    }

    fn put(&self, link: u64) {
        // [L3] `Release`: the slot left its former chain before its link changes, so a walk that
        // reads the new link here finds that the way to it has changed. Pairs with [L1].
        self.0.store(link, Ordering::Release);
    }

    fn swap(&self, seen: Link, new: u64) -> bool {
        // [L2] `AcqRel`: `Release` publishes the slot that is linked in; `Acquire` orders what a
        // leaving slot's claimer writes after the slot has left. Pairs with [L1]. On failure
        // `Relaxed`: the walk starts again.
        self.0.compare_exchange(seen.0, new, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }
}

#[cfg(all(test, not(lease_loom)))]
mod tests {
    use super::*;

    #[test]
    fn every_change_takes_a_new_tag() {
        let link = AtomicLink::empty();
        let empty = link.read();
        assert_eq!((empty.next(), empty.is_leaving()), (None, false));
        assert!(link.lead_to(empty, Slot(0)));
        let led = link.read();
        assert_eq!(led.next(), Some(Slot(0)));
        assert!(link.skip_to(led, empty));
        assert_eq!(link.read().next(), None);
        assert_ne!(link.read(), empty);
        assert!(!link.lead_to(empty, Slot(1)), "it leads to the same and is not the same");
    }

    #[test]
    fn who_leaves_still_leads_on() {
        let link = AtomicLink::outside();
        assert!(link.read().is_leaving());
        let head = AtomicLink::empty();
        assert!(head.lead_to(head.read(), Slot(u32::MAX - 1)));
        link.prepare(head.read());
        let inside = link.read();
        assert_eq!((inside.next(), inside.is_leaving()), (Some(Slot(u32::MAX - 1)), false));
        assert!(link.leave(inside));
        assert_eq!((link.read().next(), link.read().is_leaving()), (inside.next(), true));
        link.stay_outside();
        assert_eq!((link.read().next(), link.read().is_leaving()), (None, true));
    }
}
