//! A store that holds one answer back until it is told to let it go.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use leasehold::{
    AcquireError, Address, Admission, AttachError, Attempt, CommitError, Lease, LeaseStore,
    Outcome, RecordState, ReleaseError, RenewError, StoreError, Terms, Ttl,
};
use tokio::sync::Barrier;

/// A store and its gate.
pub(crate) struct Gated<S> {
    store: S,
    gate: Mutex<Option<Arc<Barrier>>>,
}

impl<S: LeaseStore> Gated<S> {
    pub(crate) const fn new(store: S) -> Self {
        Self { store, gate: Mutex::new(None) }
    }

    /// Holds the next acquire's answer: who waits at the gate once learns that it is there, and
    /// lets it go by waiting once more.
    pub(crate) fn hold_next(&self) -> Arc<Barrier> {
        let gate = Arc::new(Barrier::new(2));
        *self.gate.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&gate));
        gate
    }
}

impl<S: LeaseStore> LeaseStore for Gated<S> {
    async fn acquire(&self, address: Address, terms: Terms) -> Result<Admission, AcquireError> {
        let answer = self.store.acquire(address, terms).await;
        let gate = self.gate.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(gate) = gate {
            gate.wait().await;
            gate.wait().await;
        }
        answer
    }

    async fn commit(
        &self,
        lease: &mut Lease,
        outcome: Option<Outcome>,
        ttl: Ttl,
    ) -> Result<(), CommitError> {
        self.store.commit(lease, outcome, ttl).await
    }

    async fn attach(&self, lease: &Lease, outcome: Outcome) -> Result<(), AttachError> {
        self.store.attach(lease, outcome).await
    }

    async fn release(&self, lease: &mut Lease) -> Result<(), ReleaseError> {
        self.store.release(lease).await
    }

    async fn abandon(&self, address: Address, attempt: Attempt) -> Result<(), StoreError> {
        self.store.abandon(address, attempt).await
    }

    async fn renew(&self, lease: &mut Lease, lease_ttl: Ttl) -> Result<Instant, RenewError> {
        self.store.renew(lease, lease_ttl).await
    }

    async fn peek(&self, address: Address) -> Result<RecordState, StoreError> {
        self.store.peek(address).await
    }

    async fn forget(&self, address: Address) -> Result<bool, StoreError> {
        self.store.forget(address).await
    }

    async fn sweep(&self, budget: usize) -> Result<usize, StoreError> {
        self.store.sweep(budget).await
    }

    fn close(&self) {
        self.store.close();
    }
}
