//! From an identity to its entry.
//!
//! # Slots
//! There are as many slots as the bound allows entries, allocated once. A slot has a
//! [`LeaseWord`], the identity that it holds, and side arrays for what only
//! some entries have: a fingerprint, an outcome.
//!
//! # Finding
//! Hash chains lead from an identity to its slot, through links in the slots themselves: nothing is
//! allocated after construction, and no chain is longer than its keys ([`chains`] has the walk).
//!
//! # Claiming
//! A dead slot keeps its identity, so the same key finds it and is granted in place: a key that is
//! retried over and over costs no change of any chain. Only when another key needs the slot does it
//! *change hands*: the claimer takes the word, takes the slot out of its chain, gives it the new
//! identity, and links it in. **That link is the linearization point of a grant of a key that had
//! no slot**: it succeeds for one of several claimers, and the others give their slots back.
//!
//! # Uniqueness
//! A chain is sorted, so an identity has one place in it, and it is linked in only there, by a swap
//! of the very link that was seen to have no such slot behind it. A slot leaves an identity only
//! through a word that says so (`changes_hands`); who meets that word takes the slot out and looks
//! again. So at any moment at most one slot can be granted for an identity.
//!
//! ```text
//! head --> slot 7 (id 12) --> slot 3 (id 40) --> end        sought 25: between 7 and 3
//!                  |               ^
//!                  +-> slot 9 -----+  one swap of slot 7's link, from the reading that was walked
//! ```
//!
//! # What it must never do
//! Decide whether a lease may be granted, or know the time: that is `memory`'s.

mod cell;
mod chains;
mod fingerprints;
mod free;
mod link;
mod outcomes;
mod under_way;

pub(crate) use chains::ChainIndex;
pub(crate) use fingerprints::Fingerprints;
pub(crate) use outcomes::{NotPut, Outcomes};

use crate::clock::Deadline;
use crate::identity::Identity;
use crate::word::{LeaseWord, Word};

/// Number of a slot, below the bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot(pub(crate) u32);

/// An identity's slot and its word, which belonged together at one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    pub(crate) slot: Slot,
    pub(crate) word: Word,
}

/// The answer to a claim.
#[derive(Debug)]
pub(crate) enum Claim {
    /// The slot is the identity's, and the caller's to publish.
    Claimed(Found),
    /// Another thread was first: look again.
    Lost,
    /// No slot is free: all are kept, or pending for other callers.
    NoSlot,
}

/// What the store needs of an index.
pub(crate) trait Index {
    /// The slot that holds the identity, be its word dead or alive.
    fn find(&self, identity: Identity) -> Option<Found>;

    /// Gives the identity, which has no slot, a slot that is pending until `deadline`.
    fn claim(&self, identity: Identity, deadline: Deadline) -> Claim;

    /// Whether another call may be giving the identity a slot right now. To be asked after a claim
    /// that found no slot, and before the identity is looked for again.
    fn is_claimed(&self, identity: Identity) -> bool;

    /// Whether a dead slot is being listed right now, which no claim finds yet. To be asked before
    /// the claim whose refusal is to stand.
    fn is_listing(&self) -> bool;

    /// Says that the slot was used and its word is dead, so that another identity may claim it. May
    /// be said more than once, and of a slot that lives again meanwhile.
    fn free(&self, slot: Slot);

    /// A slot's word; `None` for a number that no slot of this store has.
    fn word(&self, slot: Slot) -> Option<&LeaseWord>;

    /// Every slot and its word, in no order, each read once.
    fn slots(&self) -> impl Iterator<Item = (Slot, Word)>;
}
