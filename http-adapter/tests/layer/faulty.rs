//! The memory store behind a connection that can fail: calls are lost before or after they have
//! their effect, or hang. What is answered is always the real store's answer.

use std::collections::{HashSet, VecDeque};
use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use leasehold::{
    AcquireError, Address, Admission, AttachError, Attempt, CommitError, Fingerprint, Lease,
    LeaseStore, MemoryConfig, MemoryStore, Outcome, RecordState, ReleaseError, RenewError,
    StoreError, StoreErrorKind, Terms, Ttl,
};
use leasehold_http::{Policy, Routes};

use crate::support::{App, Gate, Seen, memory};

/// What happens to one call.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    /// It does not reach the store, and fails at once.
    LostBefore,
    /// It does not reach the store, and fails in this way.
    Fails(StoreErrorKind),
    /// It reaches the store, and its answer is lost: it fails.
    LostAfter,
    /// It does not reach the store, and there is never an answer.
    Hang,
    /// It reaches the store, and there is never an answer.
    HangAfter,
    /// It reaches the store, and its answer waits at a gate.
    Late(Gate),
}

#[derive(Clone, Debug)]
pub(crate) struct Faulty {
    store: Arc<MemoryStore>,
    /// For the next calls, verb and fault; a call of another verb is none of their business.
    faults: Arc<Mutex<VecDeque<(&'static str, Fault)>>>,
    /// Every call that was made, the lost ones included.
    pub(crate) calls: Seen<&'static str>,
    /// What was given up: an abandon may be late, and must not find a lease of a later call.
    abandoned: Arc<Mutex<HashSet<Attempt>>>,
    /// Whether others may hold leases of it.
    shared: bool,
    /// Fingerprints are given to the calls from this on, each another one.
    fingerprint: Arc<Mutex<Option<u8>>>,
}

impl Faulty {
    pub(crate) fn app(policy: Policy) -> App<Self> {
        Self::app_with(policy, true)
    }

    /// One whose leases are those of this process alone.
    pub(crate) fn local(policy: Policy) -> App<Self> {
        Self::app_with(policy, false)
    }

    fn app_with(policy: Policy, shared: bool) -> App<Self> {
        let (store, clock) = memory(MemoryConfig::default());
        let faulty = Self {
            store: Arc::clone(&store),
            faults: Arc::default(),
            calls: Seen::default(),
            abandoned: Arc::default(),
            shared,
            fingerprint: Arc::default(),
        };
        App::with_store(faulty, store, clock, Routes::new(policy))
    }

    /// Puts a fault behind those that wait for their calls.
    pub(crate) fn fail(&self, verb: &'static str, fault: Fault) {
        self.faults.lock().expect("not poisoned").push_back((verb, fault));
    }

    /// Asks for each acquire with another fingerprint, as if each request were another one.
    pub(crate) fn fingerprint_each(&self) {
        *self.fingerprint.lock().expect("not poisoned") = Some(0);
    }

    fn next_fingerprint(&self) -> Option<Fingerprint> {
        let mut next = self.fingerprint.lock().expect("not poisoned");
        let byte = next.as_mut()?;
        *byte += 1;
        Some(Fingerprint::from_bytes([*byte; 32]))
    }

    /// Makes a call under the next fault for its verb, if there is one.
    async fn call<T>(
        &self,
        verb: &'static str,
        call: impl Future<Output = T> + Send,
        error: impl FnOnce(StoreError) -> T + Send,
    ) -> T {
        self.calls.push(verb);
        let fault = {
            let mut faults = self.faults.lock().expect("not poisoned");
            let position = faults.iter().position(|(of, _)| *of == verb);
            position.and_then(|position| faults.remove(position))
        };
        match fault {
            None => call.await,
            Some((_, Fault::LostBefore)) => error(StoreError::new(StoreErrorKind::Unreachable)),
            Some((_, Fault::Fails(kind))) => error(StoreError::new(kind)),
            Some((_, Fault::LostAfter)) => {
                call.await;
                error(StoreError::new(StoreErrorKind::NoAnswer))
            }
            Some((_, Fault::Hang)) => pending().await,
            Some((_, Fault::HangAfter)) => {
                call.await;
                pending().await
            }
            Some((_, Fault::Late(gate))) => {
                let answer = call.await;
                gate.pass().await;
                answer
            }
        }
    }
}

impl LeaseStore for Faulty {
    async fn acquire(&self, address: Address, terms: Terms) -> Result<Admission, AcquireError> {
        let abandoned = self.abandoned.lock().expect("not poisoned").contains(&terms.attempt);
        assert!(!abandoned, "an attempt that was abandoned is made again");
        let terms = match self.next_fingerprint() {
            Some(fingerprint) => terms.fingerprint(fingerprint),
            None => terms,
        };
        let call = self.store.acquire(address, terms);
        self.call("acquire", call, |error| Err(AcquireError::Unavailable(error))).await
    }

    async fn commit(
        &self,
        lease: &mut Lease,
        outcome: Option<Outcome>,
        ttl: Ttl,
    ) -> Result<(), CommitError> {
        let call = self.store.commit(lease, outcome, ttl);
        self.call("commit", call, |error| Err(CommitError::Unavailable(error))).await
    }

    async fn attach(&self, lease: &Lease, outcome: Outcome) -> Result<(), AttachError> {
        let call = self.store.attach(lease, outcome);
        self.call("attach", call, |error| Err(AttachError::Unavailable(error))).await
    }

    async fn release(&self, lease: &mut Lease) -> Result<(), ReleaseError> {
        let call = self.store.release(lease);
        self.call("release", call, |error| Err(ReleaseError::Unavailable(error))).await
    }

    async fn abandon(&self, address: Address, attempt: Attempt) -> Result<(), StoreError> {
        self.abandoned.lock().expect("not poisoned").insert(attempt);
        self.call("abandon", self.store.abandon(address, attempt), Err).await
    }

    async fn renew(&self, lease: &mut Lease, lease_ttl: Ttl) -> Result<Instant, RenewError> {
        let call = self.store.renew(lease, lease_ttl);
        self.call("renew", call, |error| Err(RenewError::Unavailable(error))).await
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

    fn is_shared(&self) -> bool {
        self.shared
    }
}
