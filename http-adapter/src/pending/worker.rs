//! The tasks that repeat what is pending: one for each runtime, and that is one as a rule.
//!
//! A task runs only while there is something, in the runtime of the requests that failed, and ends
//! with that runtime. What it had then is given up: nothing stays listed without it.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::stream::{FuturesUnordered, StreamExt};
use leasehold::{Address, Admission, Attempt, LeaseStore, MAX_TTL, Outcome, Terms};
use tokio::runtime::{Handle, Id};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::PendingCommits;
use super::listing::{Listed, Listing, Success};
use super::repeat::{Job, Lent, Task};
use crate::layer::Prepared;
use crate::run::Grant;

/// The pending successes of one layer, and what repeats them.
#[derive(Debug)]
pub(crate) struct Pending<S> {
    shared: Arc<Shared<S>>,
}

#[derive(Debug)]
struct Shared<S> {
    store: S,
    listing: Listing,
    /// How long after its lease's end a commit may still land.
    late_grace: Duration,
    /// Those of the runtimes that have a task.
    desks: Mutex<HashMap<Id, Desk>>,
}

/// Where one runtime's task finds its jobs.
#[derive(Debug, Default)]
struct Desk {
    /// Jobs that the task has not taken yet.
    inbox: Vec<Job>,
    /// Told of each new job.
    told: Arc<Notify>,
}

impl<S> Shared<S> {
    /// Nothing panics with this lock held; were it poisoned, the desks would still be whole.
    fn desks(&self) -> MutexGuard<'_, HashMap<Id, Desk>> {
        self.desks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S> Pending<S> {
    /// Nothing pending; at most `max` successes and outcomes later on.
    pub(crate) fn new(store: S, max: usize, late_grace: Duration) -> Self {
        let shared =
            Shared { store, listing: Listing::new(max), late_grace, desks: Mutex::default() };
        Self { shared: Arc::new(shared) }
    }

    /// What a duplicate of a pending success gets.
    pub(crate) fn completed(&self, address: &Address, terms: &Terms) -> Option<Admission> {
        self.shared.listing.completed(address, terms)
    }

    pub(crate) fn commits(&self) -> PendingCommits {
        PendingCommits { listing: self.shared.listing.clone() }
    }
}

impl<S: LeaseStore + Clone> Pending<S> {
    /// Has a pending success recorded under a lease that a duplicate of it was granted, and says
    /// what the duplicate gets. The grant comes back if nothing is pending any more.
    pub(crate) fn lend(
        &self,
        address: &Address,
        terms: &Terms,
        grant: Grant,
    ) -> Result<Admission, Grant> {
        let ends_after = terms.lease_ttl.get().saturating_add(self.shared.late_grace);
        let until = grant.since.checked_add(ends_after).unwrap_or_else(|| end(MAX_TTL));
        let lent = self.shared.listing.lend(address, terms, Lent { grant, until });
        lent.map_err(|lent| lent.grant)
    }

    /// Repeats a commit that failed, for as long as a late one may land.
    pub(crate) fn commit(
        &self,
        address: Address,
        prepared: &Arc<Prepared>,
        terms: &Terms,
        grant: Grant,
        outcome: Option<Outcome>,
    ) {
        let policy = &prepared.policy;
        // The lease was granted or renewed before now, so it ends before this.
        let until = end(policy.lease_ttl.get().saturating_add(self.shared.late_grace));
        if let Some(listed) = self.list(address, prepared, terms, outcome) {
            let prepared = Arc::clone(prepared);
            self.add(Job {
                listed,
                prepared,
                terms: *terms,
                until,
                task: Task::Commit(grant),
                counted: true,
            });
        }
    }

    /// Records the success of a run without a lease, as soon as the store grants one.
    pub(crate) fn record(
        &self,
        address: Address,
        prepared: &Arc<Prepared>,
        mut terms: Terms,
        outcome: Option<Outcome>,
    ) {
        // Another attempt: the first one's was abandoned, and that may still be on its way.
        terms.attempt = Attempt::random();
        let until = end(prepared.policy.ttl.get());
        match self.list(address, prepared, &terms, outcome) {
            Some(listed) => {
                let prepared = Arc::clone(prepared);
                self.add(Job {
                    listed,
                    prepared,
                    terms,
                    until,
                    task: Task::Record(None),
                    counted: false,
                });
            }
            None => {
                prepared.handles.commit_errors.inc();
            }
        }
    }

    fn list(
        &self,
        address: Address,
        prepared: &Prepared,
        terms: &Terms,
        outcome: Option<Outcome>,
    ) -> Option<Listed> {
        let success = Success {
            id: terms.attempt.to_bits(),
            fingerprint: terms.fingerprint,
            outcome,
            until: end(prepared.policy.ttl.get()),
        };
        let listed = self.shared.listing.enlist(address, success);
        if listed.is_none() {
            tracing::warn!(%address, "too many commits are pending, this one is given up");
        }
        listed
    }

    fn add(&self, job: Job) {
        let Ok(runtime) = Handle::try_current() else {
            tracing::warn!(address = %job.listed.address, "no runtime to repeat a commit in");
            return;
        };
        let id = runtime.id();
        let (begin, told) = {
            let mut desks = self.shared.desks();
            let begin = !desks.contains_key(&id);
            let desk = desks.entry(id).or_default();
            desk.inbox.push(job);
            (begin, Arc::clone(&desk.told))
        };
        if begin {
            let shared = Arc::clone(&self.shared);
            runtime.spawn(work(Shift { shared, runtime: id, told, ended: false }));
        } else {
            told.notify_one();
        }
    }
}

/// So long from now.
fn end(time: Duration) -> Instant {
    let now = Instant::now();
    // No time to live is that long; a grace may be.
    now.checked_add(time).unwrap_or_else(|| now + MAX_TTL)
}

/// The time of one task, from its making to its end, be it dropped or not.
struct Shift<S> {
    shared: Arc<Shared<S>>,
    runtime: Id,
    told: Arc<Notify>,
    ended: bool,
}

impl<S> Shift<S> {
    /// The jobs that have come in.
    fn inbox(&self) -> Vec<Job> {
        let mut desks = self.shared.desks();
        desks.get_mut(&self.runtime).map(|desk| std::mem::take(&mut desk.inbox)).unwrap_or_default()
    }

    /// Ends the task if nothing came in meanwhile; the next job then makes a new one.
    fn end(&mut self) -> bool {
        let mut desks = self.shared.desks();
        self.ended = desks.get(&self.runtime).is_none_or(|desk| desk.inbox.is_empty());
        if self.ended {
            desks.remove(&self.runtime);
        }
        self.ended
    }
}

impl<S> Drop for Shift<S> {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        // Outside of the lock.
        let given_up = self.shared.desks().remove(&self.runtime);
        drop(given_up);
    }
}

async fn work<S: LeaseStore>(mut shift: Shift<S>) {
    let shared = Arc::clone(&shift.shared);
    let mut repeats = FuturesUnordered::new();
    // Ends when nothing is left: every job ends.
    loop {
        repeats.extend(shift.inbox().into_iter().map(|job| {
            // A store that panics ends its own job alone.
            AssertUnwindSafe(job.repeat(&shared.store, shared.late_grace)).catch_unwind()
        }));
        if repeats.is_empty() && shift.end() {
            return;
        }
        tokio::select! {
            () = shift.told.notified() => {}
            Some(end) = repeats.next(), if !repeats.is_empty() => {
                if end.is_err() {
                    tracing::error!("a pending commit panicked and is given up");
                }
            }
        }
    }
}
