//! The first index: hash chains through slots that stay in place.
//!
//! Each chain is a list sorted by identity, after M. Michael, "High Performance Dynamic Lock-Free
//! Hash Tables and List-Based Sets" (SPAA 2002), with tags in the links instead of reclamation:
//! slots are never freed, so a walk may read one that has moved on, and finds out because the way
//! to it has changed.
//!
//! # Walking
//! At each slot: read its link, its word and its identity, then check that the link *to* it is
//! still the one that was followed. If so, the slot was in this chain all the while, and its
//! identity was this one. If not, start again: another thread linked or unlinked a slot.
//!
//! # Leaving
//! A slot leaves in three steps: its word changes hands, its own link is marked, the link to it is
//! led past it. Whoever meets a slot in the first or second state does the next step, so nobody
//! waits. Only the claimer that took the word may use the slot again, and only when it is out.

use super::cell::Cell;
use super::free::FreeSlots;
use super::link::{AtomicLink, Link};
use super::under_way::UnderWay;
use super::{Claim, Found, Index, Slot};
use crate::clock::Deadline;
use crate::identity::Identity;
use crate::word::{LeaseWord, Phase, Word};

/// Stripes of claims, by identity. A power of two; arbitrary: many enough that strangers seldom
/// meet.
const CLAIM_STRIPES: usize = if cfg!(lease_loom) { 2 } else { 256 };

/// The index.
pub(crate) struct ChainIndex {
    /// As many as slots, rounded up to a power of two: a chain has one slot on average, or less.
    heads: Box<[AtomicLink]>,
    cells: Box<[Cell]>,
    free: FreeSlots,
    claims: UnderWay,
}

/// Where a walk ended: the first slot whose identity is not below the one sought.
struct Landing<'a> {
    /// The link to it, where a new slot would be linked in.
    way: &'a AtomicLink,
    seen: Link,
    found: Option<Found>,
}

impl ChainIndex {
    /// An index with `count` slots, at most [`MAX_ENTRIES`](crate::MAX_ENTRIES).
    pub(crate) fn new(count: usize) -> Self {
        Self {
            heads: (0..count.next_power_of_two()).map(|_| AtomicLink::empty()).collect(),
            cells: (0..count).map(|_| Cell::new()).collect(),
            free: FreeSlots::new(count),
            claims: UnderWay::new(CLAIM_STRIPES),
        }
    }

    fn head(&self, identity: Identity) -> &AtomicLink {
        &self.heads[identity.stripe(self.heads.len())]
    }

    /// Walks the identity's chain. Ends: a new start means that another thread linked, marked or
    /// unlinked a slot, or that this one did one of its steps.
    fn walk(&self, identity: Identity) -> Landing<'_> {
        loop {
            if let Some(landing) = self.walk_once(identity) {
                return landing;
            }
        }
    }

    fn walk_once(&self, identity: Identity) -> Option<Landing<'_>> {
        let mut way = self.head(identity);
        let mut seen = way.read();
        loop {
            let Some(slot) = seen.next() else {
                return Some(Landing { way, seen, found: None });
            };
            let cell = self.cells.get(slot.0 as usize)?;
            let onward = cell.link.read();
            let word = cell.word.read();
            let holds = cell.identity();
            if way.read() != seen {
                return None;
            }
            if onward.is_leaving() {
                way.skip_to(seen, onward);
                return None;
            }
            if word.changes_hands() {
                cell.link.leave(onward);
                return None;
            }
            if holds.to_bits() >= identity.to_bits() {
                let found = (holds == identity).then_some(Found { slot, word });
                return Some(Landing { way, seen, found });
            }
            (way, seen) = (&cell.link, onward);
        }
    }

    /// Takes a dead slot from whatever identity it held, and out of its chain.
    fn take_any(&self) -> Option<(Slot, &Cell, Word)> {
        // Ends: a slot that could not be taken was granted by another thread meanwhile, and is off
        // the stack.
        loop {
            let slot = self.free.pop()?;
            let cell = self.cells.get(slot.0 as usize)?;
            let mut word = cell.word.read();
            while word.phase() == Phase::Dead {
                if let Some(pending) = cell.word.take_from_its_identity(word) {
                    self.take_out(cell);
                    return Some((slot, cell, pending));
                }
                word = cell.word.read();
            }
        }
    }

    /// Takes a slot whose word changes hands out of its chain, if it is in one.
    fn take_out(&self, cell: &Cell) {
        // Ends: a failed mark means that another thread marked it, or moved what it leads to.
        loop {
            let link = cell.link.read();
            if link.is_leaving() || cell.link.leave(link) {
                break;
            }
        }
        // A walk past the place where it was leads every link past it.
        self.walk(cell.identity());
    }

    /// Links a slot in, unless its identity is in the chain already.
    fn enter(&self, identity: Identity, slot: Slot, cell: &Cell) -> bool {
        // Ends: a failed link means that another thread changed this place.
        loop {
            let landing = self.walk(identity);
            if landing.found.is_some() {
                cell.link.stay_outside();
                return false;
            }
            cell.link.prepare(landing.seen);
            // The linearization point of a grant of a key without a slot.
            if landing.way.lead_to(landing.seen, slot) {
                return true;
            }
        }
    }
}

impl Index for ChainIndex {
    fn find(&self, identity: Identity) -> Option<Found> {
        self.walk(identity).found
    }

    fn claim(&self, identity: Identity, deadline: Deadline) -> Claim {
        if self.free.is_empty() {
            // Not counted: it hides nothing, and rivals at a full store would wait for each other.
            return Claim::NoSlot;
        }
        let _under_way = self.claims.begin(identity.stripe(CLAIM_STRIPES));
        let Some((slot, cell, pending)) = self.take_any() else {
            return Claim::NoSlot;
        };
        cell.move_in(identity);
        let pending = cell.word.settle_in(pending, deadline);
        if self.enter(identity, slot, cell) {
            return Claim::Claimed(Found { slot, word: pending });
        }
        cell.word.abandon(pending);
        self.free.push(slot);
        Claim::Lost
    }

    fn is_claimed(&self, identity: Identity) -> bool {
        self.claims.any_in(identity.stripe(CLAIM_STRIPES))
    }

    fn is_listing(&self) -> bool {
        self.free.is_listing()
    }

    fn free(&self, slot: Slot) {
        self.free.push(slot);
    }

    fn word(&self, slot: Slot) -> Option<&LeaseWord> {
        self.cells.get(slot.0 as usize).map(|cell| &cell.word)
    }

    fn slots(&self) -> impl Iterator<Item = (Slot, Word)> {
        self.cells.iter().zip(0..).map(|(cell, number)| (Slot(number), cell.word.read()))
    }
}

#[cfg(all(test, not(lease_loom)))]
mod tests {
    use super::*;

    const SOON: Deadline = Deadline(9);

    /// Identities of one chain, since chains are chosen by the upper half.
    fn identity(bits: u128) -> Identity {
        Identity::from_bits(bits)
    }

    fn claimed(index: &ChainIndex, bits: u128) -> Found {
        match index.claim(identity(bits), SOON) {
            Claim::Claimed(found) => found,
            other => panic!("{other:?}"),
        }
    }

    fn publish(index: &ChainIndex, found: Found) -> Word {
        index.word(found.slot).expect("a slot of this index").publish(found.word)
    }

    fn kill(index: &ChainIndex, slot: Slot, word: Word) {
        assert!(index.word(slot).expect("a slot of this index").kill(word).is_some());
        index.free(slot);
    }

    #[test]
    fn a_claimed_identity_is_found_pending_then_in_flight() {
        let index = ChainIndex::new(1);
        assert!(index.find(identity(1)).is_none());
        let found = claimed(&index, 1);
        assert_eq!(index.find(identity(1)).map(|f| f.word), Some(found.word));
        let lease = publish(&index, found);
        assert_eq!(index.find(identity(1)).map(|f| f.word), Some(lease));
        assert!(matches!(index.claim(identity(2), SOON), Claim::NoSlot));
    }

    #[test]
    fn a_second_claim_of_one_identity_is_lost_and_gives_its_slot_back() {
        let index = ChainIndex::new(2);
        let found = claimed(&index, 1);
        assert!(matches!(index.claim(identity(1), SOON), Claim::Lost));
        assert_eq!(index.find(identity(1)).map(|f| f.slot), Some(found.slot));
        claimed(&index, 2);
    }

    #[test]
    fn a_dead_slot_keeps_its_identity_until_another_needs_it() {
        let index = ChainIndex::new(1);
        let found = claimed(&index, 1);
        let lease = publish(&index, found);
        kill(&index, found.slot, lease);
        assert_eq!(index.find(identity(1)).map(|f| f.word.phase()), Some(Phase::Dead));
        let other = claimed(&index, 2);
        assert_eq!(other.slot, found.slot);
        assert!(index.find(identity(1)).is_none());
        assert!(index.find(identity(2)).is_some());
    }

    #[test]
    fn a_listed_slot_that_lives_again_is_left_alone() {
        let index = ChainIndex::new(1);
        let found = claimed(&index, 1);
        let lease = publish(&index, found);
        kill(&index, found.slot, lease);
        let word = index.word(found.slot).expect("a slot of this index");
        let again = word.publish(word.take(word.read(), SOON).expect("nobody else moves it"));
        assert!(matches!(index.claim(identity(2), SOON), Claim::NoSlot));
        assert_eq!(index.find(identity(1)).map(|f| f.word), Some(again));
        kill(&index, found.slot, again);
        claimed(&index, 2);
    }

    #[test]
    fn one_chain_keeps_its_order_whatever_comes_and_goes() {
        let index = ChainIndex::new(5);
        let found: Vec<_> = [3, 1, 5, 2, 4].map(|bits| claimed(&index, bits)).into();
        for (found, bits) in found.iter().zip([3, 1, 5, 2, 4]) {
            assert_eq!(index.find(identity(bits)).map(|f| f.slot), Some(found.slot));
        }
        for leaver in [1, 2, 0] {
            let lease = publish(&index, found[leaver]);
            kill(&index, found[leaver].slot, lease);
        }
        claimed(&index, 0);
        claimed(&index, 6);
        assert!(index.find(identity(3)).is_none() && index.find(identity(5)).is_none());
        let kept = [0, 1, 2, 4, 6].map(|bits| index.find(identity(bits)).is_some());
        assert_eq!(kept, [true; 5]);
    }
}
