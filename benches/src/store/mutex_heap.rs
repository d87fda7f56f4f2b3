//! One `Mutex` over a `HashMap` and a `BinaryHeap` of deadlines: what one writes first.
//!
//! Keeps the whole contract: an exact bound, and an order of expiry. Every call waits for every
//! other. A heap cannot take an entry out of its middle, so deadlines that have moved and keys that
//! were released stay in it until they are due.

use std::cmp::Reverse;
use std::collections::hash_map::Entry as Found;
use std::collections::{BinaryHeap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ahash::RandomState;

use super::entry::{Entry, SharedLease};
use super::supplies::nanos;
use super::{Answer, Promises, Store, Watch};
use crate::key::Key;
use crate::workload::LEASE_TTL;

/// How many due records one acquire takes off the heap, so that none of them waits long. At the
/// bound it takes all, so that *full* is never told while a key is due.
const SWEEP_BUDGET: usize = 4;

/// A deadline, the token that it belongs to, and the key.
type Record = Reverse<(u64, u64, Arc<[u8]>)>;

/// What the lock guards.
#[derive(Debug)]
struct Inside {
    map: HashMap<Arc<[u8]>, Entry, RandomState>,
    heap: BinaryHeap<Record>,
    last_token: u64,
}

impl Inside {
    /// Removes what is due. A record counts if its key still has that token and deadline.
    fn sweep(&mut self, now: u64, budget: usize) {
        for _ in 0..budget {
            let Some(Reverse((deadline, _, _))) = self.heap.peek() else {
                return;
            };
            if now < *deadline {
                return;
            }
            if let Some(Reverse((deadline, token, key))) = self.heap.pop()
                && self.map.get(&key).is_some_and(|e| e.token == token && e.deadline == deadline)
            {
                self.map.remove(&key);
            }
        }
    }
}

/// A map and a heap behind one lock.
#[derive(Debug)]
pub struct MutexHeap {
    inside: Mutex<Inside>,
    bound: usize,
    watch: Watch,
}

impl MutexHeap {
    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for MutexHeap {
    const NAME: &'static str = "mutex_heap";

    const PROMISES: Promises = Promises {
        keeps_live_keys: true,
        refuses_at_bound: true,
        orders_expiry: true,
        takes_batches: false,
    };

    type Lease = SharedLease;

    fn new(bound: usize, _sweep_every: Duration, watch: Watch) -> Self {
        let map = HashMap::with_capacity_and_hasher(bound, RandomState::new());
        let heap = BinaryHeap::with_capacity(bound);
        Self { inside: Mutex::new(Inside { map, heap, last_token: 0 }), bound, watch }
    }

    #[inline]
    fn acquire(&self, key: &Key) -> Answer<SharedLease> {
        let now = self.watch.nanos();
        let deadline = now + nanos(LEASE_TTL);
        let mut inside = self.lock();
        let budget = if inside.map.len() < self.bound { SWEEP_BUDGET } else { usize::MAX };
        inside.sweep(now, budget);
        let Inside { map, heap, last_token } = &mut *inside;
        let known = match map.get_key_value(key.as_bytes()) {
            Some((_, entry)) if entry.is_live(now) => return entry.answer(),
            Some((shared, _)) => Some(Arc::clone(shared)),
            None if map.len() >= self.bound => return Answer::Full,
            None => None,
        };
        let shared = known.unwrap_or_else(|| key.as_bytes().into());
        *last_token += 1;
        heap.push(Reverse((deadline, *last_token, Arc::clone(&shared))));
        map.insert(Arc::clone(&shared), Entry::granted(*last_token, deadline));
        Answer::Granted(SharedLease { token: *last_token, key: shared })
    }

    #[inline]
    fn commit(&self, _key: &Key, lease: SharedLease, kept: Duration) -> bool {
        let SharedLease { token, key } = lease;
        let deadline = self.watch.deadline(kept);
        let mut inside = self.lock();
        let Inside { map, heap, .. } = &mut *inside;
        let done = map.get_mut(&key).is_some_and(|entry| entry.commit(token, deadline));
        if done {
            heap.push(Reverse((deadline, token, key)));
        }
        done
    }

    #[inline]
    fn release(&self, _key: &Key, lease: SharedLease) -> bool {
        let SharedLease { token, key } = lease;
        let mut inside = self.lock();
        match inside.map.entry(key) {
            Found::Occupied(found) if found.get().is_leased_to(token) => {
                found.remove();
                true
            }
            _ => false,
        }
    }

    fn entries(&self) -> usize {
        self.lock().map.len()
    }
}
