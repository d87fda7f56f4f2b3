//! `dashmap`: a map in shards, each behind a lock.
//!
//! Cannot say what falls due next: expiry is decided on read, and now and then one caller looks
//! through all keys. The bound is a counter beside the map, so *full* may be told while expired
//! keys wait for that.

use std::time::Duration;

use ahash::RandomState;
use dashmap::Entry as Found;

use super::entry::Entry;
use super::supplies::{Places, Sweeps, Tokens};
use super::{Answer, Promises, Store, Watch};
use crate::key::Key;
use crate::workload::LEASE_TTL;

/// A `DashMap` with what it needs to hold leases.
#[derive(Debug)]
pub struct DashMap {
    map: dashmap::DashMap<Box<[u8]>, Entry, RandomState>,
    places: Places,
    tokens: Tokens,
    sweeps: Sweeps,
    watch: Watch,
}

impl DashMap {
    fn sweep(&self, now: u64) {
        self.map.retain(|_, entry| self.places.retain(entry.is_live(now)));
    }
}

impl Store for DashMap {
    const NAME: &'static str = "dashmap";

    const PROMISES: Promises = Promises {
        keeps_live_keys: true,
        refuses_at_bound: true,
        orders_expiry: false,
        takes_batches: false,
    };

    type Lease = u64;

    fn new(bound: usize, sweep_every: Duration, watch: Watch) -> Self {
        Self {
            map: dashmap::DashMap::with_capacity_and_hasher(bound, RandomState::new()),
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
        if let Some(entry) = self.map.get(key.as_bytes())
            && entry.is_live(now)
        {
            return entry.answer();
        }
        if !self.places.take() {
            return Answer::Full;
        }
        let granted = |token| Entry::granted(token, now + super::supplies::nanos(LEASE_TTL));
        match self.map.entry(key.as_bytes().into()) {
            Found::Occupied(mut found) => {
                self.places.give_back(1);
                if found.get().is_live(now) {
                    return found.get().answer();
                }
                let token = self.tokens.next();
                found.insert(granted(token));
                Answer::Granted(token)
            }
            Found::Vacant(vacant) => {
                let token = self.tokens.next();
                vacant.insert(granted(token));
                Answer::Granted(token)
            }
        }
    }

    #[inline]
    fn commit(&self, key: &Key, token: u64, kept: Duration) -> bool {
        let deadline = self.watch.deadline(kept);
        self.map.get_mut(key.as_bytes()).is_some_and(|mut entry| entry.commit(token, deadline))
    }

    #[inline]
    fn release(&self, key: &Key, token: u64) -> bool {
        let removed = self.map.remove_if(key.as_bytes(), |_, entry| entry.is_leased_to(token));
        if removed.is_some() {
            self.places.give_back(1);
        }
        removed.is_some()
    }

    fn entries(&self) -> usize {
        self.map.len()
    }
}
