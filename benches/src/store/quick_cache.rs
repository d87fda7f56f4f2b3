//! `quick_cache`: a cache in shards, each behind a lock.
//!
//! Evicts live keys once a shard is at its share of the bound, and so cannot say *full*: a
//! duplicate may run twice. It knows no time: expiry is decided on read, and what nobody asks for
//! stays until it is evicted or until one caller looks through all keys.

use std::time::Duration;

use ahash::RandomState;
use quick_cache::UnitWeighter;
use quick_cache::sync::{Cache, EntryAction, EntryResult};

use super::entry::Entry;
use super::supplies::{Sweeps, Tokens, nanos};
use super::{Answer, Promises, Store, Watch};
use crate::key::Key;
use crate::workload::LEASE_TTL;

/// A `quick_cache` cache with what it needs to hold leases.
#[derive(Debug)]
pub struct QuickCache {
    cache: Cache<Vec<u8>, Entry, UnitWeighter, RandomState>,
    tokens: Tokens,
    sweeps: Sweeps,
    watch: Watch,
}

impl Store for QuickCache {
    const NAME: &'static str = "quick_cache";

    const PROMISES: Promises = Promises {
        keeps_live_keys: false,
        refuses_at_bound: false,
        orders_expiry: false,
        takes_batches: false,
    };

    type Lease = u64;

    fn new(bound: usize, sweep_every: Duration, watch: Watch) -> Self {
        let lifecycle = quick_cache::sync::DefaultLifecycle::default();
        Self {
            cache: Cache::with(bound, bound as u64, UnitWeighter, RandomState::new(), lifecycle),
            tokens: Tokens::default(),
            sweeps: Sweeps::new(sweep_every, &watch),
            watch,
        }
    }

    #[inline]
    fn acquire(&self, key: &Key) -> Answer<u64> {
        let now = self.watch.nanos();
        if self.sweeps.is_due(now) {
            self.cache.retain(|_, entry| entry.is_live(now));
        }
        // `get` takes the shard's lock shared, `entry` alone.
        if let Some(entry) = self.cache.get(key.as_bytes())
            && entry.is_live(now)
        {
            return entry.answer();
        }
        let found = self.cache.entry(key.as_bytes(), None, |_, entry| {
            if entry.is_live(now) {
                EntryAction::Retain(*entry)
            } else {
                EntryAction::ReplaceWithGuard
            }
        });
        match found {
            EntryResult::Retained(entry) => entry.answer(),
            EntryResult::Vacant(guard) | EntryResult::Replaced(guard, _) => {
                let token = self.tokens.next();
                match guard.insert(Entry::granted(token, now + nanos(LEASE_TTL))) {
                    Ok(()) => Answer::Granted(token),
                    Err(_) => Answer::InFlight,
                }
            }
            EntryResult::Removed(..) | EntryResult::Timeout => Answer::InFlight,
        }
    }

    #[inline]
    fn commit(&self, key: &Key, token: u64, kept: Duration) -> bool {
        let deadline = self.watch.deadline(kept);
        let commit =
            |_: &Vec<u8>, entry: &mut Entry| EntryAction::Retain(entry.commit(token, deadline));
        matches!(self.cache.entry(key.as_bytes(), None, commit), EntryResult::Retained(true))
    }

    #[inline]
    fn release(&self, key: &Key, token: u64) -> bool {
        self.cache.remove_if(key.as_bytes(), |entry| entry.is_leased_to(token)).is_some()
    }

    fn entries(&self) -> usize {
        self.cache.len()
    }
}
