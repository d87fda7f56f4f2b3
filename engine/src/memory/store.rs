//! The same verbs by address, as futures that are ready at their first poll.

use std::future::{Future, ready};
use std::time::Instant;

use super::MemoryStore;
use crate::contract::{
    AcquireError, Address, Admission, AttachError, Attempt, CommitError, Lease, LeaseStore,
    Outcome, RecordState, ReleaseError, RenewError, StoreError, Terms, Ttl, Usage,
};

impl LeaseStore for MemoryStore {
    async fn acquire(&self, address: Address, terms: Terms) -> Result<Admission, AcquireError> {
        Self::acquire(self, self.identify_address(&address), &terms)
    }

    async fn commit(
        &self,
        lease: &mut Lease,
        outcome: Option<Outcome>,
        ttl: Ttl,
    ) -> Result<(), CommitError> {
        Self::commit(self, lease, outcome, ttl)
    }

    async fn attach(&self, lease: &Lease, outcome: Outcome) -> Result<(), AttachError> {
        Self::attach(self, lease, outcome)
    }

    async fn release(&self, lease: &mut Lease) -> Result<(), ReleaseError> {
        Self::release(self, lease)
    }

    /// Done: a call that gave no answer cannot happen here, so no attempt is in doubt.
    fn abandon(
        &self,
        _address: Address,
        _attempt: Attempt,
    ) -> impl Future<Output = Result<(), StoreError>> + Send {
        ready(Ok(()))
    }

    async fn renew(&self, lease: &mut Lease, lease_ttl: Ttl) -> Result<Instant, RenewError> {
        Self::renew(self, lease, lease_ttl)
    }

    async fn peek(&self, address: Address) -> Result<RecordState, StoreError> {
        Ok(Self::peek(self, self.identify_address(&address)))
    }

    async fn forget(&self, address: Address) -> Result<bool, StoreError> {
        Ok(Self::forget(self, self.identify_address(&address)))
    }

    async fn sweep(&self, budget: usize) -> Result<usize, StoreError> {
        Ok(Self::sweep(self, budget))
    }

    fn close(&self) {
        Self::close(self);
    }

    fn usage(&self) -> Option<Usage> {
        Some(Self::usage(self))
    }

    /// No: what happens to its leases happens in this process.
    fn is_shared(&self) -> bool {
        false
    }
}
