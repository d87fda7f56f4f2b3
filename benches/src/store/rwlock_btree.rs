//! One `RwLock` over a `HashMap` and a `BTreeMap` of deadlines: duplicates share the lock.
//!
//! Keeps the whole contract: an exact bound, and an order of expiry that follows every move of a
//! deadline. Every write waits for every other call.

use std::collections::hash_map::Entry as Found;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use ahash::RandomState;

use super::entry::{Entry, SharedLease};
use super::supplies::nanos;
use super::{Answer, Promises, Store, Watch};
use crate::key::Key;
use crate::workload::LEASE_TTL;

/// How many due keys one acquire removes, so that none of them waits long.
const SWEEP_BUDGET: usize = 4;

/// What the lock guards.
#[derive(Debug)]
struct Inside {
    map: HashMap<Arc<[u8]>, Entry, RandomState>,
    /// Deadline and token of each key.
    due: BTreeMap<(u64, u64), Arc<[u8]>>,
    last_token: u64,
}

impl Inside {
    fn sweep(&mut self, now: u64) {
        for _ in 0..SWEEP_BUDGET {
            match self.due.first_entry() {
                Some(first) if first.key().0 <= now => {
                    let key = first.remove();
                    self.map.remove(&key);
                }
                _ => return,
            }
        }
    }
}

/// A map and a tree behind one lock.
#[derive(Debug)]
pub struct RwLockBTree {
    inside: RwLock<Inside>,
    bound: usize,
    watch: Watch,
}

impl RwLockBTree {
    fn read(&self) -> RwLockReadGuard<'_, Inside> {
        self.inside.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Inside> {
        self.inside.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for RwLockBTree {
    const NAME: &'static str = "rwlock_btree";

    const PROMISES: Promises = Promises {
        keeps_live_keys: true,
        refuses_at_bound: true,
        orders_expiry: true,
        takes_batches: false,
    };

    type Lease = SharedLease;

    fn new(bound: usize, _sweep_every: Duration, watch: Watch) -> Self {
        let map = HashMap::with_capacity_and_hasher(bound, RandomState::new());
        let inside = Inside { map, due: BTreeMap::new(), last_token: 0 };
        Self { inside: RwLock::new(inside), bound, watch }
    }

    #[inline]
    fn acquire(&self, key: &Key) -> Answer<SharedLease> {
        let now = self.watch.nanos();
        if let Some(entry) = self.read().map.get(key.as_bytes())
            && entry.is_live(now)
        {
            return entry.answer();
        }
        let mut inside = self.write();
        inside.sweep(now);
        let Inside { map, due, last_token } = &mut *inside;
        let is_full = map.len() >= self.bound;
        let token = *last_token + 1;
        let granted = Entry::granted(token, now + nanos(LEASE_TTL));
        // A key that was not found a moment ago is fresh in nearly every case, and then its copy is
        // needed.
        let shared: Arc<[u8]> = key.as_bytes().into();
        match map.entry(Arc::clone(&shared)) {
            Found::Occupied(found) if found.get().is_live(now) => return found.get().answer(),
            Found::Occupied(mut found) => {
                let expired = found.insert(granted);
                due.remove(&(expired.deadline, expired.token));
            }
            Found::Vacant(_) if is_full => return Answer::Full,
            Found::Vacant(vacant) => {
                vacant.insert(granted);
            }
        }
        *last_token = token;
        due.insert((granted.deadline, token), Arc::clone(&shared));
        Answer::Granted(SharedLease { token, key: shared })
    }

    #[inline]
    fn commit(&self, _key: &Key, lease: SharedLease, kept: Duration) -> bool {
        let SharedLease { token, key } = lease;
        let deadline = self.watch.deadline(kept);
        let mut inside = self.write();
        let Inside { map, due, .. } = &mut *inside;
        let Some(entry) = map.get_mut(&key) else {
            return false;
        };
        let before = (entry.deadline, entry.token);
        let done = entry.commit(token, deadline);
        if done && let Some(shared) = due.remove(&before) {
            due.insert((deadline, token), shared);
        }
        done
    }

    #[inline]
    fn release(&self, _key: &Key, lease: SharedLease) -> bool {
        let SharedLease { token, key } = lease;
        let mut inside = self.write();
        let Inside { map, due, .. } = &mut *inside;
        match map.entry(key) {
            Found::Occupied(found) if found.get().is_leased_to(token) => {
                let entry = found.remove();
                due.remove(&(entry.deadline, entry.token));
                true
            }
            _ => false,
        }
    }

    fn entries(&self) -> usize {
        self.read().map.len()
    }
}
