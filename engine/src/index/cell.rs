//! One slot: its word, the identity that it holds, and its link in the identity's chain.

use super::link::AtomicLink;
use crate::identity::Identity;
use crate::sync::{AtomicU64, Ordering};
use crate::word::LeaseWord;

/// 32 bytes, aligned so that a slot never lies across two cache lines.
#[derive(Debug)]
#[cfg_attr(not(lease_loom), repr(align(32)))]
pub(super) struct Cell {
    pub(super) word: LeaseWord,
    pub(super) link: AtomicLink,
    /// Both halves are written only while the word changes hands and the slot is in no chain.
    identity_low: AtomicU64,
    identity_high: AtomicU64,
}

impl Cell {
    /// Dead, in no chain.
    pub(super) fn new() -> Self {
        Self {
            word: LeaseWord::new(),
            link: AtomicLink::outside(),
            identity_low: AtomicU64::new(0),
            identity_high: AtomicU64::new(0),
        }
    }

    /// The identity, to be believed only if the way to the slot is still what it was.
    pub(super) fn identity(&self) -> Identity {
        // [I1] `Acquire`: who reads a new half sees that the slot left its former chain. Pairs with
        // [I2].
        let low = self.identity_low.load(Ordering::Acquire);
        let high = self.identity_high.load(Ordering::Acquire);
        Identity::from_bits(u128::from(high) << 64 | u128::from(low))
    }

    /// Gives the slot another identity.
    pub(super) fn move_in(&self, identity: Identity) {
        let bits = identity.to_bits();
        // [I2] `Release`: the slot left its former chain before either half changes. Pairs with
        // [I1].
        self.identity_low.store(bits as u64, Ordering::Release);
        self.identity_high.store((bits >> 64) as u64, Ordering::Release);
    }
}
