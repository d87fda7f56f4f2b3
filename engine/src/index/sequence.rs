//! The probe sequence: in which buckets an identity may be, in the order of looking.
//!
//! It depends on the home alone: the home, its pair (the neighbour, within the same 256 bytes), ten
//! buckets that are drawn pseudo-randomly, and four of a small stash. Most identities are at home;
//! the far ones make it so improbable that a sequence is full before the store is that no other
//! provision exists.

/// How much of the table the bound may fill, in percent. Filling to the bound was never refused by
/// a full sequence up to 88; at 80 a held key takes 32 bytes. Under jitter the homes have fewer
/// slots than the bound, so that keys go as far as the stash; the sequences of its tiny stores have
/// more.
const LOAD_PERCENT: usize = if cfg!(lease_jitter) { 120 } else { 80 };

/// Slots of a bucket: as many as 128 bytes hold beside the header and the token counter.
pub(super) const SLOTS: usize = if cfg!(lease_loom) { 1 } else { 5 };

/// Length of a sequence. An offset has four bits in a word. Under loom all identities share one
/// home of one slot, and go on into the stash, so that everything happens with few keys.
pub(super) const OFFSETS: usize = if cfg!(lease_loom) { 4 } else { 16 };

/// From which offset on the buckets are the stash's.
const STASH_FROM: usize = if cfg!(lease_loom) { 1 } else { 12 };

/// One bucket of stash for so many homes, and at least [`STASH_MIN`].
const HOMES_PER_STASH: usize = 128;

/// So many that the smallest stores never find a sequence full.
const STASH_MIN: usize = if cfg!(lease_loom) { 3 } else { 8 };

/// Number of a bucket that is some identity's first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Home(usize);

/// How far from home on the sequence: 0 is home.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Offset(u8);

impl Offset {
    pub(super) const HOME: Self = Self(0);

    /// The offset of four bits.
    pub(super) const fn from_bits(bits: u64) -> Self {
        Self((bits & 15) as u8)
    }

    pub(super) const fn to_bits(self) -> u64 {
        self.0 as u64
    }

    pub(super) fn is_home(self) -> bool {
        self == Self::HOME
    }

    /// From home to here, both included.
    pub(super) fn up_to(self) -> impl Iterator<Item = Self> {
        (0..=self.0).map(Self)
    }

    /// All that come after this one.
    pub(super) fn beyond(self) -> impl Iterator<Item = Self> {
        (self.0 + 1..OFFSETS as u8).map(Self)
    }
}

/// How many buckets a table has, and of which kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    homes: usize,
    stash: usize,
}

impl Shape {
    /// The shape of a table for so many entries.
    pub(super) const fn new(max_entries: usize) -> Self {
        let homes = if cfg!(lease_loom) {
            1
        } else {
            // Even, so that every home has its pair.
            max_entries.saturating_mul(100).div_ceil(LOAD_PERCENT * SLOTS).next_multiple_of(2)
        };
        let stash = homes / HOMES_PER_STASH;
        Self { homes, stash: if stash > STASH_MIN { stash } else { STASH_MIN } }
    }

    /// For scenarios with more homes than one.
    #[cfg(all(test, lease_loom))]
    pub(super) const fn with_homes(homes: usize) -> Self {
        Self { homes, stash: STASH_MIN }
    }

    pub(super) const fn buckets(self) -> usize {
        self.homes.saturating_add(self.stash)
    }

    /// The home of 64 random bits: the part of the homes that they are of 2^64 (no power of two).
    pub(super) const fn home(self, bits: u64) -> Home {
        Home(part(bits, self.homes))
    }

    /// All homes.
    #[cfg(feature = "validate")]
    pub(super) fn homes(self) -> impl Iterator<Item = Home> {
        (0..self.homes).map(Home)
    }

    /// The bucket at an offset from a home.
    #[inline]
    pub(super) fn bucket(self, home: Home, offset: Offset) -> usize {
        match offset.0 as usize {
            0 => home.0,
            1 if STASH_FROM > 1 => home.0 ^ 1,
            far => self.far(home, far),
        }
    }

    fn far(self, home: Home, offset: usize) -> usize {
        if cfg!(lease_loom) {
            return self.homes + offset - STASH_FROM;
        }
        let bits = mixed((home.0 as u64) << 4 | offset as u64);
        if offset < STASH_FROM {
            part(bits, self.homes)
        } else {
            self.homes + part(bits, self.stash)
        }
    }
}

/// `bits` of 2^64, as a part of `count`.
const fn part(bits: u64, count: usize) -> usize {
    ((bits as u128 * count as u128) >> 64) as usize
}

/// SplitMix64 (G. Steele, D. Lea, C. Flood, OOPSLA 2014): every bit of the answer depends on every
/// bit given.
const fn mixed(bits: u64) -> u64 {
    let mut z = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(all(test, not(lease_loom)))]
mod tests {
    use super::*;

    #[test]
    fn every_home_has_its_pair_and_every_bucket_is_in_the_table() {
        for max_entries in [1, 2, 3, 4, 5, 9, 100, 100_000] {
            let shape = Shape::new(max_entries);
            assert!(shape.buckets() * SLOTS > max_entries);
            for bits in [0, 1, u64::MAX / 3, u64::MAX] {
                let home = shape.home(bits);
                let sequence: Vec<_> = Offset::from_bits(15)
                    .up_to()
                    .map(|offset| shape.bucket(home, offset))
                    .collect();
                assert_eq!(sequence.len(), OFFSETS);
                assert_eq!((sequence[0], sequence[1]), (home.0, home.0 ^ 1));
                assert!(sequence[..STASH_FROM].iter().all(|bucket| *bucket < shape.homes));
                let stash = shape.homes..shape.buckets();
                assert!(sequence[STASH_FROM..].iter().all(|bucket| stash.contains(bucket)));
            }
        }
    }

    #[test]
    fn homes_are_equally_probable() {
        let shape = Shape::new(40);
        let mut counts = vec![0_u32; shape.homes];
        for bits in 0..100_000 {
            counts[shape.home(mixed(bits)).0] += 1;
        }
        let expected = 100_000 / shape.homes as u32;
        assert!(counts.iter().all(|count| count.abs_diff(expected) < expected / 10), "{counts:?}");
    }

    #[test]
    fn beyond_begins_where_up_to_ends() {
        let reach = Offset::from_bits(3);
        assert_eq!(reach.up_to().chain(reach.beyond()).count(), OFFSETS);
        assert_eq!(Offset::from_bits(15).beyond().count(), 0);
    }
}
