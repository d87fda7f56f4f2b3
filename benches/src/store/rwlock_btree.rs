//! One `RwLock` over a `HashMap` and a `BTreeMap` of deadlines: duplicates share the lock.
//!
//! Keeps the whole contract: an exact bound, and an order of expiry that follows every move of a
//! deadline. Every write waits for every other call.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use ahash::RandomState;

use super::entry::Entry;
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

    type Lease = u64;

    fn new(bound: usize, _sweep_every: Duration, watch: Watch) -> Self {
        let map = HashMap::with_capacity_and_hasher(bound, RandomState::new());
        let inside = Inside { map, due: BTreeMap::new(), last_token: 0 };
        Self { inside: RwLock::new(inside), bound, watch }
    }

    #[inline]
    fn acquire(&self, key: &Key) -> Answer<u64> {
        let now = self.watch.nanos();
        if let Some(entry) = self.read().map.get(key.as_bytes())
            && entry.is_live(now)
        {
            return entry.answer();
        }
        let mut inside = self.write();
        inside.sweep(now);
        let Inside { map, due, last_token } = &mut *inside;
        let found = map.get(key.as_bytes()).copied();
        if let Some(entry) = found.filter(|entry| entry.is_live(now)) {
            return entry.answer();
        }
        if found.is_none() && map.len() >= self.bound {
            return Answer::Full;
        }
        let known = found.and_then(|entry| due.remove(&(entry.deadline, entry.token)));
        let shared = known.unwrap_or_else(|| key.as_bytes().into());
        let deadline = now + nanos(LEASE_TTL);
        *last_token += 1;
        due.insert((deadline, *last_token), Arc::clone(&shared));
        map.insert(shared, Entry::granted(*last_token, deadline));
        Answer::Granted(*last_token)
    }

    #[inline]
    fn commit(&self, key: &Key, token: u64, kept: Duration) -> bool {
        let deadline = self.watch.deadline(kept);
        let mut inside = self.write();
        let Inside { map, due, .. } = &mut *inside;
        let Some(entry) = map.get_mut(key.as_bytes()) else {
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
    fn release(&self, key: &Key, token: u64) -> bool {
        let mut inside = self.write();
        let Inside { map, due, .. } = &mut *inside;
        let leased = map.get(key.as_bytes()).filter(|entry| entry.is_leased_to(token)).copied();
        let Some(entry) = leased else {
            return false;
        };
        due.remove(&(entry.deadline, entry.token));
        map.remove(key.as_bytes()).is_some()
    }

    fn entries(&self) -> usize {
        self.read().map.len()
    }
}
