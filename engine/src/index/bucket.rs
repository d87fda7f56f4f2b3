//! A bucket: 128 bytes, two cache lines that are fetched side by side.
//!
//! ```text
//! line 0 | header 8 | token counter 8 | words 5 x 8 | spare 8 |
//! line 1 | digests, low halves 5 x 8 | digests, high quarters 5 x 4 | spare 4 |
//! ```
//!
//! What moves with every grant is in line 0, what a slot holds in line 1: a key that is granted
//! again and again leaves the second line alone, and a sweep reads the first alone. Only integers,
//! so that memory of zeros is a table of buckets that were never used.
//!
//! # Reading a slot
//! A digest changes only while its word is pending, so (word, digest, same word) belong together. A
//! pending word shows a stamp of the digest that is being written.

use super::digest::Sought;
use super::filter::Filter;
use super::header::AtomicHeader;
use super::mapping::FromZeros;
use super::sequence::{Offset, SLOTS};
use crate::sync::{AtomicU32, AtomicU64, Ordering};
use crate::word::{LeaseWord, Phase, Word};

/// One bucket.
#[derive(Debug)]
#[cfg_attr(not(lease_loom), repr(C, align(128)))]
pub(super) struct Bucket {
    pub(super) header: AtomicHeader,
    /// Grants of identities that have their home here.
    pub(super) tokens: AtomicU64,
    pub(super) words: [LeaseWord; SLOTS],
    #[cfg(not(lease_loom))]
    spare: u64,
    /// Written only while the slot's word is pending, by the thread that took it; as `highs`.
    lows: [AtomicU64; SLOTS],
    highs: [AtomicU32; SLOTS],
}

#[cfg(not(lease_loom))]
const _: () = assert!(size_of::<Bucket>() == 128 && std::mem::offset_of!(Bucket, lows) == 64);

// SAFETY: integers alone, of which those that change are atomic; 128 divides a page.
unsafe impl FromZeros for Bucket {
    #[cfg(lease_loom)]
    fn zero() -> Self {
        Self {
            header: AtomicHeader::new(),
            tokens: AtomicU64::new(0),
            words: std::array::from_fn(|_| LeaseWord::new()),
            lows: std::array::from_fn(|_| AtomicU64::new(0)),
            highs: std::array::from_fn(|_| AtomicU32::new(0)),
        }
    }
}

impl Bucket {
    /// The low half of a slot's digest, to be believed only with its word.
    #[inline]
    fn low(&self, slot: usize) -> u64 {
        // [I1] `Acquire`: who reads a new digest sees its word pending, or later. Pairs with [I2].
        self.lows[slot].load(Ordering::Acquire)
    }

    /// The slots whose digest may be the one sought, by the digests alone.
    #[inline]
    pub(super) fn candidates(&self, sought: &Sought) -> Slots {
        Slots::that(|slot| self.low(slot) == sought.low)
    }

    /// Reads every slot: its word, then its digest, so that a digest is at least as new as its
    /// word.
    #[inline]
    pub(super) fn read(&self) -> Seen {
        let mut seen = Seen { words: [Word::from_bits(0); SLOTS], lows: [0; SLOTS] };
        for slot in 0..SLOTS {
            seen.words[slot] = self.words[slot].read();
            seen.lows[slot] = self.low(slot);
        }
        seen
    }

    /// The slot's word if the slot holds the identity, or is being given to it.
    #[inline]
    pub(super) fn holds(&self, slot: usize, sought: &Sought) -> Option<Word> {
        let cell = &self.words[slot];
        let mut word = cell.read();
        // Ends: each turn means that another thread moved the word.
        loop {
            if word.phase() == Phase::Pending {
                return (word.stamp() == sought.stamp()).then_some(word);
            }
            let low = self.low(slot);
            // [I1] `Acquire`: see `low`.
            let high = self.highs[slot].load(Ordering::Acquire);
            let again = cell.read();
            if again == word {
                let held = low == sought.low && high == sought.high && !word.was_never_used();
                return held.then_some(word);
            }
            word = again;
        }
    }

    /// A slot's whole digest.
    #[cfg(feature = "validate")]
    pub(super) fn digest(&self, slot: usize) -> (u64, u32) {
        // [I1] `Acquire`: see `low`.
        (self.low(slot), self.highs[slot].load(Ordering::Acquire))
    }

    /// Gives a slot whose word the caller took to an identity.
    pub(super) fn move_in(&self, slot: usize, sought: &Sought) {
        // [I2] `Release`: the word was taken before its digest changes. Pairs with [I1].
        self.lows[slot].store(sought.low, Ordering::Release);
        self.highs[slot].store(sought.high, Ordering::Release);
    }
}

/// One reading of a bucket's slots.
#[derive(Debug)]
pub(super) struct Seen {
    words: [Word; SLOTS],
    lows: [u64; SLOTS],
}

impl Seen {
    /// The slots that may hold the identity, or may be being given to it.
    #[inline]
    pub(super) fn candidates(&self, sought: &Sought) -> Slots {
        Slots::that(|slot| {
            let pending = self.words[slot].phase() == Phase::Pending;
            pending | (self.lows[slot] == sought.low)
        })
    }

    #[inline]
    pub(super) fn first_dead(&self) -> Option<usize> {
        Slots::that(|slot| self.words[slot].phase() == Phase::Dead).next()
    }

    /// The filter of those that are so far from their home. Dead ones too, since they may be
    /// granted again in place. It may be another home's, as far from it: then the filter says a
    /// little too much. The digest of a pending one is not known yet.
    pub(super) fn strays(&self, offset: Offset) -> Filter {
        let strayed = Slots::that(|slot| {
            let word = self.words[slot];
            !word.was_never_used() && word.offset() == offset.to_bits()
        });
        strayed.fold(Filter::NONE, |filter, slot| {
            let pending = self.words[slot].phase() == Phase::Pending;
            filter.with(if pending { Filter::ALL } else { Filter::of(self.lows[slot]) })
        })
    }
}

/// Some slots of a bucket, in order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slots(u32);

impl Slots {
    #[inline]
    fn that(are: impl Fn(usize) -> bool) -> Self {
        Self((0..SLOTS).fold(0, |mask, slot| mask | u32::from(are(slot)) << slot))
    }
}

impl Iterator for Slots {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        let slot = self.0.trailing_zeros() as usize;
        self.0 &= self.0.wrapping_sub(1);
        (slot < SLOTS).then_some(slot)
    }
}
