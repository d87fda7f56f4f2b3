//! Where fencing tokens come from.
//!
//! Counters striped by identity, seeded with the wall clock: tokens of one identity rise from grant
//! to grant, and across restarts as long as the wall clock does not go back by more than the store
//! ran. Nothing else may be read out of a token.

use crossbeam_utils::CachePadded;

use crate::clock::wall_millis;
use crate::contract::Token;
use crate::identity::Identity;
use crate::sync::{AtomicU64, Ordering};

/// Power of two. Arbitrary: enough that threads seldom meet, small enough to be always cached.
#[cfg(not(lease_loom))]
const STRIPES: usize = 64;
#[cfg(lease_loom)]
const STRIPES: usize = 1;

/// How far a seed is above the wall clock's milliseconds: a store may grant 2^20 leases a
/// millisecond and stripe before it runs ahead of the clock that will seed its successor.
const SEED_SHIFT: u32 = 20;

/// The counters.
pub(crate) struct Tokens {
    /// Padded: two identities of different stripes are granted at once.
    stripes: Box<[CachePadded<AtomicU64>]>,
}

impl Tokens {
    pub(crate) fn new() -> Self {
        Self::seeded(wall_millis())
    }

    fn seeded(wall_millis: u64) -> Self {
        // 43 bits of milliseconds last until the year 2248 and keep a token below 2^63.
        let seed = (wall_millis & ((1 << 43) - 1)) << SEED_SHIFT;
        let stripe = |_| CachePadded::new(AtomicU64::new(seed + 1));
        Self { stripes: (0..STRIPES).map(stripe).collect() }
    }

    /// Draws the token of a grant. Call it while the entry is pending: grants of one identity then
    /// draw one after another, so that their tokens rise.
    pub(crate) fn draw(&self, identity: Identity) -> Token {
        let stripe = &self.stripes[identity.stripe(STRIPES)];
        // [T1] `Relaxed`: two grants of one identity are ordered by the entry's word ([W2]), so the
        // counter's own order agrees with theirs.
        Token::new(stripe.fetch_add(1, Ordering::Relaxed))
    }
}

#[cfg(all(test, not(lease_loom)))]
mod tests {
    use super::*;

    #[test]
    fn tokens_rise_and_a_later_store_starts_higher() {
        let identity = Identity::from_bits(7);
        let first = Tokens::seeded(1_000);
        let (one, two) = (first.draw(identity), first.draw(identity));
        assert!(one < two && one.get() > 0);
        assert!(Tokens::seeded(1_001).draw(identity) > two);
    }

    #[test]
    fn tokens_fit_a_signed_column_at_both_ends_of_the_clock() {
        let identity = Identity::from_bits(0);
        assert!(Tokens::seeded(0).draw(identity).get() >= 1);
        assert!(Tokens::seeded((1 << 43) - 1).draw(identity).get() < 1 << 63);
        assert!(Tokens::seeded(u64::MAX).draw(identity).get() < 1 << 63);
    }
}
