//! What the memory store knows a key by: a 128-bit hash under a key of its own.
//!
//! The hash's key comes from the system's randomness when the store is made, so nobody can aim keys
//! at one bucket, and an identity means nothing in another store. Two keys share an identity with a
//! chance of 2^-128 a pair.

use std::hash::Hasher as _;

use siphasher::sip128::{Hash128, Hasher128 as _, SipHasher13};

use crate::contract::{Address, Fingerprint};
use crate::random::random_bytes;

/// Names one key within one store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Identity(u128);

impl Identity {
    /// The hash's first half goes to the upper bits, of which the table makes a key's home: so its
    /// lines are on their way while the second half is made.
    fn of(hash: Hash128) -> Self {
        Self(u128::from(hash.h1) << 64 | u128::from(hash.h2))
    }

    pub(crate) const fn from_bits(bits: u128) -> Self {
        Self(bits)
    }

    pub(crate) const fn to_bits(self) -> u128 {
        self.0
    }
}

/// The store's keyed hash.
pub(crate) struct Identities {
    /// The hash's key. A hasher is made from it anew each time, since a copy of one would be asked
    /// at every word whether it is in the middle of one.
    key: [u8; 16],
    /// Tells this store's leases from others'.
    store_id: u32,
}

impl Identities {
    pub(crate) fn new() -> Self {
        let key = random_bytes();
        let mut identities = Self { key, store_id: 0 };
        let mut id = identities.hasher();
        id.write_u64(u64::from(b's'));
        identities.store_id = id.finish128().h1 as u32;
        identities
    }

    #[inline]
    fn hasher(&self) -> SipHasher13 {
        SipHasher13::new_with_key(&self.key)
    }

    pub(crate) const fn store_id(&self) -> u32 {
        self.store_id
    }

    /// The identity of a list of parts. Their number and lengths come first, and each part but the
    /// last is filled up with zeros to whole words, so no two lists collide but by chance.
    #[inline]
    pub(crate) fn of_parts(&self, parts: &[&[u8]]) -> Identity {
        let mut hasher = self.hasher();
        if let Some(lengths) = short_lengths(parts) {
            hasher.write_u64(u64::from(b'p') | lengths << 8);
        } else {
            hasher.write_u64(u64::from(b'l') | (parts.len() as u64) << 8);
            parts.iter().for_each(|part| hasher.write_u64(part.len() as u64));
        }
        let (last, others) = parts.split_last().map_or((&[][..], parts), |(last, o)| (*last, o));
        for part in others {
            let (words, rest) = part.as_chunks();
            words.iter().for_each(|word| hasher.write_u64(u64::from_le_bytes(*word)));
            if !rest.is_empty() {
                hasher.write_u64(padded(rest));
            }
        }
        Identity::of(hasher.hash(last))
    }

    pub(crate) fn of_address(&self, address: &Address) -> Identity {
        let mut hasher = self.hasher();
        hasher.write_u64(u64::from(b'a'));
        Identity::of(hasher.hash(address.as_bytes()))
    }

    /// 64 keyed bits of a fingerprint, never zero: what the store keeps of it.
    pub(crate) fn of_fingerprint(&self, fingerprint: &Fingerprint) -> u64 {
        let mut hasher = self.hasher();
        hasher.write_u64(u64::from(b'f'));
        hasher.write(fingerprint.as_bytes());
        hasher.finish128().h1.max(1)
    }
}

/// Less than eight bytes as a word, filled up with zeros.
#[inline]
fn padded(rest: &[u8]) -> u64 {
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
    match rest.split_first_chunk() {
        Some((four, rest)) => word(rest) << 32 | u64::from(u32::from_le_bytes(*four)),
        None => word(rest),
    }
}

/// The number of parts and their lengths in 56 bits, if there are at most three parts of less than
/// 64 KiB: so a usual key costs the hasher one word more, and its bytes stay aligned.
#[inline]
fn short_lengths(parts: &[&[u8]]) -> Option<u64> {
    if parts.len() > 3 {
        return None;
    }
    parts
        .iter()
        .rev()
        .try_fold(0, |lengths, part| {
            Some(lengths << 16 | u64::from(u16::try_from(part.len()).ok()?))
        })
        .map(|lengths| lengths << 8 | parts.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_kept_apart() {
        let identities = Identities::new();
        let of = |parts: &[&[u8]]| identities.of_parts(parts);
        assert_eq!(of(&[b"a", b"b"]), of(&[b"a", b"b"]));
        assert_ne!(of(&[b"ab"]), of(&[b"a", b"b"]));
        assert_ne!(of(&[b"a", b"b"]), of(&[b"b", b"a"]));
        assert_ne!(of(&[b""]), of(&[]));
        assert_ne!(of(&[b"", b""]), of(&[b""]));
        assert_ne!(of(&[b"a", b"b", b"c"]), of(&[b"a", b"b", b"c", b""]));
        let long = vec![7; 1 << 16];
        assert_ne!(of(&[&long, b"a"]), of(&[&long[1..], b"\x07a"]));
        assert_ne!(of(&[&long[1..], b"a"]), of(&[&long[2..], b"\x07a"]));
    }

    #[test]
    fn stores_do_not_share_identities() {
        let (one, two) = (Identities::new(), Identities::new());
        assert_ne!(one.of_parts(&[b"k"]), two.of_parts(&[b"k"]));
        assert_ne!(one.store_id(), two.store_id());
        let address = Address::from_bytes([7; 32]);
        assert_ne!(one.of_address(&address), one.of_parts(&[&[7; 32]]));
    }
}
