//! Which identities are being given a slot right now.
//!
//! Between taking the last free slot and linking it in, a claimer's key is nowhere to be found. A
//! rival for the same key that finds no slot then must not be told *full*: its key is about to be
//! there. Striped by identity, so that it looks again for nobody else's sake.

use crate::identity::Identity;
use crate::sync::{AtomicU32, Ordering};

/// Power of two. Arbitrary: few enough to stay cached, many enough that strangers seldom meet.
#[cfg(not(lease_loom))]
const STRIPES: usize = 256;
#[cfg(lease_loom)]
const STRIPES: usize = 2;

/// The number of claims under way, by stripe.
#[derive(Debug)]
pub(super) struct Claims(Box<[AtomicU32]>);

/// A claim under way, until it is dropped.
pub(super) struct ClaimUnderWay<'a>(&'a AtomicU32);

impl Claims {
    pub(super) fn new() -> Self {
        Self((0..STRIPES).map(|_| AtomicU32::new(0)).collect())
    }

    /// Says that a claim begins. Before its slot is taken.
    pub(super) fn begin(&self, identity: Identity) -> ClaimUnderWay<'_> {
        let stripe = &self.0[identity.stripe(STRIPES)];
        // [K1] `Relaxed`: published by the pop that follows ([F5], [F6]): who finds no slot because
        // this claim took it sees this.
        stripe.fetch_add(1, Ordering::Relaxed);
        ClaimUnderWay(stripe)
    }

    /// Whether a claim of the identity may be under way. After a pop that found nothing.
    pub(super) fn any(&self, identity: Identity) -> bool {
        // [K2] `Acquire`: if the claim has ended, its slot is found. Pairs with [K3].
        self.0[identity.stripe(STRIPES)].load(Ordering::Acquire) > 0
    }
}

impl Drop for ClaimUnderWay<'_> {
    fn drop(&mut self) {
        // [K3] `Release`: the slot is linked in, or listed again, before this. Pairs with [K2].
        self.0.fetch_sub(1, Ordering::Release);
    }
}

#[cfg(all(test, not(lease_loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_claim_is_seen_until_it_ends() {
        let claims = Claims::new();
        let identity = Identity::from_bits(u128::MAX);
        let (one, two) = (claims.begin(identity), claims.begin(identity));
        drop(one);
        assert!(claims.any(identity));
        assert!(!claims.any(Identity::from_bits(0)));
        drop(two);
        assert!(!claims.any(identity));
    }
}
