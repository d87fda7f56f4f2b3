//! From an identity to its slot, without locks, allocation or growth.
//!
//! # The table
//! A fixed table of [buckets](bucket) of five slots. A slot has a [word](crate::word) and 96 bits
//! of the identity that it holds or held. An identity has a *home* bucket, where most stay, and a
//! [probe sequence](sequence) beyond it for the rest.
//!
//! ```text
//!                   home             pair                    far
//! identity --> | h | K  .  d  X  Y |   | h | Z  .  .  .  . |   ...   | h | .  K' .  .  . |
//!                |        ^
//!                +--------+ designates the slot that the next insert must use (d: a dead one)
//! ```
//!
//! # States of a slot
//! ```text
//!            claim (another identity)              publish
//!   Dead  ---------------------------> Pending -------------> InFlight --> Committed
//!    ^  |     take (the same one)       ^  stamp of the          |            |
//!    |  +-------------------------------+  digest shown          +- take, when expired
//!    +------------------------------------- kill -----------------------------+
//! ```
//! A dead slot keeps its identity, so the same key finds it and is granted in place. A slot is
//! claimed for another identity only while it is dead; then its generation rises, its word shows a
//! stamp of the new digest, and the digest is written while it is pending. Who meets a pending slot
//! compares stamps: equal, it is this identity (wrong once in 2^34, for some nanoseconds, and then
//! only *in flight* is said); different, it is certainly another.
//!
//! # Inserting
//! Two inserts of one identity must not both win, though they may see different dead slots. So each
//! [home's header](header) *designates* one slot, by (offset, slot, generation):
//!
//! 1. Read the header, then the designated slot's word, then look through the home, and as far as
//!    the header's reach if the [filter] has the identity's bit.
//! 2. If the designation is *used* (the word is not dead with that generation any more), replace
//!    the header by one that designates a dead slot: with its generation, the new reach, and the
//!    filter of what was seen.
//! 3. If the designated slot is away from home, the identity's bit must be in the filter first.
//! 4. Swap the designated slot's word from exactly what was read to pending. **That is the
//!    linearization point of a grant of a key that had no slot.** Any failure: start again.
//!
//! # Uniqueness
//! A header leaves a designation only after somebody saw it used, and no (slot, generation) comes
//! back. So claims under one home are in one order: a claim happens while its designation stands,
//! and the next designation is made by a thread that saw the claim, or that saw the slot taken by
//! somebody else, in which case no claim under this designation succeeds any more. A look that read
//! a header therefore sees every claim under earlier designations (tags H1 and H2), and a claim
//! under the same designation makes its own claim fail, since both swap the same word from the same
//! value. What was seen may have died since, and live again by a take in place: then it is found in
//! the place where it was seen. Hence at most one slot holds an identity, from its claim until the
//! slot is claimed for another.
//!
//! Reach and filter count dead slots too, or an identity could be granted in place far away and
//! inserted at home. They are replaced only together with a used designation, by a thread that has
//! looked as far as the old reach, or that keeps what it has not looked at.
//!
//! # Wrapping
//! A generation has 24 bits. A thread that stalls between its reading and its swap is fooled only
//! if the word comes back exactly. A dead word has, beside its generation, the deadline of its last
//! grant or the tick at which it was retired: times that go on. So 2^24 grants of one slot would
//! have to happen within one tick, 2 ns each, or with a TTL that is shorter by just the time that
//! the former 2^24 grants took, to 32 ms. A header has a version of its own on top.
//!
//! # What it must never do
//! Decide whether a lease may be granted, or know the time: that is `memory`'s.

mod bucket;
mod digest;
mod filter;
mod fingerprints;
mod header;
#[cfg(all(test, lease_loom))]
mod loom_tests;
mod mapping;
mod outcomes;
mod prefetch;
mod sequence;
mod side;
mod table;
#[cfg(all(test, not(lease_loom)))]
mod tests;

pub(crate) use digest::Sought;
pub(crate) use fingerprints::Fingerprints;
pub(crate) use outcomes::{NotPut, Outcomes};
use sequence::SLOTS;
pub(crate) use table::{Table, Vacancy};

use crate::word::Word;

/// Number of a slot: the buckets' slots in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot(pub(crate) u32);

impl Slot {
    pub(crate) const fn new(bucket: usize, slot: usize) -> Self {
        Self((bucket * SLOTS + slot) as u32)
    }

    pub(crate) const fn bucket(self) -> usize {
        self.0 as usize / SLOTS
    }

    /// Which slot of its bucket.
    const fn within(self) -> usize {
        self.0 as usize - self.bucket() * SLOTS
    }
}

/// An identity's slot and its word, which belonged together at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) slot: Slot,
    pub(crate) word: Word,
}

/// The answer to a look.
#[derive(Debug)]
pub(crate) enum Look {
    /// The slot that holds the identity, be its word dead or alive, or that is being given to it.
    Found(Found),
    /// None does.
    Vacant(Vacancy),
}

impl Look {
    /// Whether nothing has happened to the identity since an earlier look: it had the same slot
    /// with the same word all the time, or none.
    pub(crate) fn is_as(&self, earlier: &Self) -> bool {
        match (self, earlier) {
            (Self::Found(now), Self::Found(then)) => now == then,
            (Self::Vacant(now), Self::Vacant(then)) => now.is_as(then),
            _ => false,
        }
    }
}

/// The answer to a claim.
#[derive(Debug)]
pub(crate) enum Claim {
    /// The slot is the identity's, and the caller's to publish. `dead` is what its word was.
    Claimed { pending: Found, dead: Word },
    /// Another thread was first, or the header had to be changed: look again.
    Lost,
    /// No slot of the sequence is dead.
    NoSlot,
}
