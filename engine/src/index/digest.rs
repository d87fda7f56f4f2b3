//! What a slot keeps of an identity, and where the identity's search begins.
//!
//! 96 of the identity's 128 bits are kept; other bits of it choose the home. A fresh key is taken
//! for another one only if all 96 agree with those of a slot on its probe sequence: at most 80
//! slots, so once in some 10^27 acquires. The hash is keyed, so nobody can aim at that.

use super::sequence::{Home, Shape};
use crate::identity::Identity;
use crate::word::Stamp;

/// An identity as the index looks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sought {
    pub(super) home: Home,
    pub(super) low: u64,
    pub(super) high: u32,
}

impl Sought {
    pub(super) const fn new(identity: Identity, shape: Shape) -> Self {
        let bits = identity.to_bits();
        let upper = (bits >> 64) as u64;
        Self { home: shape.home(upper), low: bits as u64, high: upper as u32 }
    }

    /// What a pending word shows of the identity.
    pub(crate) const fn stamp(self) -> Stamp {
        Stamp::of(self.low)
    }
}

#[cfg(all(test, not(lease_loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_home_and_the_digest_come_from_different_bits() {
        let shape = Shape::new(100_000);
        let of = |bits: u128| Sought::new(Identity::from_bits(bits), shape);
        let base = of(0);
        assert_ne!(of(1 << 127).home, base.home);
        assert_eq!((of(1 << 127).low, of(1 << 127).high), (base.low, base.high));
        for bit in 0..96 {
            assert_eq!(of(1 << bit).home, base.home, "bit {bit}");
            assert_ne!(of(1 << bit), base, "bit {bit}");
        }
    }
}
