//! Inputs, made outside of the timed parts and the same in every run.

use std::time::Duration;

use leasehold::{MemoryConfig, MemoryStore, Terms, Ttl};

/// Arbitrary, and fixed: every run measures the same keys.
const SEED: u64 = 7;

/// How long a lease lasts: the gateway's default.
///
/// # Panics
///
/// Never: 30 seconds are a valid time to live.
#[must_use]
pub fn lease_ttl() -> Ttl {
    Ttl::new(Duration::from_secs(30)).expect("above zero and below ten years")
}

/// How long a key is kept: the gateway's default.
///
/// # Panics
///
/// Never: a day is a valid time to live.
#[must_use]
pub fn kept_ttl() -> Ttl {
    Ttl::new(Duration::from_secs(24 * 60 * 60)).expect("above zero and below ten years")
}

/// The terms of every acquire: no fingerprint.
#[must_use]
pub fn terms() -> Terms {
    Terms::new(lease_ttl())
}

/// A store with room for so many keys.
///
/// # Panics
///
/// If `max_entries` is out of range.
#[must_use]
pub fn store(max_entries: usize) -> MemoryStore {
    MemoryStore::new(MemoryConfig::default().max_entries(max_entries)).expect("a valid bound")
}

/// So many different keys, each as long as a UUID in text.
#[must_use]
pub fn keys(count: usize) -> Vec<String> {
    let mut random = fastrand::Rng::with_seed(SEED);
    let key = |_| format!("{:016x}-{:019}", random.u64(..), random.u32(..));
    (0..count).map(key).collect()
}

/// The same values in another order, which is the same in every run.
#[must_use]
pub fn shuffled<T: Clone>(values: &[T]) -> Vec<T> {
    let mut values = values.to_vec();
    fastrand::Rng::with_seed(SEED).shuffle(&mut values);
    values
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn keys_differ_and_repeat_from_run_to_run() {
        let keys = keys(1_000);
        assert_eq!(keys.iter().collect::<HashSet<_>>().len(), 1_000);
        assert_eq!(keys, super::keys(1_000));
        assert_ne!(keys, shuffled(&keys));
    }
}
