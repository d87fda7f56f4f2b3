//! A home's header: which slot its next insert must use, and how far its identities have strayed.
//!
//! ```text
//! | overflow filter 16 | version 13 | generation 24 | reach 4 | offset 4 | slot 3 |
//! ```
//!
//! Slot, offset and generation *designate*: an insert under this home is made by a swap of that
//! slot's word from dead with that generation, and by nothing else. Reach is the farthest offset at
//! which an identity of this home may be. This is the only file that knows the bits. A header of
//! zeros designates the home's first slot, which was never used.

use super::filter::Filter;
use super::sequence::Offset;
use crate::sync::{AtomicU64, Ordering};
use crate::word::{Generation, Phase, Word};

const OFFSET_SHIFT: u32 = 3;
const REACH_SHIFT: u32 = 7;
const GENERATION_SHIFT: u32 = 11;
const VERSION_SHIFT: u32 = 35;
const FILTER_SHIFT: u32 = 48;
const VERSION_MASK: u64 = (1 << (FILTER_SHIFT - VERSION_SHIFT)) - 1;

const _: () = assert!(super::sequence::SLOTS <= 1 << OFFSET_SHIFT);
const _: () = assert!(super::sequence::OFFSETS <= 1 << (REACH_SHIFT - OFFSET_SHIFT));
const _: () = assert!(GENERATION_SHIFT + Generation::BITS == VERSION_SHIFT);

/// A slot as its home sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) offset: Offset,
    /// Which slot of that bucket.
    pub(super) slot: usize,
}

/// One reading of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header(u64);

impl Header {
    /// The designated slot.
    pub(super) const fn designated(self) -> Position {
        Position { offset: Offset::from_bits(self.0 >> OFFSET_SHIFT), slot: (self.0 & 7) as usize }
    }

    /// Whether an insert may still use the designated slot, by its word.
    pub(super) fn is_open(self, word: Word) -> bool {
        let generation = Generation::from_bits((self.0 >> GENERATION_SHIFT) as u32);
        word.phase() == Phase::Dead && word.generation() == generation
    }

    /// The farthest offset at which an identity of this home may be.
    pub(super) const fn reach(self) -> Offset {
        Offset::from_bits(self.0 >> REACH_SHIFT)
    }

    /// Which identities may be away from home.
    pub(super) const fn filter(self) -> Filter {
        Filter::from_bits((self.0 >> FILTER_SHIFT) as u16)
    }

    /// The same with more bits in the filter.
    pub(super) const fn admitting(self, filter: Filter) -> Self {
        Self(self.versioned() | (filter.to_bits() as u64) << FILTER_SHIFT)
    }

    /// Designates a slot by its dead word.
    pub(super) const fn designating(
        self,
        position: Position,
        dead: Word,
        reach: Offset,
        filter: Filter,
    ) -> Self {
        let version = self.versioned() & (VERSION_MASK << VERSION_SHIFT);
        Self(
            (filter.to_bits() as u64) << FILTER_SHIFT
                | version
                | (dead.generation().to_bits() as u64) << GENERATION_SHIFT
                | reach.to_bits() << REACH_SHIFT
                | position.offset.to_bits() << OFFSET_SHIFT
                | position.slot as u64,
        )
    }

    /// The same with the next version, so that no header comes back while somebody sleeps over it.
    const fn versioned(self) -> u64 {
        let next = (self.0 >> VERSION_SHIFT).wrapping_add(1) & VERSION_MASK;
        self.0 & !(VERSION_MASK << VERSION_SHIFT) | next << VERSION_SHIFT
    }
}

/// A header in place.
#[derive(Debug)]
pub(super) struct AtomicHeader(AtomicU64);

impl AtomicHeader {
    /// For models, which cannot have memory of zeros.
    #[cfg(lease_loom)]
    pub(super) fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    pub(super) fn read(&self) -> Header {
        // [H1] `Acquire`: every claim that was made under earlier designations is seen by the look
        // that follows. Pairs with [H2].
        Header(self.0.load(Ordering::Acquire))
    }

    /// Replaces a header; false if it has changed.
    pub(super) fn replace(&self, seen: Header, new: Header) -> bool {
        // [H2] `AcqRel`: `Release` publishes what the caller has seen: that the former designation
        // was used, and by whom. Pairs with [H1]. On failure `Relaxed`: the caller looks again.
        self.0.compare_exchange(seen.0, new.0, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }
}

#[cfg(all(test, not(lease_loom)))]
mod tests {
    use super::*;
    use crate::word::{LeaseWord, Stamp};

    fn position(offset: u64, slot: usize) -> Position {
        Position { offset: Offset::from_bits(offset), slot }
    }

    #[test]
    fn a_header_of_zeros_designates_a_slot_that_was_never_used() {
        let (header, word) = (Header(0), LeaseWord::new());
        assert_eq!(header.designated(), position(0, 0));
        assert!(header.is_open(word.read()));
        assert_eq!((header.reach(), header.filter()), (Offset::HOME, Filter::NONE));
    }

    #[test]
    fn every_field_is_read_as_it_was_written_and_leaves_its_neighbours_alone() {
        let word = LeaseWord::new();
        let taken = word.take(word.read(), 0, Stamp::of(7)).expect("nobody else moves it");
        let lease = word.publish(taken, crate::clock::Deadline(9));
        let dead = word.kill(lease, || crate::clock::Tick(1)).expect("nobody else moves it");
        let filter = Filter::of(0).with(Filter::of(15));
        let mut header = Header(u64::MAX);
        for _ in 0..3 {
            header = header.designating(position(15, 4), dead, Offset::from_bits(9), filter);
            assert_eq!(header.designated(), position(15, 4));
            assert_eq!((header.reach(), header.filter()), (Offset::from_bits(9), filter));
            assert!(header.is_open(dead) && !header.is_open(lease));
            assert!(!header.is_open(LeaseWord::new().read()), "an earlier generation");
        }
        let more = header.admitting(Filter::of(3));
        assert!(more.filter().has(Filter::of(3)) && more.filter().has(filter));
        assert_eq!((more.designated(), more.reach()), (header.designated(), header.reach()));
    }

    #[test]
    fn no_header_comes_back_by_the_same_designation() {
        let (word, header) = (LeaseWord::new().read(), AtomicHeader(AtomicU64::new(0)));
        let first = header.read();
        let same =
            |header: Header| header.designating(position(0, 0), word, Offset::HOME, Filter::NONE);
        assert!(header.replace(first, same(first)));
        assert_ne!(header.read(), first);
        assert!(!header.replace(first, same(first)));
    }
}
