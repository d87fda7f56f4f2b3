//! What a handler may see of its lease while it runs.
//!
//! A view only: the lease itself has one owner, which renews and settles it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use leasehold::{Lease, Token};

/// The lease of the running request, in the request's extensions.
///
/// A handler that writes to a system of its own may send the token along, so that the system can
/// refuse writes with an older token, and may ask now and then whether the lease still holds.
///
/// ```
/// use leasehold_http::HeldLease;
///
/// fn next_step_may_run(parts: &http::request::Parts) -> bool {
///     parts.extensions.get::<HeldLease>().is_none_or(|lease| !lease.is_lost())
/// }
/// ```
#[derive(Clone, Debug)]
pub struct HeldLease {
    token: Token,
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    deadline: Instant,
    lost: bool,
}

impl HeldLease {
    pub(crate) fn new(lease: &Lease) -> Self {
        let state = State { deadline: lease.deadline(), lost: false };
        Self { token: lease.token(), state: Arc::new(Mutex::new(state)) }
    }

    /// The fencing token: higher than that of every earlier run of the same key.
    #[must_use]
    pub const fn token(&self) -> Token {
        self.token
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

    pub(crate) fn renewed(&self, deadline: Instant) {
        self.lock().deadline = deadline;
    }

    /// Notes the loss; true the first time.
    pub(crate) fn lose(&self) -> bool {
        !std::mem::replace(&mut self.lock().lost, true)
    }

    /// No code panics while it holds this lock; were it poisoned, the state would still be whole.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
