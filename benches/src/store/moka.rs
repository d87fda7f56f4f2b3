//! `moka`: a cache with expiry per entry on timer wheels.
//!
//! Evicts live keys, or does not take new ones, once it is at its bound, and so cannot say *full*:
//! a duplicate may run twice. It keeps its own clock and removes what is due by itself.

use std::time::{Duration, Instant};

use ahash::RandomState;
use moka::ops::compute::{CompResult, Op};
use moka::sync::Cache;

use super::supplies::Tokens;
use super::{Answer, Promises, Store, Watch};
use crate::key::Key;
use crate::workload::LEASE_TTL;

/// What is kept for a key. A commit puts a new one in its place.
#[derive(Clone, Copy, Debug)]
struct Entry {
    token: u64,
    ttl: Duration,
    committed: bool,
}

impl Entry {
    const fn answer<L>(&self) -> Answer<L> {
        if self.committed { Answer::Completed } else { Answer::InFlight }
    }

    const fn is_leased_to(&self, token: u64) -> bool {
        self.token == token && !self.committed
    }
}

/// Takes each entry's time to live from the entry.
#[derive(Debug)]
struct OfEntry;

impl moka::Expiry<Vec<u8>, Entry> for OfEntry {
    fn expire_after_create(&self, _: &Vec<u8>, entry: &Entry, _: Instant) -> Option<Duration> {
        Some(entry.ttl)
    }

    fn expire_after_update(
        &self,
        _: &Vec<u8>,
        entry: &Entry,
        _: Instant,
        _: Option<Duration>,
    ) -> Option<Duration> {
        Some(entry.ttl)
    }
}

/// A `moka` cache with what it needs to hold leases.
#[derive(Debug)]
pub struct Moka {
    cache: Cache<Vec<u8>, Entry, RandomState>,
    tokens: Tokens,
}

impl Store for Moka {
    const NAME: &'static str = "moka";

    const PROMISES: Promises = Promises {
        keeps_live_keys: false,
        refuses_at_bound: false,
        orders_expiry: true,
        takes_batches: false,
    };

    type Lease = u64;

    fn new(bound: usize, _sweep_every: Duration, _watch: Watch) -> Self {
        let cache = Cache::builder()
            .max_capacity(bound as u64)
            .initial_capacity(bound)
            .expire_after(OfEntry)
            .build_with_hasher(RandomState::new());
        Self { cache, tokens: Tokens::default() }
    }

    #[inline]
    fn acquire(&self, key: &Key) -> Answer<u64> {
        if let Some(entry) = self.cache.get(key.as_bytes()) {
            return entry.answer();
        }
        let grant = || Entry { token: self.tokens.next(), ttl: LEASE_TTL, committed: false };
        let entry = self.cache.entry_by_ref(key.as_bytes()).or_insert_with(grant);
        if entry.is_fresh() { Answer::Granted(entry.value().token) } else { entry.value().answer() }
    }

    #[inline]
    fn commit(&self, key: &Key, token: u64, kept: Duration) -> bool {
        let result = self.cache.entry_by_ref(key.as_bytes()).and_compute_with(|found| match found
            .map(|entry| *entry.value())
        {
            Some(entry) if entry.is_leased_to(token) => {
                Op::Put(Entry { token, ttl: kept, committed: true })
            }
            _ => Op::Nop,
        });
        matches!(result, CompResult::ReplacedWith(_))
    }

    #[inline]
    fn release(&self, key: &Key, token: u64) -> bool {
        let result = self.cache.entry_by_ref(key.as_bytes()).and_compute_with(|found| match found
            .map(|entry| *entry.value())
        {
            Some(entry) if entry.is_leased_to(token) => Op::Remove,
            _ => Op::Nop,
        });
        matches!(result, CompResult::Removed(_))
    }

    fn entries(&self) -> usize {
        self.cache.run_pending_tasks();
        usize::try_from(self.cache.entry_count()).unwrap_or(usize::MAX)
    }
}
