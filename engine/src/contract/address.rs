//! Digests: where a record lives, and which request it stands for.
//!
//! Parts are length-prefixed before they are hashed, so no choice of bytes makes two different
//! lists of parts collide. This module must never keep a part.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

/// Where a record lives in a store: a digest of everything that scopes a key.
///
/// The same parts give the same address in every process, so that instances that share a store
/// agree. `Debug` and `Display` print its first 8 bytes in hexadecimal, enough to follow one key
/// through logs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address([u8; 32]);

impl Address {
    /// Wraps a digest made elsewhere. It must depend on every part that scopes the key.
    #[must_use]
    pub const fn from_bytes(digest: [u8; 32]) -> Self {
        Self(digest)
    }

    /// The digest.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0[..8].iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({self})")
    }
}

/// A digest of the request that a key stands for: the same key with another fingerprint is a
/// mistake of the client's, not a retry.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// Wraps a digest made elsewhere.
    #[must_use]
    pub const fn from_bytes(digest: [u8; 32]) -> Self {
        Self(digest)
    }

    /// The digest.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({:02x}{:02x}..)", self.0[0], self.0[1])
    }
}

/// Turns lists of parts into digests: SHA-256, or HMAC-SHA-256 when it has a secret.
///
/// A bare hash of a guessable key can be recovered by trying keys; a secret prevents that. All
/// instances that share a store need the same secret.
///
/// ```
/// use leasehold::Digester;
///
/// let digester = Digester::plain();
/// let one = digester.address(&[b"orders", b"POST", b"/orders", b"k-1"]);
/// assert_ne!(one, digester.address(&[b"orders", b"POST", b"/order", b"sk-1"]));
/// ```
#[derive(Clone)]
pub struct Digester {
    secret: Option<Hmac<Sha256>>,
}

impl Digester {
    /// Hashes without a secret.
    #[must_use]
    pub const fn plain() -> Self {
        Self { secret: None }
    }

    /// Hashes with a secret of any length; 32 random bytes are a good choice.
    #[must_use]
    pub fn with_secret(secret: &[u8]) -> Self {
        // HMAC takes keys of every length, so there is no error to pass on.
        Self { secret: Hmac::new_from_slice(secret).ok() }
    }

    /// The address of a list of parts. Their order and their number count.
    #[must_use]
    pub fn address(&self, parts: &[&[u8]]) -> Address {
        Address(self.digest(b"leasehold address 1", parts))
    }

    /// The fingerprint of a list of parts. Their order and their number count.
    #[must_use]
    pub fn fingerprint(&self, parts: &[&[u8]]) -> Fingerprint {
        Fingerprint(self.digest(b"leasehold fingerprint 1", parts))
    }

    /// The label separates the two uses, so that an address is never also a fingerprint.
    fn digest(&self, label: &[u8], parts: &[&[u8]]) -> [u8; 32] {
        let all = || std::iter::once(label).chain(parts.iter().copied());
        match &self.secret {
            None => {
                let mut hash = Sha256::new();
                for part in all() {
                    hash.update((part.len() as u64).to_le_bytes());
                    hash.update(part);
                }
                hash.finalize().into()
            }
            Some(keyed) => {
                let mut mac = keyed.clone();
                for part in all() {
                    mac.update(&(part.len() as u64).to_le_bytes());
                    mac.update(part);
                }
                mac.finalize().into_bytes().into()
            }
        }
    }
}

impl Default for Digester {
    fn default() -> Self {
        Self::plain()
    }
}

impl fmt::Debug for Digester {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Digester").field("secret", &self.secret.is_some()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moving_a_byte_between_parts_changes_the_address() {
        let digester = Digester::plain();
        let lists: [&[&[u8]]; 6] =
            [&[b"ab", b"c"], &[b"a", b"bc"], &[b"abc"], &[b"abc", b""], &[b"", b"abc"], &[]];
        for (i, one) in lists.iter().enumerate() {
            for other in &lists[i + 1..] {
                assert_ne!(digester.address(one), digester.address(other));
            }
        }
    }

    #[test]
    fn secrets_separate_and_repeat() {
        let (one, two) = (Digester::with_secret(b"one"), Digester::with_secret(b"two"));
        let parts: &[&[u8]] = &[b"k"];
        assert_ne!(one.address(parts), two.address(parts));
        assert_ne!(one.address(parts), Digester::plain().address(parts));
        assert_eq!(one.address(parts), Digester::with_secret(b"one").address(parts));
        assert!(!format!("{one:?}").contains("one"));
    }

    #[test]
    fn an_address_is_not_a_fingerprint_of_the_same_parts() {
        let digester = Digester::plain();
        assert_ne!(digester.address(&[b"k"]).as_bytes(), digester.fingerprint(&[b"k"]).as_bytes());
    }

    #[test]
    fn address_is_the_same_in_every_process_and_release() {
        // Pinned: instances of different releases share a store.
        let address = Digester::plain().address(&[b"default", b"POST", b"/orders", b"k-1"]);
        assert_eq!(address.to_string(), PINNED);
    }

    const PINNED: &str = "929f62128d3843ce";
}
