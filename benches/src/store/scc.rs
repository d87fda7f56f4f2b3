//! `scc`: a map of small buckets, each behind a lock.
//!
//! Cannot say what falls due next: expiry is decided on read, and now and then one caller looks
//! through all keys. The bound is a counter beside the map, so *full* may be told while expired
//! keys wait for that.

use std::time::Duration;

use ahash::RandomState;
use scc::hash_map::Entry as Found;

use super::entry::Entry;
use super::supplies::{Places, Sweeps, Tokens, nanos};
use super::{Answer, Promises, Store, Watch};
use crate::key::Key;
use crate::workload::LEASE_TTL;

/// A `scc::HashMap` with what it needs to hold leases.
#[derive(Debug)]
pub struct Scc {
    map: scc::HashMap<Box<[u8]>, Entry, RandomState>,
    places: Places,
    tokens: Tokens,
    sweeps: Sweeps,
    watch: Watch,
}

impl Scc {
    fn sweep(&self, now: u64) {
        self.map.retain_sync(|_, entry| self.places.retain(entry.is_live(now)));
    }
}

impl Store for Scc {
    const NAME: &'static str = "scc";

    const PROMISES: Promises = Promises {
        keeps_live_keys: true,
        refuses_at_bound: true,
        orders_expiry: false,
        takes_batches: false,
    };

    type Lease = u64;

    fn new(bound: usize, sweep_every: Duration, watch: Watch) -> Self {
        Self {
            map: scc::HashMap::with_capacity_and_hasher(bound, RandomState::new()),
            places: Places::new(bound),
            tokens: Tokens::default(),
            sweeps: Sweeps::new(sweep_every, &watch),
            watch,
        }
    }

    #[inline]
    fn acquire(&self, key: &Key) -> Answer<u64> {
        let now = self.watch.nanos();
        if self.sweeps.is_due(now) {
            self.sweep(now);
        }
        // Most lookups of a duplicate end here, under a shared lock and without an allocation.
        let known = self.map.read_sync(key.as_bytes(), |_, entry| {
            if entry.is_live(now) { Some(entry.answer()) } else { None }
        });
        if let Some(Some(answer)) = known {
            return answer;
        }
        if !self.places.take() {
            return Answer::Full;
        }
        let granted = |token| Entry::granted(token, now + nanos(LEASE_TTL));
        match self.map.entry_sync(key.as_bytes().into()) {
            Found::Occupied(mut found) => {
                self.places.give_back(1);
                if found.get().is_live(now) {
                    return found.get().answer();
                }
                let token = self.tokens.next();
                *found.get_mut() = granted(token);
                Answer::Granted(token)
            }
            Found::Vacant(vacant) => {
                let token = self.tokens.next();
                vacant.insert_entry(granted(token));
                Answer::Granted(token)
            }
        }
    }

    #[inline]
    fn commit(&self, key: &Key, token: u64, kept: Duration) -> bool {
        let deadline = self.watch.deadline(kept);
        let done = self.map.update_sync(key.as_bytes(), |_, entry| entry.commit(token, deadline));
        done == Some(true)
    }

    #[inline]
    fn release(&self, key: &Key, token: u64) -> bool {
        let leased = |entry: &mut Entry| entry.is_leased_to(token);
        let removed = self.map.remove_if_sync(key.as_bytes(), leased).is_some();
        if removed {
            self.places.give_back(1);
        }
        removed
    }

    fn entries(&self) -> usize {
        self.map.len()
    }
}
