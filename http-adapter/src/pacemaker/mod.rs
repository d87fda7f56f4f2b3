//! The heartbeat: keeps the leases of all running handlers of a layer (rule 4.8).
//!
//! Leases are entered in a roster when their handlers begin, and a task renews those that are due,
//! so a request costs no timer and no task. There is one task for each runtime in which handlers
//! have begun, and that is one as a rule. Each task renews whatever is due, whosever handler it is:
//! a runtime that stops, or is not driven for a while, takes nobody's heartbeat with it.
//!
//! A lease has one owner at a time: its request, the roster, or the renewal that is under way. It
//! must never be settled while it is being renewed.

mod pace;
mod roster;
mod rounds;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use leasehold::{Lease, LeaseStore};
use tokio::runtime::{Handle, Id};
use tokio::sync::Notify;
use tokio::time::Instant;

use self::pace::pace;
use self::roster::{Entered, Pace, Place, Roster};
use crate::held::HeldLease;
use crate::run::Grant;
use crate::timed::within;

/// How long after its time limit a renewal counts as one that nobody drives any more. Arbitrary: a
/// runtime that is merely busy is back by then.
const STALLED: Duration = Duration::from_secs(1);

/// Keeps the leases of one layer.
pub(crate) struct Pacemaker<S> {
    ward: Arc<Ward<S>>,
}

/// What the tasks share with the requests.
struct Ward<S> {
    store: S,
    roster: Roster,
    /// The runtimes whose tasks are at work.
    at_work: Mutex<Vec<Id>>,
    /// Tells the tasks of a lease that is due before they meant to look again.
    sooner: Notify,
}

impl<S> Pacemaker<S> {
    pub(crate) fn new(store: S) -> Self {
        let roster = Roster::new(Instant::now());
        let ward = Ward { store, roster, at_work: Mutex::default(), sooner: Notify::new() };
        Self { ward: Arc::new(ward) }
    }
}

impl<S: LeaseStore> Pacemaker<S> {
    /// Keeps a lease until it is taken back, if its policy says that it is renewed.
    pub(crate) fn keep(&self, grant: Grant) -> Kept<'_, S> {
        let Grant { lease, held, since } = grant;
        let policy = &held.prepared().policy;
        if !policy.renew {
            return Kept { ward: &self.ward, held, since, lease: Some(lease), place: None };
        }
        let ttl = policy.lease_ttl.get();
        held.lend(lease, since + ttl);
        let runtime = Handle::try_current().ok();
        let (id, pace) = (runtime.as_ref().map(Handle::id), Pace::new(pace(ttl), ttl));
        let roster = &self.ward.roster;
        let entered = roster.enter(held.clone(), roster.micros(since), pace, id);
        if let Some(runtime) = runtime
            && (entered.is_sooner || !entered.is_attended)
        {
            self.ward.call(&runtime, &entered);
        }
        Kept { ward: &self.ward, held, since, lease: None, place: Some(entered.place) }
    }
}

impl<S> Ward<S> {
    fn at_work(&self) -> MutexGuard<'_, Vec<Id>> {
        // No code panics while it holds this lock.
        self.at_work.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: LeaseStore> Ward<S> {
    /// Sees to it that this runtime has a task at work, and that all of them know of a new lease.
    fn call(self: &Arc<Self>, runtime: &Handle, entered: &Entered) {
        let id = runtime.id();
        let starts = {
            let mut at_work = self.at_work();
            let starts = !at_work.contains(&id);
            if starts {
                at_work.push(id);
            }
            self.roster.attended(entered.place, id);
            starts
        };
        // Outside of the lock, which the task needs to end: at once, where its runtime has ended.
        if starts {
            runtime.spawn(rounds::make(rounds::Shift::new(Arc::clone(self), id)));
        }
        if !starts && !entered.is_sooner {
            return;
        }
        self.sooner.notify_waiters();
        // What a worker wakes last it keeps for itself, to run it next, and the handler that it
        // runs first may block it. So the last is nothing, and others may take the task.
        runtime.spawn(async {});
    }
}

/// A lease that is kept. Where this is dropped the lease is not kept any more, and ends by itself.
pub(crate) struct Kept<'a, S> {
    ward: &'a Ward<S>,
    held: HeldLease,
    since: Instant,
    /// The lease, if it is not renewed.
    lease: Option<Lease>,
    /// Where it is in the roster, if it is.
    place: Option<Place>,
}

impl<S> Kept<'_, S> {
    /// Gives the lease back to be settled.
    ///
    /// A renewal that is under way just then is broken off, or its end is waited for: the effect of
    /// one that was broken off may still come, which is no harm to a commit or a release, but could
    /// put another end to a hold.
    ///
    /// None where the renewal's runtime is not driven any more: the lease is there for good, and
    /// ends by itself.
    pub(crate) async fn take_back(mut self, break_off: bool) -> Option<Grant> {
        self.leave();
        let lease = match self.lease.take() {
            Some(lease) => lease,
            None => {
                let limit = self.held.prepared().policy.store_timeout.saturating_add(STALLED);
                let Ok(lease) = within(limit, self.held.claim(break_off)).await else {
                    let address = self.held.address();
                    tracing::error!(%address, "a renewal does not end, its lease runs out");
                    return None;
                };
                lease
            }
        };
        Some(Grant { lease, held: self.held.clone(), since: self.since })
    }
}

impl<S> Kept<'_, S> {
    fn leave(&mut self) {
        if let Some(place) = self.place.take() {
            self.ward.roster.leave(place);
        }
    }
}

impl<S> Drop for Kept<'_, S> {
    fn drop(&mut self) {
        self.leave();
    }
}
