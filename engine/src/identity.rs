//! What the memory store knows a key by: a 128-bit hash under a key of its own.
//!
//! The hash's key comes from the system's randomness when the store is made, so nobody can aim keys
//! at one bucket, and an identity means nothing in another store. Two keys share an identity with a
//! chance of 2^-128 a pair.

use std::hash::Hasher as _;

use siphasher::sip128::{Hasher128 as _, SipHasher13};

use crate::contract::{Address, Fingerprint};
use crate::random::random_bytes;

/// Names one key within one store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Identity(u128);

impl Identity {
    pub(crate) const fn from_bits(bits: u128) -> Self {
        Self(bits)
    }

    pub(crate) const fn to_bits(self) -> u128 {
        self.0
    }
}

/// The store's keyed hash.
pub(crate) struct Identities {
    hasher: SipHasher13,
    /// Tells this store's leases from others'.
    store_id: u32,
}

impl Identities {
    pub(crate) fn new() -> Self {
        let hasher = SipHasher13::new_with_key(&random_bytes());
        let mut id = hasher;
        id.write_u8(b's');
        Self { hasher, store_id: id.finish128().h1 as u32 }
    }

    pub(crate) const fn store_id(&self) -> u32 {
        self.store_id
    }

    /// The identity of a list of parts. Each is prefixed by its length, so no two lists collide but
    /// by chance.
    pub(crate) fn of_parts(&self, parts: &[&[u8]]) -> Identity {
        let mut hasher = self.hasher;
        hasher.write_u8(b'p');
        for part in parts {
            hasher.write_u64(part.len() as u64);
            hasher.write(part);
        }
        Identity(hasher.finish128().as_u128())
    }

    pub(crate) fn of_address(&self, address: &Address) -> Identity {
        let mut hasher = self.hasher;
        hasher.write_u8(b'a');
        hasher.write(address.as_bytes());
        Identity(hasher.finish128().as_u128())
    }

    /// 64 keyed bits of a fingerprint, never zero: what the store keeps of it.
    pub(crate) fn of_fingerprint(&self, fingerprint: &Fingerprint) -> u64 {
        let mut hasher = self.hasher;
        hasher.write_u8(b'f');
        hasher.write(fingerprint.as_bytes());
        hasher.finish128().h1.max(1)
    }
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
