//! One acquire, with what this process knows of the key besides the store.
//!
//! What this process knows goes before the store's answer where the store may not know it yet: a
//! success whose commit is pending, and a run without a lease. Nothing here waits for a run's end.

use std::sync::Arc;
use std::time::Duration;

use leasehold::{Admission, Lease, LeaseStore, ReleaseError, Terms};
use tokio::time::Instant;

use crate::admission::{Answer, is_unheard};
use crate::held::HeldLease;
use crate::open_runs::{OpenRun, Side};
use crate::policy::Duplicate;
use crate::run::{Grant, Run};
use crate::store_calls::Verb;
use crate::timed::{timed, timed_since};

/// What asking for the right to run came to.
#[derive(Debug)]
pub(crate) struct Asked {
    /// A moment before the store was asked.
    pub(crate) since: Instant,
    pub(crate) answer: Answer,
    /// Where the policy fails open: the entry of the run to come, leased or not.
    pub(crate) open: Option<OpenRun>,
    /// Whether the answer is the store's.
    heard: bool,
}

impl Asked {
    /// What this process knows, without the store.
    fn known(admission: Admission) -> Self {
        Self { since: Instant::now(), answer: Ok(Ok(admission)), open: None, heard: false }
    }

    /// In flight, after a right to run that was given back.
    pub(crate) fn in_flight() -> Self {
        Self::known(Admission::InFlight { remaining: Duration::ZERO })
    }

    /// If the key is in flight: how long its lease still lasts unless it is renewed.
    pub(crate) fn remaining(&self) -> Option<Duration> {
        match &self.answer {
            Ok(Ok(Admission::InFlight { remaining })) => Some(*remaining),
            _ => None,
        }
    }

    /// Whether the key is completed, and nothing of its run's response is kept.
    fn lacks_outcome(&self) -> bool {
        matches!(self.answer, Ok(Ok(Admission::Completed { outcome: None, .. })))
    }

    /// Whether the store itself has said that the key is in flight.
    pub(crate) fn was_heard_in_flight(&self) -> bool {
        self.heard && self.remaining().is_some()
    }

    /// Whether the handler may run, under a lease or without.
    pub(crate) fn may_run(&self) -> bool {
        self.is_unprotected() || matches!(self.answer, Ok(Ok(Admission::Granted(_))))
    }

    /// Whether the handler may run without a lease (rule 3.8).
    pub(crate) fn is_unprotected(&self) -> bool {
        self.open.is_some() && is_unheard(&self.answer)
    }
}

impl<S: LeaseStore + Clone> Run<S> {
    /// Whether waiting may bring another answer: the key is in flight, or its response is wanted
    /// and on its way.
    pub(crate) fn may_change(&self, asked: &Asked) -> bool {
        asked.remaining().is_some()
            || (self.lacks_response(asked) && self.ledger.waiting.is_coming(&self.address))
    }

    /// Whether a response is wanted that the store did not have when it answered.
    pub(crate) fn lacks_response(&self, asked: &Asked) -> bool {
        self.prepared.policy.duplicate == Duplicate::Replay && asked.lacks_outcome()
    }

    /// Asks for the right to run.
    pub(crate) async fn ask(&self, terms: Terms) -> Asked {
        if let Some(admission) = self.ledger.known(&self.address, &terms) {
            return Asked::known(admission);
        }
        let since = Instant::now();
        let limit = self.prepared.policy.store_timeout;
        let call = self.shared.store().acquire(self.address, terms);
        let answer = timed_since(since, limit, Verb::Acquire, &self.prepared, call).await;
        let unheard = is_unheard(&answer);
        if unheard {
            self.abandon(terms);
        }
        let asked = Asked { since, answer, open: None, heard: true };
        if !self.prepared.policy.fail_open {
            let asked = self.lend(asked, &terms);
            self.log(&asked.answer);
            return asked;
        }
        if unheard || matches!(asked.answer, Ok(Ok(Admission::Granted(_)))) {
            return Box::pin(self.open(asked, terms)).await;
        }
        self.log(&asked.answer);
        asked
    }

    /// Enters the run to come, so that this process at least lets no other run beside one without
    /// a lease. Whoever comes second gives up his right.
    async fn open(&self, mut asked: Asked, terms: Terms) -> Asked {
        let side = if is_unheard(&asked.answer) { Side::Unprotected } else { Side::Leased };
        let entered = self.ledger.open_runs.enter(self.address, &terms, side);
        let admission = match entered {
            Ok(open) => match self.ledger.pending.completed(&self.address, &terms) {
                None => {
                    asked.open = Some(open);
                    return asked;
                }
                // It has ended while the store was asked.
                Some(completed) => {
                    asked.open = Some(open);
                    let asked = self.lend(asked, &terms);
                    if asked.may_run() && !asked.is_unprotected() {
                        // And was recorded or given up since.
                        return asked;
                    }
                    if asked.is_unprotected() {
                        self.give_back(asked).await;
                    } else {
                        self.ledger.waiting.tell(&self.address);
                    }
                    return Asked::known(completed);
                }
            },
            Err(running) => running,
        };
        // What was no right to run is none to give back, and telling of it would only wake others
        // to find the same.
        if asked.may_run() {
            self.give_back(asked).await;
        }
        Asked::known(admission)
    }

    /// A lease that was granted although this process knows the key to have succeeded has taken
    /// over from a run whose commit is pending (rule 4.7a). It is for that success to be recorded
    /// under: released it would free the key.
    fn lend(&self, mut asked: Asked, terms: &Terms) -> Asked {
        if self.ledger.pending.completed(&self.address, terms).is_none() {
            return asked;
        }
        let Ok(Ok(Admission::Granted(lease))) = asked.answer else { return asked };
        let held = HeldLease::new(&lease, self.address, Arc::clone(&self.prepared));
        let grant = Grant { lease, held, since: asked.since };
        match self.ledger.pending.lend(&self.address, terms, grant) {
            Ok(admission) => Asked::known(admission),
            Err(grant) => {
                asked.answer = Ok(Ok(Admission::Granted(grant.lease)));
                asked
            }
        }
    }

    /// Releases a lease under which nothing has run.
    pub(crate) async fn free(&self, mut lease: Lease) {
        let call = self.shared.store().release(&mut lease);
        match timed(Verb::Release, &self.prepared, call).await {
            Ok(Ok(()) | Err(ReleaseError::Superseded)) => {}
            Ok(Err(error)) => self.release_failed(&error),
            Err(slow) => self.release_failed(&slow),
        }
    }
}
