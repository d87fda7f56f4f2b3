//! The stack of dead slots, for identities that have none.
//!
//! A dead slot stays reachable by its old identity, which may be granted in place while the slot is
//! on the stack. So being on the stack means nothing but "look here": who pops a slot must take its
//! word, and leaves it alone if it is alive. A slot is on the stack at most once.

use crossbeam_utils::CachePadded;

use super::Slot;
use super::under_way::UnderWay;
use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// Stripes of pushes under way, by slot. A power of two; arbitrary.
const PUSH_STRIPES: usize = if cfg!(lease_loom) { 1 } else { 16 };

/// A slot's place on the stack.
#[derive(Debug)]
struct Link {
    /// The slot below, plus one; zero at the bottom. Written by whoever pushes the slot.
    below: AtomicU32,
    /// 1 from just before the push to just after the pop.
    listed: AtomicU32,
}

/// A lock-free stack of slot numbers (R. K. Treiber 1986), with a tag against ABA.
#[derive(Debug)]
pub(crate) struct FreeSlots {
    /// Tag in the upper half, raised by every pop and push; slot plus one in the lower. Padded: all
    /// claimers and killers write it.
    top: CachePadded<AtomicU64>,
    /// Slots from here on were never used. Padded for the same reason.
    unused: CachePadded<AtomicU64>,
    links: Box<[Link]>,
    /// Pushes between their mark and their end, when nobody finds the slot.
    pushes: UnderWay,
}

impl FreeSlots {
    /// All slots are free and unused.
    pub(crate) fn new(count: usize) -> Self {
        let link = |_| Link { below: AtomicU32::new(0), listed: AtomicU32::new(0) };
        Self {
            top: CachePadded::new(AtomicU64::new(0)),
            unused: CachePadded::new(AtomicU64::new(0)),
            links: (0..count).map(link).collect(),
            pushes: UnderWay::new(PUSH_STRIPES),
        }
    }

    /// Lists a slot that was used. Already listed is fine, and so is one that lives again.
    pub(crate) fn push(&self, slot: Slot) {
        let Some(link) = self.links.get(slot.0 as usize) else { return };
        let _under_way = self.pushes.begin(slot.0 as usize);
        // [F1] `AcqRel`: one order of this swap and the one in `pop`. If this one sees 1, the pop's
        // comes later, sees it, and by it the killed word: the popper takes the slot or another
        // thread has. If the pop's came first, this one sees 0 and pushes. So no slot is lost.
        if link.listed.swap(1, Ordering::AcqRel) == 1 {
            return;
        }
        // [F2] `Relaxed`: the swap below checks it.
        let mut top = self.top.load(Ordering::Relaxed);
        loop {
            // [F3] `Relaxed`: published by [F4].
            link.below.store(top as u32, Ordering::Relaxed);
            // [F4] `Release`: `below` is written before the slot can be popped. Pairs with [F5]. On
            // failure `Relaxed`: we only try again. Ends: a failure means that another thread
            // pushed or popped.
            match self.top.compare_exchange(
                top,
                raised(top, u64::from(slot.0) + 1),
                Ordering::Release,
                Ordering::Relaxed,
            ) {
                Ok(_) => return,
                Err(now) => top = now,
            }
        }
    }

    /// Whether a push is under way.
    pub(super) fn is_listing(&self) -> bool {
        self.pushes.any()
    }

    /// Whether there was nothing to pop.
    pub(super) fn is_empty(&self) -> bool {
        // [F5] [F6] `Acquire`: as for a pop that finds nothing.
        self.top.load(Ordering::Acquire) as u32 == 0
            && self.unused.load(Ordering::Acquire) as usize >= self.links.len()
    }

    /// A slot that was dead when it was listed, or was never used.
    pub(crate) fn pop(&self) -> Option<Slot> {
        self.pop_listed().or_else(|| self.next_unused())
    }

    fn pop_listed(&self) -> Option<Slot> {
        // [F5] `Acquire`: the top's `below` is readable. Pairs with [F4].
        let mut top = self.top.load(Ordering::Acquire);
        loop {
            let slot = Slot((top as u32).checked_sub(1)?);
            let link = self.links.get(slot.0 as usize)?;
            // [F3] `Relaxed`: written before [F4]; if the slot has been popped and pushed since,
            // the tag has changed and the swap below fails.
            let below = link.below.load(Ordering::Relaxed);
            // [F5] `AcqRel`: `Release`, so that who finds no slot because of this pop sees the
            // claim that it is for ([K1]); `Acquire`, on failure too: the next top's `below` is
            // read. Ends as in `push`.
            match self.top.compare_exchange(
                top,
                raised(top, u64::from(below)),
                Ordering::AcqRel,
                Ordering::Acquire,
            ) {
                Ok(_) => {
                    // [F1] `AcqRel`: see `push`. Before the popper reads the slot's word.
                    link.listed.swap(0, Ordering::AcqRel);
                    return Some(slot);
                }
                Err(now) => top = now,
            }
        }
    }

    fn next_unused(&self) -> Option<Slot> {
        // [F6] `Acquire`, and `AcqRel` below, on failure `Acquire`: as in [F5], for [K1]. The slot
        // itself was never written.
        let mut unused = self.unused.load(Ordering::Acquire);
        // Ends: a failure means that another thread drew one.
        while (unused as usize) < self.links.len() {
            match self.unused.compare_exchange(
                unused,
                unused + 1,
                Ordering::AcqRel,
                Ordering::Acquire,
            ) {
                Ok(_) => return Some(Slot(unused as u32)),
                Err(now) => unused = now,
            }
        }
        None
    }
}

/// A top with another slot and the next tag.
const fn raised(top: u64, slot_plus_one: u64) -> u64 {
    ((top >> 32).wrapping_add(1) << 32) | slot_plus_one
}

#[cfg(all(test, not(lease_loom)))]
mod tests {
    use super::*;

    #[test]
    fn every_slot_comes_out_once_and_listed_ones_first() {
        let free = FreeSlots::new(3);
        assert_eq!(free.pop(), Some(Slot(0)));
        assert_eq!(free.pop(), Some(Slot(1)));
        free.push(Slot(0));
        free.push(Slot(1));
        free.push(Slot(0));
        let mut out: Vec<_> = std::iter::from_fn(|| free.pop()).map(|slot| slot.0).collect();
        assert_eq!(out, [1, 0, 2]);
        out.dedup();
        assert_eq!(free.pop(), None);
        free.push(Slot(2));
        assert_eq!(free.pop(), Some(Slot(2)));
    }

    #[test]
    fn a_top_that_went_and_came_back_is_not_the_same() {
        let free = FreeSlots::new(2);
        free.push(Slot(0));
        free.push(Slot(1));
        let seen = free.top.load(Ordering::Acquire);
        let slots = [free.pop(), free.pop()];
        assert_eq!(slots, [Some(Slot(1)), Some(Slot(0))]);
        free.push(Slot(1));
        assert_ne!(free.top.load(Ordering::Acquire), seen, "its link leads elsewhere by now");
    }

    #[test]
    fn threads_never_share_a_popped_slot() {
        let free = FreeSlots::new(4);
        let held: Vec<_> = (0..4).map(|_| AtomicU32::new(0)).collect();
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..20_000 {
                        let Some(slot) = free.pop() else { continue };
                        let held = &held[slot.0 as usize];
                        assert_eq!(held.swap(1, Ordering::AcqRel), 0);
                        held.store(0, Ordering::Release);
                        free.push(slot);
                    }
                });
            }
        });
        assert_eq!(std::iter::from_fn(|| free.pop()).count(), 4);
    }
}
