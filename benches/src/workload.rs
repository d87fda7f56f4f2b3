//! Inputs, made outside of the timed parts and the same in every run.

use std::time::Duration;

use leasehold::{MemoryConfig, MemoryStore, Terms, Ttl};

use crate::key::Key;

/// Arbitrary, and fixed: every run measures the same keys.
const SEED: u64 = 7;

/// How long a lease lasts: the gateway's default.
pub const LEASE_TTL: Duration = Duration::from_secs(30);

/// How long a key is kept: the gateway's default.
pub const KEPT_TTL: Duration = Duration::from_secs(24 * 60 * 60);

/// Keys in a batch.
pub const BATCH: usize = 16;

/// How full a store is before a workload starts: live keys by bound, in percent.
const LOAD_PERCENT: usize = 70;

/// How long a key is kept where keys come and go.
const CHURN_TTL_MS: std::ops::RangeInclusive<u64> = 50..=350;

/// A time to live of this many.
///
/// # Panics
///
/// Unless it is above zero and at most ten years.
#[must_use]
pub fn ttl(duration: Duration) -> Ttl {
    Ttl::new(duration).expect("above zero and below ten years")
}

/// The terms of every acquire: no fingerprint.
#[must_use]
pub fn terms() -> Terms {
    Terms::new(ttl(LEASE_TTL))
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

/// The bound of a store that holds so many live keys at the usual load.
#[must_use]
pub const fn bound(live: usize) -> usize {
    live * 100 / LOAD_PERCENT
}

/// What the keys of a list are for. Lists of different purpose share no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// In the store before a measurement starts.
    Live,
    /// New to the store, to be committed.
    Fresh,
    /// New to the store, to be released.
    Failing,
    /// Asked for again and again.
    Hot,
    /// New to the store, kept for a moment. One list for each thread.
    Churn(u8),
}

impl Purpose {
    /// A stream of random numbers for each purpose.
    fn random(self) -> fastrand::Rng {
        fastrand::Rng::with_seed(SEED.wrapping_add(match self {
            Self::Live => 0,
            Self::Fresh => 1,
            Self::Failing => 2,
            Self::Hot => 3,
            Self::Churn(thread) => 4 + u64::from(thread),
        }))
    }
}

/// Keys without end: a list too long to keep can be made as it is used.
pub fn keys(purpose: Purpose) -> impl Iterator<Item = Key> {
    let mut random = purpose.random();
    std::iter::repeat_with(move || Key::from_bits(random.u128(..)))
}

/// So many keys of a list, each asked for at random: uniform, with repetition.
#[must_use]
pub fn duplicates(of: &[Key], count: usize) -> Vec<Key> {
    let mut random = fastrand::Rng::with_seed(SEED);
    (0..count).filter_map(|_| of.get(random.usize(..of.len())).copied()).collect()
}

/// Times for which keys are kept that come and go.
#[must_use]
pub fn churn_ttls(count: usize) -> Vec<Duration> {
    let mut random = fastrand::Rng::with_seed(SEED);
    (0..count).map(|_| Duration::from_millis(random.u64(CHURN_TTL_MS))).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn keys_differ_within_and_between_lists_and_repeat_from_run_to_run() {
        let purposes = [
            Purpose::Live,
            Purpose::Fresh,
            Purpose::Failing,
            Purpose::Hot,
            Purpose::Churn(0),
            Purpose::Churn(1),
        ];
        let all: HashSet<_> =
            purposes.iter().flat_map(|purpose| keys(*purpose).take(1_000)).collect();
        assert_eq!(all.len(), 1_000 * purposes.len());
        assert!(keys(Purpose::Live).take(9).eq(keys(Purpose::Live).take(9)));
    }

    #[test]
    fn duplicates_are_of_the_list() {
        let list: Vec<_> = keys(Purpose::Live).take(10).collect();
        let asked = duplicates(&list, 1_000);
        assert_eq!(asked.len(), 1_000);
        assert_eq!(asked.iter().collect::<HashSet<_>>(), list.iter().collect());
    }

    #[test]
    fn churn_lasts_as_long_as_it_says() {
        let ttls = churn_ttls(1_000);
        assert!(ttls.iter().all(|ttl| (50..=350).contains(&ttl.as_millis())));
    }
}
