//! The index: a table of buckets that is made once and never grows.
//!
//! The module's page ([`super`]) has the protocol and why it is right; this file has its steps.

use std::io;

use super::bucket::{Bucket, Seen};
use super::digest::Sought;
use super::filter::Filter;
use super::header::{Header, Position};
use super::mapping::Zeros;
use super::prefetch::{prefetch, prefetch_words};
use super::sequence::{Home, Offset, SLOTS, Shape};
use super::{Claim, Found, Look, Slot};
use crate::config::Pages;
use crate::identity::Identity;
use crate::sync::AtomicU64;
use crate::word::{LeaseWord, Phase, Word};

#[cfg(feature = "validate")]
mod validate;

/// The table.
#[derive(Debug)]
pub(crate) struct Table {
    buckets: Zeros<Bucket>,
    shape: Shape,
}

/// What a complete look without a find has learnt: enough to claim a slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vacancy {
    header: Header,
    /// The designated slot's word, read before the look.
    designated: Word,
    /// How far the look went.
    looked: Offset,
    /// The first dead slot that it met.
    dead: Option<Position>,
    /// The farthest own identity that it met away from home, and the filter of all of them.
    reach: Offset,
    filter: Filter,
}

impl Vacancy {
    /// Whether no slot was claimed under this home since an earlier look: a claim is made under the
    /// header's designation alone, and uses it up.
    pub(super) fn is_as(&self, earlier: &Self) -> bool {
        self.header == earlier.header && self.designated == earlier.designated
    }
}

impl Table {
    /// A table for so many entries, all slots unused.
    ///
    /// # Errors
    ///
    /// The system's, if it does not give the memory.
    pub(crate) fn new(max_entries: usize, pages: Pages) -> io::Result<Self> {
        Self::shaped(Shape::new(max_entries), pages)
    }

    pub(super) fn shaped(shape: Shape, pages: Pages) -> io::Result<Self> {
        Ok(Self { buckets: Zeros::new(shape.buckets(), pages)?, shape })
    }

    /// Bytes of a table for so many entries.
    pub(crate) const fn bytes(max_entries: usize) -> usize {
        Shape::new(max_entries).buckets().saturating_mul(size_of::<Bucket>())
    }

    /// Slots of a table for so many entries.
    pub(crate) const fn slots_for(max_entries: usize) -> usize {
        Shape::new(max_entries).buckets().saturating_mul(SLOTS)
    }

    /// Buckets of a table for so many entries.
    pub(crate) const fn buckets_for(max_entries: usize) -> usize {
        Shape::new(max_entries).buckets()
    }

    /// The identity as this table looks for it.
    pub(crate) const fn sought(&self, identity: Identity) -> Sought {
        Sought::new(identity, self.shape)
    }

    /// Starts to fetch what a look for the identity reads first.
    #[inline]
    pub(crate) fn prefetch(&self, sought: &Sought) {
        prefetch(self.bucket(sought.home, Offset::HOME));
    }

    /// Starts to fetch the words of `count` buckets from `first`.
    pub(crate) fn prefetch_words(&self, first: usize, count: usize) {
        self.buckets.as_slice().iter().skip(first).take(count).for_each(prefetch_words);
    }

    #[inline]
    fn bucket(&self, home: Home, offset: Offset) -> &Bucket {
        &self.buckets.as_slice()[self.shape.bucket(home, offset)]
    }

    fn slot(&self, home: Home, position: Position) -> Slot {
        Slot::new(self.shape.bucket(home, position.offset), position.slot)
    }

    /// The identity's slot if it is at home and not pending. Enough for most duplicates: one
    /// digest, one word, no header. To find nothing means nothing.
    #[inline]
    pub(crate) fn glance(&self, sought: &Sought) -> Option<Found> {
        let bucket = self.bucket(sought.home, Offset::HOME);
        bucket.candidates(sought).find_map(|slot| {
            let word = bucket.holds(slot, sought).filter(|word| word.phase() != Phase::Pending)?;
            let position = Position { offset: Offset::HOME, slot };
            Some(Found { slot: self.slot(sought.home, position), word })
        })
    }

    /// Looks wherever the identity may be.
    #[inline]
    pub(crate) fn look(&self, sought: &Sought) -> Look {
        let home = self.bucket(sought.home, Offset::HOME);
        let header = home.header.read();
        // Before the slots: a claim under this designation that the look misses has changed it.
        let designated = self.word_at(sought.home, header.designated()).read();
        let seen = home.read();
        if let Some(found) = self.found(sought, Offset::HOME, home, &seen) {
            return Look::Found(found);
        }
        let vacancy = Vacancy {
            header,
            designated,
            looked: Offset::HOME,
            dead: seen.first_dead().map(|slot| Position { offset: Offset::HOME, slot }),
            // Of what is not looked at, what the header says still holds.
            reach: header.reach(),
            filter: header.filter(),
        };
        if header.filter().has(Filter::of(sought.low)) {
            return self.look_away(sought, vacancy);
        }
        Look::Vacant(vacancy)
    }

    /// Goes on where identities may be that are not at home. Apart, so that the others need not
    /// make room for it.
    #[inline(never)]
    fn look_away(&self, sought: &Sought, mut vacancy: Vacancy) -> Look {
        vacancy.looked = vacancy.header.reach();
        (vacancy.reach, vacancy.filter) = (Offset::HOME, Filter::NONE);
        for offset in vacancy.looked.up_to().skip(1) {
            let bucket = self.bucket(sought.home, offset);
            let seen = bucket.read();
            if let Some(found) = self.found(sought, offset, bucket, &seen) {
                return Look::Found(found);
            }
            if vacancy.dead.is_none() {
                vacancy.dead = seen.first_dead().map(|slot| Position { offset, slot });
            }
            let strays = seen.strays(offset);
            if strays != Filter::NONE {
                vacancy.reach = offset;
                vacancy.filter = vacancy.filter.with(strays);
            }
        }
        Look::Vacant(vacancy)
    }

    /// The identity's slot in one bucket.
    #[inline]
    fn found(
        &self,
        sought: &Sought,
        offset: Offset,
        bucket: &Bucket,
        seen: &Seen,
    ) -> Option<Found> {
        seen.candidates(sought).find_map(|slot| {
            let word = bucket.holds(slot, sought)?;
            Some(Found { slot: self.slot(sought.home, Position { offset, slot }), word })
        })
    }

    /// Claims a slot for an identity that a look has not found. `Claimed` is the linearization
    /// point of the grant of a key that had no slot.
    #[inline]
    pub(crate) fn claim(&self, sought: &Sought, vacancy: &Vacancy) -> Claim {
        let header = &self.bucket(sought.home, Offset::HOME).header;
        let own = Filter::of(sought.low);
        let (position, dead) = if vacancy.header.is_open(vacancy.designated) {
            let position = vacancy.header.designated();
            if !position.offset.is_home() && !vacancy.header.filter().has(own) {
                // Whoever looks for the identity must know before it is there.
                header.replace(vacancy.header, vacancy.header.admitting(own));
                return Claim::Lost;
            }
            (position, vacancy.designated)
        } else {
            let Some(position) = vacancy.dead.or_else(|| self.dead_beyond(sought, vacancy.looked))
            else {
                return Claim::NoSlot;
            };
            let dead = self.word_at(sought.home, position).read();
            if dead.phase() != Phase::Dead {
                return Claim::Lost;
            }
            let strays = if position.offset.is_home() { Filter::NONE } else { own };
            let next = vacancy.header.designating(
                position,
                dead,
                vacancy.reach.max(position.offset),
                vacancy.filter.with(strays),
            );
            if !header.replace(vacancy.header, next) {
                return Claim::Lost;
            }
            (position, dead)
        };
        let bucket = self.bucket(sought.home, position.offset);
        let cell = &bucket.words[position.slot];
        let Some(word) = cell.take(dead, position.offset.to_bits(), sought.stamp()) else {
            return Claim::Lost;
        };
        bucket.move_in(position.slot, sought);
        Claim::Claimed { pending: Found { slot: self.slot(sought.home, position), word }, dead }
    }

    /// A dead slot on the part of the sequence that was not looked at.
    fn dead_beyond(&self, sought: &Sought, looked: Offset) -> Option<Position> {
        looked.beyond().find_map(|offset| {
            let words = &self.bucket(sought.home, offset).words;
            let slot = words.iter().position(|word| word.read().phase() == Phase::Dead)?;
            Some(Position { offset, slot })
        })
    }

    fn word_at(&self, home: Home, position: Position) -> &LeaseWord {
        &self.bucket(home, position.offset).words[position.slot]
    }

    /// The counter that the identity's tokens come from.
    pub(crate) fn tokens(&self, sought: &Sought) -> &AtomicU64 {
        &self.bucket(sought.home, Offset::HOME).tokens
    }

    /// A slot's word; `None` for a number that no slot of this table has.
    #[inline]
    pub(crate) fn word(&self, slot: Slot) -> Option<&LeaseWord> {
        self.buckets.as_slice().get(slot.bucket())?.words.get(slot.within())
    }

    /// Whether a slot holds the identity.
    #[cfg(all(test, lease_loom))]
    pub(super) fn holds(&self, slot: Slot, sought: &Sought) -> bool {
        self.buckets.as_slice()[slot.bucket()].holds(slot.within(), sought).is_some()
    }

    /// The slots of `count` buckets from `first`, with their words in place.
    pub(crate) fn slots(
        &self,
        first: usize,
        count: usize,
    ) -> impl Iterator<Item = (Slot, &LeaseWord)> {
        let buckets = self.buckets.as_slice().iter().enumerate().skip(first).take(count);
        buckets.flat_map(|(number, bucket)| {
            let slot = move |(i, word)| (Slot::new(number, i), word);
            bucket.words.iter().enumerate().map(slot)
        })
    }
}
