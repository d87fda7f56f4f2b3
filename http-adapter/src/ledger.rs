//! What this process knows of its keys besides the store: who waits, what runs without a lease, and
//! which successes are still to be recorded.
//!
//! It only brings these together. None of it decides over the store where the store knows.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use leasehold::{Address, Admission, LeaseStore, Terms};

use crate::open_runs::OpenRuns;
use crate::pending::Pending;
use crate::seldom::Seldom;
use crate::waiting::Waiting;

/// One for all services of a layer.
#[derive(Debug)]
pub(crate) struct Ledger<S> {
    pub(crate) waiting: Arc<Waiting>,
    pub(crate) open_runs: OpenRuns,
    pub(crate) pending: Pending<S>,
    /// For warnings of requests that run without a lease: a store that is down makes one each.
    pub(crate) warnings: Seldom,
}

/// At most one warning in this time. Arbitrary.
const WARNING_INTERVAL: Duration = Duration::from_secs(1);

impl<S> Ledger<S> {
    pub(crate) fn new(waiting: Waiting, pending: Pending<S>) -> Self {
        let warnings = Seldom::new(WARNING_INTERVAL);
        Self { waiting: Arc::new(waiting), open_runs: OpenRuns::default(), pending, warnings }
    }
}

impl<S: LeaseStore + Clone> Ledger<S> {
    /// What a request gets without the store being asked, if anything.
    pub(crate) fn known(&self, address: &Address, terms: &Terms) -> Option<Admission> {
        // In this order: a run that ends is listed as pending before it is no longer running.
        let running = self.open_runs.running(address, terms);
        running.or_else(|| self.pending.completed(address, terms))
    }
}

/// The ledger as one request sees it. Once its handler has begun, those who wait for the key are
/// told of its end when this is dropped, however that comes about.
#[derive(Debug)]
pub(crate) struct Access<S> {
    ledger: Arc<Ledger<S>>,
    address: Address,
    has_begun: bool,
}

impl<S> Access<S> {
    pub(crate) fn new(ledger: &Arc<Ledger<S>>, address: Address) -> Self {
        Self { ledger: Arc::clone(ledger), address, has_begun: false }
    }

    /// Notes that the request has the right to run.
    pub(crate) const fn begin(&mut self) {
        self.has_begun = true;
    }

    /// The ledger for what outlives this.
    pub(crate) fn shared(&self) -> Arc<Ledger<S>> {
        Arc::clone(&self.ledger)
    }
}

impl<S> Deref for Access<S> {
    type Target = Ledger<S>;

    fn deref(&self) -> &Ledger<S> {
        &self.ledger
    }
}

impl<S> Drop for Access<S> {
    fn drop(&mut self) {
        if self.has_begun {
            self.ledger.waiting.tell(&self.address);
        }
    }
}
