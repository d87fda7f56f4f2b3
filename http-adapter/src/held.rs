//! What a handler may see of its lease while it runs, and where the lease itself is meanwhile.
//!
//! The handler has a view only. The lease has one owner at a time, who renews or settles it.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use leasehold::{Address, Lease, Token};
use tokio::sync::Notify;

use crate::layer::Prepared;

/// The lease of the running request, in the request's extensions.
///
/// A handler that writes to a system of its own may send the token along, so that the system can
/// refuse writes with an older token. It may ask now and then whether the lease still holds, or
/// wait for its loss beside its work.
///
/// ```
/// use leasehold_http::HeldLease;
///
/// fn next_step_may_run(parts: &http::request::Parts) -> bool {
///     parts.extensions.get::<HeldLease>().is_none_or(|lease| !lease.is_lost())
/// }
///
/// # async fn work() {}
/// async fn unless_lost(lease: HeldLease) -> Result<(), &'static str> {
///     tokio::select! {
///         () = lease.lost() => Err("the same request may be running elsewhere"),
///         () = work() => Ok(()),
///     }
/// }
/// ```
#[derive(Clone)]
pub struct HeldLease {
    shared: Arc<Shared>,
}

/// In the extensions of a request that is protected and runs without a lease all the same, since
/// the store did not answer and its policy fails open (rule 3.8).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Unleased;

struct Shared {
    token: Token,
    address: Address,
    prepared: Arc<Prepared>,
    state: Mutex<State>,
    /// Told when the lease is lost, claimed, or back from a renewal.
    changed: Notify,
}

struct State {
    deadline: Instant,
    lost: bool,
    /// Until when the lease holds for certain, by this process's clock, while it is kept.
    certain_until: Option<tokio::time::Instant>,
    /// The lease, while it is kept and no renewal is under way.
    lease: Option<Lease>,
    claim: Claim,
}

/// Whether the lease's request waits for the lease.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Claim {
    No,
    WhenRenewed,
    Now,
}

impl HeldLease {
    pub(crate) fn new(lease: &Lease, address: Address, prepared: Arc<Prepared>) -> Self {
        let deadline = lease.deadline();
        let claim = Claim::No;
        let state = State { deadline, lost: false, certain_until: None, lease: None, claim };
        let (token, state, changed) = (lease.token(), Mutex::new(state), Notify::new());
        Self { shared: Arc::new(Shared { token, address, prepared, state, changed }) }
    }

    /// The fencing token: higher than that of every earlier run of the same key.
    #[must_use]
    pub fn token(&self) -> Token {
        self.shared.token
    }

    /// Until when the lease holds at least, by the store's clock; moves on with every renewal.
    #[must_use]
    pub fn deadline(&self) -> Instant {
        self.lock().deadline
    }

    /// Whether the store has said that the lease is no longer this request's: the same request may
    /// be running elsewhere. What this run does from now on is at its own risk.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.lock().lost
    }

    /// Waits until the lease is lost, as [`HeldLease::is_lost`] says; not at all if it is. One that
    /// is never lost is waited for without end, so wait beside something else.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future changes nothing.
    pub async fn lost(&self) {
        self.until(|state| state.lost).await;
    }

    pub(crate) fn address(&self) -> Address {
        self.shared.address
    }

    pub(crate) fn prepared(&self) -> &Prepared {
        &self.shared.prepared
    }

    /// Whether both are of the same grant.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// Notes until when the lease holds since it was renewed to be held.
    pub(crate) fn renewed(&self, deadline: Instant) {
        self.lock().deadline = deadline;
    }

    /// Until when the lease holds for certain; now, if nobody has said.
    pub(crate) fn certain_until(&self) -> tokio::time::Instant {
        self.lock().certain_until.unwrap_or_else(tokio::time::Instant::now)
    }

    /// Notes that the lease is somebody else's, or nobody's; counts and tells it the first time.
    pub(crate) fn lose(&self) {
        if std::mem::replace(&mut self.lock().lost, true) {
            return;
        }
        self.shared.prepared.handles.lease_lost.inc();
        tracing::warn!(address = %self.shared.address, token = %self.shared.token, "lease lost");
        self.shared.changed.notify_waiters();
    }

    /// Leaves the lease here, to be renewed.
    pub(crate) fn lend(&self, lease: Lease, certain_until: tokio::time::Instant) {
        let mut state = self.lock();
        state.lease = Some(lease);
        state.certain_until = Some(certain_until);
    }

    /// Takes the lease that was left here. If a renewal is under way it waits for its end, or has
    /// it broken off.
    pub(crate) async fn claim(&self, break_off: bool) -> Lease {
        loop {
            // Made before the look: from then on it hears of changes.
            let changed = self.shared.changed.notified();
            let tell = {
                let mut state = self.lock();
                if let Some(lease) = state.lease.take() {
                    return lease;
                }
                let tell = break_off && state.claim != Claim::Now;
                state.claim = if break_off { Claim::Now } else { Claim::WhenRenewed };
                tell
            };
            // Once, or the loop would wake itself for ever.
            if tell {
                self.shared.changed.notify_waiters();
            }
            changed.await;
        }
    }

    /// Waits until a renewal is to be broken off.
    pub(crate) async fn claimed(&self) {
        self.until(|state| state.claim == Claim::Now).await;
    }

    async fn until(&self, condition: impl Fn(&State) -> bool) {
        loop {
            // Made before the look: from then on it hears of changes.
            let changed = self.shared.changed.notified();
            if condition(&self.lock()) {
                return;
            }
            changed.await;
        }
    }

    /// No code panics while it holds this lock; were it poisoned, the state would still be whole.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for HeldLease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (deadline, lost) = {
            let state = self.lock();
            (state.deadline, state.lost)
        };
        f.debug_struct("HeldLease")
            .field("token", &self.shared.token)
            .field("deadline", &deadline)
            .field("lost", &lost)
            .finish_non_exhaustive()
    }
}

/// A lease that is out for a renewal; it goes back when this is dropped, be it in mid-renewal.
pub(crate) struct Loan<'a> {
    held: &'a HeldLease,
    lease: Option<Lease>,
    /// Until when it holds since it was renewed, by the store's clock and by this process's.
    renewed: Option<(Instant, tokio::time::Instant)>,
}

impl<'a> Loan<'a> {
    /// Takes the lease, if it is there: its request or another renewal may have it.
    pub(crate) fn of(held: &'a HeldLease) -> Self {
        let lease = held.lock().lease.take();
        Self { held, lease, renewed: None }
    }

    pub(crate) const fn lease(&mut self) -> Option<&mut Lease> {
        self.lease.as_mut()
    }

    /// Notes that it was renewed.
    pub(crate) const fn renewed(&mut self, deadline: Instant, certain_until: tokio::time::Instant) {
        self.renewed = Some((deadline, certain_until));
    }
}

impl Drop for Loan<'_> {
    fn drop(&mut self) {
        let Some(lease) = self.lease.take() else { return };
        let claimed = {
            let mut state = self.held.lock();
            state.lease = Some(lease);
            if let Some((deadline, certain_until)) = self.renewed {
                state.deadline = deadline;
                state.certain_until = Some(certain_until);
            }
            state.claim != Claim::No
        };
        if claimed {
            self.held.shared.changed.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests;
