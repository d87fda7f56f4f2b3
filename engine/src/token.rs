//! Where fencing tokens come from.
//!
//! Each home bucket of the index counts its grants, and a token is that count above a seed from the
//! wall clock. So tokens of one key rise from grant to grant, and across restarts as long as the
//! wall clock does not go back by more than the store ran. Nothing else may be read out of a token.

use crate::clock::wall_millis;
use crate::contract::Token;
use crate::sync::{AtomicU64, Ordering};

/// How far the seed is above the wall clock's milliseconds: a home may grant 2^20 leases a
/// millisecond before it runs ahead of the clock that will seed the store's successor.
const SEED_SHIFT: u32 = 20;

/// The seed of one store.
#[derive(Debug)]
pub(crate) struct Tokens {
    seed: u64,
}

impl Tokens {
    pub(crate) fn new() -> Self {
        Self::seeded(wall_millis())
    }

    const fn seeded(wall_millis: u64) -> Self {
        // 43 bits of milliseconds last until the year 2248 and keep a token below 2^63.
        Self { seed: (wall_millis & ((1 << 43) - 1)) << SEED_SHIFT }
    }

    /// Draws the token of a grant from its home's counter. Call it while the entry is pending:
    /// grants of one identity then draw one after another, so that their tokens rise.
    pub(crate) fn draw(&self, counter: &AtomicU64) -> Token {
        // [T1] `Relaxed`: two grants of one identity are ordered by the entry's word ([W2]), so the
        // counter's own order agrees with theirs.
        let grants = counter.fetch_add(1, Ordering::Relaxed);
        Token::new(self.seed.wrapping_add(grants).wrapping_add(1))
    }
}

#[cfg(all(test, not(lease_loom)))]
mod tests {
    use super::*;

    #[test]
    fn tokens_rise_and_a_later_store_starts_higher() {
        let (first, counter) = (Tokens::seeded(1_000), AtomicU64::new(0));
        let (one, two) = (first.draw(&counter), first.draw(&counter));
        assert!(one < two && one.get() > 0);
        assert!(Tokens::seeded(1_001).draw(&AtomicU64::new(0)) > two);
    }

    #[test]
    fn tokens_fit_a_signed_column_at_both_ends_of_the_clock() {
        let draw = |millis| Tokens::seeded(millis).draw(&AtomicU64::new(0)).get();
        assert!(draw(0) >= 1);
        assert!(draw((1 << 43) - 1) < 1 << 63);
        assert!(draw(u64::MAX) < 1 << 63);
    }
}
