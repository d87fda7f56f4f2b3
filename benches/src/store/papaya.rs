//! `papaya`: a map that is read without locks, with a guard per call.
//!
//! Cannot say what falls due next: expiry is decided on read, and now and then one caller looks
//! through all keys. The bound is a counter beside the map, so *full* may be told while expired
//! keys wait for that. It does not reuse the place of a removed key until it grows, so that keys
//! which come and go make it copy its whole table.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ahash::RandomState;
use papaya::{Compute, Operation};

use super::supplies::{Places, Sweeps, Tokens, nanos};
use super::{Answer, Promises, Store, Watch};
use crate::key::Key;
use crate::workload::LEASE_TTL;

/// The bit of `Entry::state` that says committed; the rest is the deadline.
const COMMITTED: u64 = 1;

/// What is kept for a key. Values are shared with readers, so the state moves atomically.
#[derive(Debug)]
struct Entry {
    token: u64,
    state: AtomicU64,
}

impl Entry {
    const fn granted(token: u64, deadline: u64) -> Self {
        Self { token, state: AtomicU64::new(deadline << 1) }
    }

    /// `Acquire`, as a reader of a committed key may go on to what its run has written.
    #[inline]
    fn state(&self) -> u64 {
        self.state.load(Ordering::Acquire)
    }
}

#[inline]
const fn is_live(state: u64, now: u64) -> bool {
    now < state >> 1
}

#[inline]
const fn answer<L>(state: u64) -> Answer<L> {
    if state & COMMITTED == COMMITTED { Answer::Completed } else { Answer::InFlight }
}

/// A `papaya::HashMap` with what it needs to hold leases.
#[derive(Debug)]
pub struct Papaya {
    map: papaya::HashMap<Box<[u8]>, Entry, RandomState>,
    places: Places,
    tokens: Tokens,
    sweeps: Sweeps,
    watch: Watch,
}

impl Papaya {
    fn sweep(&self, now: u64) {
        self.map.pin().retain(|_, entry| self.places.retain(is_live(entry.state(), now)));
    }
}

impl Store for Papaya {
    const NAME: &'static str = "papaya";

    const PROMISES: Promises = Promises {
        keeps_live_keys: true,
        refuses_at_bound: true,
        orders_expiry: false,
        takes_batches: false,
    };

    type Lease = u64;

    fn new(bound: usize, sweep_every: Duration, watch: Watch) -> Self {
        Self {
            map: papaya::HashMap::with_capacity_and_hasher(bound, RandomState::new()),
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
        let map = self.map.pin();
        if let Some(state) = map.get(key.as_bytes()).map(Entry::state)
            && is_live(state, now)
        {
            return answer(state);
        }
        if !self.places.take() {
            return Answer::Full;
        }
        let token = self.tokens.next();
        let deadline = now + nanos(LEASE_TTL);
        let decide = |found: Option<(&Box<[u8]>, &Entry)>| match found.map(|(_, e)| e.state()) {
            Some(state) if is_live(state, now) => Operation::Abort(state),
            _ => Operation::Insert(Entry::granted(token, deadline)),
        };
        match map.compute(key.as_bytes().into(), decide) {
            Compute::Inserted(..) => Answer::Granted(token),
            Compute::Updated { .. } => {
                self.places.give_back(1);
                Answer::Granted(token)
            }
            Compute::Aborted(state) => {
                self.places.give_back(1);
                answer(state)
            }
            Compute::Removed(..) => panic!("nothing was to be removed"),
        }
    }

    #[inline]
    fn commit(&self, key: &Key, token: u64, kept: Duration) -> bool {
        let deadline = self.watch.deadline(kept);
        let map = self.map.pin();
        let Some(entry) = map.get(key.as_bytes()).filter(|entry| entry.token == token) else {
            return false;
        };
        let state = entry.state();
        let committed = deadline << 1 | COMMITTED;
        // `AcqRel`: whoever reads *committed* sees what the run did before it.
        state & COMMITTED == 0
            && entry
                .state
                .compare_exchange(state, committed, Ordering::AcqRel, Ordering::Acquire)
                .is_ok()
    }

    #[inline]
    fn release(&self, key: &Key, token: u64) -> bool {
        let map = self.map.pin();
        let removed = map.remove_if(key.as_bytes(), |_, entry| {
            entry.token == token && entry.state() & COMMITTED != COMMITTED
        });
        let removed = matches!(removed, Ok(Some(_)));
        if removed {
            self.places.give_back(1);
        }
        removed
    }

    fn entries(&self) -> usize {
        self.map.len()
    }
}
