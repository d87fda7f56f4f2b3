//! The memory store by its public calls: parts hashed in the call, statistics on, no fingerprint.

use std::time::Duration;

use leasehold::{AcquireError, Admission, Lease, MemoryStore, Terms, Ttl};

use super::{Answer, Promises, Store, Watch};
use crate::key::Key;
use crate::workload::{self, BATCH};

/// A memory store on the system's clock, and the terms of every acquire.
#[derive(Debug)]
pub struct Leasehold {
    store: MemoryStore,
    terms: Terms,
}

impl Leasehold {
    /// Expired entries that were reclaimed since it was made.
    #[must_use]
    pub fn reclaimed(&self) -> u64 {
        self.store.stats().reclaimed
    }
}

impl Store for Leasehold {
    const NAME: &'static str = "leasehold";

    const PROMISES: Promises = Promises {
        keeps_live_keys: true,
        refuses_at_bound: true,
        orders_expiry: true,
        takes_batches: true,
    };

    type Lease = Lease;

    fn new(bound: usize, _sweep_every: Duration, _watch: Watch) -> Self {
        Self { store: workload::store(bound), terms: workload::terms() }
    }

    #[inline]
    fn acquire(&self, key: &Key) -> Answer<Lease> {
        match self.store.acquire(self.store.identify(&key.parts()), &self.terms) {
            Ok(Admission::Granted(lease)) => Answer::Granted(lease),
            Ok(Admission::InFlight { .. }) => Answer::InFlight,
            Ok(Admission::Completed { .. }) => Answer::Completed,
            Err(AcquireError::Full) => Answer::Full,
            other => panic!("an acquire without a fingerprint was told {other:?}"),
        }
    }

    #[inline]
    fn commit(&self, _key: &Key, mut lease: Lease, kept: Duration) -> bool {
        Ttl::new(kept).is_ok_and(|ttl| self.store.commit(&mut lease, None, ttl).is_ok())
    }

    #[inline]
    fn release(&self, _key: &Key, mut lease: Lease) -> bool {
        self.store.release(&mut lease).is_ok()
    }

    #[inline]
    fn completed_of(&self, keys: &[Key; BATCH]) -> usize {
        let identities = keys.each_ref().map(|key| self.store.identify(&key.parts()));
        let answers = self.store.acquire_many(&identities, &self.terms);
        let is_completed = |answer: &&_| matches!(answer, Ok(Admission::Completed { .. }));
        answers.iter().filter(is_completed).count()
    }

    fn entries(&self) -> usize {
        self.store.usage().entries
    }
}
