//! The one trait that every store implements, with its laws.

use std::future::Future;
use std::time::Instant;

use super::address::Address;
use super::admission::{Admission, Outcome, RecordState};
use super::error::{AcquireError, AttachError, CommitError, ReleaseError, RenewError, StoreError};
use super::lease::Lease;
use super::terms::{Attempt, Terms, Ttl};

/// A place where leases are granted, committed and released.
///
/// The laws hold for every implementation; each is a function in the crate
/// `leasehold-conformance`, and `docs/contract.md` has the whole table of state, verb and token.
///
/// - **One winner.** Of any number of concurrent acquires of one address exactly one is granted. An
///   expired lease is taken over by exactly one.
/// - **Never early.** A lease or a kept key never ends before its TTL. Expiry is decided on read:
///   correctness never waits for a sweep.
/// - **Late commit.** A lease outlives its deadline by the store's late grace unless it is taken
///   over or forgotten: until then commit and renew succeed, since the work was done.
/// - **Repetition.** A commit repeated by the token that committed is done, and moves nothing.
/// - **Nothing live is evicted.** A store at its bound refuses.
///
/// # Cancel safety
///
/// A future that is dropped before it is ready may or may not have had its effect, as if the answer
/// had been lost: after `acquire` send one [`abandon`](LeaseStore::abandon); repeat the others.
/// (The memory store's futures act on their first poll and never wait.)
pub trait LeaseStore: Send + Sync + 'static {
    /// Asks for the right to run the request that the address stands for.
    ///
    /// # Errors
    ///
    /// - [`AcquireError::Full`]: refuse with "try later".
    /// - [`AcquireError::Closed`], [`AcquireError::ClockExhausted`]: refuse.
    /// - [`AcquireError::Unavailable`]: refuse, and [`abandon`](LeaseStore::abandon) the attempt.
    fn acquire(
        &self,
        address: Address,
        terms: Terms,
    ) -> impl Future<Output = Result<Admission, AcquireError>> + Send;

    /// Keeps the key for `ttl`, counted from a moment within the call, with what the run left.
    ///
    /// If the outcome finds no room the commit succeeds without it.
    ///
    /// # Errors
    ///
    /// - [`CommitError::Superseded`]: the key is not this lease's any more; count it.
    /// - [`CommitError::Foreign`]: the lease is another store's.
    /// - [`CommitError::Unavailable`]: repeat it; a commit that landed is not done twice.
    fn commit(
        &self,
        lease: &mut Lease,
        outcome: Option<Outcome>,
        ttl: Ttl,
    ) -> impl Future<Output = Result<(), CommitError>> + Send;

    /// Adds the outcome to an entry that this lease has committed without one, once. Never moves
    /// the deadline.
    ///
    /// # Errors
    ///
    /// Every [`AttachError`] is harmless: the key stays committed and is not replayable.
    fn attach(
        &self,
        lease: &Lease,
        outcome: Outcome,
    ) -> impl Future<Output = Result<(), AttachError>> + Send;

    /// Frees the key, so that the same request may run again at once. Releasing what is gone is
    /// done. A committed key is never touched, the lease's own included.
    ///
    /// # Errors
    ///
    /// - [`ReleaseError::Superseded`]: the key is committed or another's; nothing was touched.
    /// - [`ReleaseError::Foreign`]: the lease is another store's.
    /// - [`ReleaseError::Unavailable`]: repeat it, or let the lease end by itself.
    fn release(&self, lease: &mut Lease) -> impl Future<Output = Result<(), ReleaseError>> + Send;

    /// Releases a lease that `attempt` may have been granted without hearing of it. Done when there
    /// is none.
    ///
    /// # Errors
    ///
    /// [`StoreError`]: at worst that lease ends by itself.
    fn abandon(
        &self,
        address: Address,
        attempt: Attempt,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Sets the lease's end to `lease_ttl` from a moment within the call, be it later or earlier
    /// than before, and gives the new deadline.
    ///
    /// # Errors
    ///
    /// - [`RenewError::Superseded`]: the lease is lost; a renewal never brings one back.
    /// - [`RenewError::Foreign`]: the lease is another store's.
    /// - [`RenewError::Unavailable`]: try again before the deadline.
    fn renew(
        &self,
        lease: &mut Lease,
        lease_ttl: Ttl,
    ) -> impl Future<Output = Result<Instant, RenewError>> + Send;

    /// What an acquire of this address would meet. For operators.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when the store does not answer.
    fn peek(
        &self,
        address: Address,
    ) -> impl Future<Output = Result<RecordState, StoreError>> + Send;

    /// Removes whatever is kept for the address; true if there was a live record. A running holder
    /// then finds itself superseded. For operators: **the request may run again**.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when the store does not answer.
    fn forget(&self, address: Address) -> impl Future<Output = Result<bool, StoreError>> + Send;

    /// Reclaims up to `budget` expired entries and gives their number. Only frees memory.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when the store does not answer.
    fn sweep(&self, budget: usize) -> impl Future<Output = Result<usize, StoreError>> + Send;

    /// Refuses new acquires from now on; running leases may still settle.
    fn close(&self);

    /// How many entries there are, for stores that count them.
    fn usage(&self) -> Option<Usage> {
        None
    }

    /// Whether leases may be granted and settled by others than the users of this value, so that
    /// who waits for a lease's end has to ask now and then.
    fn is_shared(&self) -> bool {
        true
    }
}

/// How full a bounded store is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Entries that hold a place: running, committed, and expired ones not yet reclaimed.
    pub entries: usize,
    /// The bound.
    pub max_entries: usize,
}

/// A shared store is a store.
impl<S: LeaseStore> LeaseStore for std::sync::Arc<S> {
    fn acquire(
        &self,
        address: Address,
        terms: Terms,
    ) -> impl Future<Output = Result<Admission, AcquireError>> + Send {
        S::acquire(self, address, terms)
    }

    fn commit(
        &self,
        lease: &mut Lease,
        outcome: Option<Outcome>,
        ttl: Ttl,
    ) -> impl Future<Output = Result<(), CommitError>> + Send {
        S::commit(self, lease, outcome, ttl)
    }

    fn attach(
        &self,
        lease: &Lease,
        outcome: Outcome,
    ) -> impl Future<Output = Result<(), AttachError>> + Send {
        S::attach(self, lease, outcome)
    }

    fn release(&self, lease: &mut Lease) -> impl Future<Output = Result<(), ReleaseError>> + Send {
        S::release(self, lease)
    }

    fn abandon(
        &self,
        address: Address,
        attempt: Attempt,
    ) -> impl Future<Output = Result<(), StoreError>> + Send {
        S::abandon(self, address, attempt)
    }

    fn renew(
        &self,
        lease: &mut Lease,
        lease_ttl: Ttl,
    ) -> impl Future<Output = Result<Instant, RenewError>> + Send {
        S::renew(self, lease, lease_ttl)
    }

    fn peek(
        &self,
        address: Address,
    ) -> impl Future<Output = Result<RecordState, StoreError>> + Send {
        S::peek(self, address)
    }

    fn forget(&self, address: Address) -> impl Future<Output = Result<bool, StoreError>> + Send {
        S::forget(self, address)
    }

    fn sweep(&self, budget: usize) -> impl Future<Output = Result<usize, StoreError>> + Send {
        S::sweep(self, budget)
    }

    fn close(&self) {
        S::close(self);
    }

    fn usage(&self) -> Option<Usage> {
        S::usage(self)
    }

    fn is_shared(&self) -> bool {
        S::is_shared(self)
    }
}
