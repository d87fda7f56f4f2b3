//! What a caller asks for: how long, for which request, in which attempt.

use std::fmt;
use std::hash::Hasher as _;
use std::sync::OnceLock;
use std::time::Duration;

use siphasher::sip128::{Hasher128 as _, SipHasher13};
use thiserror::Error;

use super::address::Fingerprint;
use crate::sync::plain;

/// Longest time to live: ten years of 365 days. Far above any retry, far below every clock's range.
pub const MAX_TTL: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

/// A time to live: positive, and at most [`MAX_TTL`].
///
/// What it is given for never ends earlier. A store may let it end later by the resolution of its
/// clock (64 ms in memory).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ttl(Duration);

impl Ttl {
    /// Checks a duration.
    ///
    /// # Errors
    ///
    /// [`TtlError`]; the caller should refuse the configuration that it comes from.
    pub const fn new(duration: Duration) -> Result<Self, TtlError> {
        if duration.is_zero() {
            Err(TtlError::Zero)
        } else if duration.as_nanos() > MAX_TTL.as_nanos() {
            Err(TtlError::TooLong)
        } else {
            Ok(Self(duration))
        }
    }

    /// The duration, above zero.
    #[must_use]
    pub const fn get(self) -> Duration {
        self.0
    }
}

impl TryFrom<Duration> for Ttl {
    type Error = TtlError;

    fn try_from(duration: Duration) -> Result<Self, TtlError> {
        Self::new(duration)
    }
}

/// Why a time to live was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TtlError {
    /// It is zero: a key that is never kept protects nothing.
    #[error("ttl is zero")]
    Zero,
    /// It is longer than [`MAX_TTL`].
    #[error("ttl is longer than ten years")]
    TooLong,
}

/// 128 random bits that name one incoming request, so that an acquire whose reply was lost
/// recognises itself when it is repeated.
///
/// Made by the server for each incoming request, never taken or derived from what a client sent:
/// two duplicates that shared an attempt would both run.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Attempt(u128);

impl Attempt {
    /// A fresh attempt: a keyed hash of a counter, under a key from the system's randomness.
    ///
    /// Two attempts of one process never collide by more than the hash's chance (2^-128 a pair);
    /// other processes have other keys.
    #[must_use]
    pub fn random() -> Self {
        static KEY: OnceLock<[u8; 16]> = OnceLock::new();
        static COUNT: plain::AtomicU64 = plain::AtomicU64::new(0);
        let mut hasher = SipHasher13::new_with_key(KEY.get_or_init(crate::random::random_bytes));
        // `Relaxed`: only the counter's own atomicity is needed; nothing is published by it.
        hasher.write_u64(COUNT.fetch_add(1, plain::Ordering::Relaxed));
        Self(hasher.finish128().as_u128())
    }

    /// Restores an attempt from its bits, as a shared store keeps them.
    #[must_use]
    pub const fn from_bits(bits: u128) -> Self {
        Self(bits)
    }

    /// The bits, as a shared store keeps them.
    #[must_use]
    pub const fn to_bits(self) -> u128 {
        self.0
    }
}

impl fmt::Debug for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Attempt({:08x}..)", self.0 >> 96)
    }
}

/// What a caller asks of [`acquire`](super::LeaseStore::acquire).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Terms {
    /// How long the lease lasts unless it is renewed, counted from a moment within the call.
    pub lease_ttl: Ttl,
    /// Which request the key stands for. `None` compares equal to everything.
    pub fingerprint: Option<Fingerprint>,
    /// Names this incoming request. A store that cannot lose a reply may ignore it.
    pub attempt: Attempt,
}

impl Terms {
    /// Terms without a fingerprint, for a fresh attempt.
    #[must_use]
    pub fn new(lease_ttl: Ttl) -> Self {
        Self { lease_ttl, fingerprint: None, attempt: Attempt::random() }
    }

    /// The same with a fingerprint.
    #[must_use]
    pub fn fingerprint(mut self, fingerprint: Fingerprint) -> Self {
        self.fingerprint = Some(fingerprint);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ttl_is_above_zero_and_at_most_ten_years() {
        assert_eq!(Ttl::new(Duration::ZERO), Err(TtlError::Zero));
        assert!(Ttl::new(Duration::from_nanos(1)).is_ok());
        assert!(Ttl::new(MAX_TTL).is_ok());
        assert_eq!(Ttl::new(MAX_TTL + Duration::from_nanos(1)), Err(TtlError::TooLong));
        assert_eq!(Ttl::new(Duration::MAX), Err(TtlError::TooLong));
    }

    #[test]
    fn attempts_differ() {
        let attempts: std::collections::HashSet<_> = (0..1000).map(|_| Attempt::random()).collect();
        assert_eq!(attempts.len(), 1000);
    }
}
