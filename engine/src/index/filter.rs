//! The overflow filter: which identities of a home may be elsewhere than at home.
//!
//! Sixteen bits; an identity has one of them. A bit that is not set means that no identity with
//! that bit is away from home, be it alive or dead, so a look at home alone is complete.

/// The bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Filter(u16);

impl Filter {
    /// Nobody is away from home.
    pub(super) const NONE: Self = Self(0);
    /// Anybody may be.
    pub(super) const ALL: Self = Self(u16::MAX);

    pub(super) const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    pub(super) const fn to_bits(self) -> u16 {
        self.0
    }

    /// The bit of an identity, by the low half of its digest.
    pub(super) const fn of(digest_low: u64) -> Self {
        Self(1 << (digest_low & 15))
    }

    pub(super) const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all bits of the other are set.
    pub(super) const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

#[cfg(all(test, not(lease_loom)))]
mod tests {
    use super::*;

    #[test]
    fn an_identity_has_one_bit_of_sixteen() {
        let all = (0..16).map(Filter::of).fold(Filter::NONE, Filter::with);
        assert_eq!(all, Filter::ALL);
        assert_eq!(Filter::of(16), Filter::of(0));
        assert!(!Filter::of(3).has(Filter::of(4)));
        assert!(Filter::of(3).with(Filter::of(4)).has(Filter::of(4)));
    }
}
