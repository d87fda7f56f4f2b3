//! Applies a verdict to a lease (rules 4.1, 4.2 and 4.7).
//!
//! The handler has ended by now, so no failure here may change its response. A commit that fails
//! must never end in a release: the write has happened.

use std::error::Error;

use leasehold::{
    CommitError, Lease, LeaseStore, Outcome, ReleaseError, RenewError, Terms, Verdict,
};

use crate::run::{Grant, Right, Run};
use crate::store_calls::Verb;
use crate::timed::{Slow, timed};

impl<S: LeaseStore + Clone> Run<S> {
    /// Settles the lease. A failure is counted and logged; a commit is then repeated in the
    /// background, and after anything else the lease ends by itself.
    pub(crate) async fn settle(&self, right: Right, terms: Terms, verdict: Verdict) {
        match (right.grant, verdict) {
            (grant, Verdict::Commit) => {
                self.commit(Right { grant, open: right.open }, terms, None).await;
            }
            (Some(mut grant), Verdict::Release) => self.release(&mut grant).await,
            (Some(mut grant), Verdict::Hold) => self.hold(&mut grant).await,
            // The store knows nothing of the run, so the key is free once the store is back; or has
            // a lease that nobody here reaches any more, and which ends by itself.
            (None, Verdict::Release | Verdict::Hold) => {}
        }
    }

    /// Keeps the key, with what the run left; gives the lease back if the store has said so. Where
    /// it has not, the commit is repeated in the background.
    pub(crate) async fn commit(
        &self,
        right: Right,
        terms: Terms,
        outcome: Option<Outcome>,
    ) -> Option<Lease> {
        // Dropped at the end: at no moment does this process know nothing of the key.
        let Right { grant, open: _open } = right;
        let Some(mut grant) = grant else {
            self.ledger.pending.record(self.address, &self.prepared, terms, outcome);
            return None;
        };
        let ttl = self.prepared.policy.ttl;
        let call = self.shared.store().commit(&mut grant.lease, outcome.clone(), ttl);
        match timed(Verb::Commit, &self.prepared, call).await {
            Ok(Ok(())) => return Some(grant.lease),
            Ok(Err(error @ CommitError::Unavailable(_))) => self.commit_failed(&error),
            Ok(Err(error)) => {
                if matches!(error, CommitError::Superseded) {
                    grant.held.lose();
                }
                self.commit_failed(&error);
                return None;
            }
            Err(slow @ Slow) => self.commit_failed(&slow),
        }
        self.ledger.pending.commit(self.address, &self.prepared, &terms, grant, outcome);
        None
    }

    fn commit_failed(&self, error: &(dyn Error + 'static)) {
        self.prepared.handles.commit_errors.inc();
        tracing::warn!(address = %self.address, error, "commit failed, the write may run again");
    }

    async fn release(&self, grant: &mut Grant) {
        let call = self.shared.store().release(&mut grant.lease);
        match timed(Verb::Release, &self.prepared, call).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                if matches!(error, ReleaseError::Superseded) {
                    grant.held.lose();
                }
                self.release_failed(&error);
            }
            Err(slow @ Slow) => self.release_failed(&slow),
        }
    }

    pub(crate) fn release_failed(&self, error: &(dyn Error + 'static)) {
        self.prepared.handles.release_errors.inc();
        tracing::warn!(address = %self.address, error, "release failed, the lease runs out");
    }

    /// Leaves the key in flight for the hold's time, counted from now. Where that fails it stays in
    /// flight for what is left of the lease.
    async fn hold(&self, grant: &mut Grant) {
        let hold_ttl = self.prepared.policy.hold_ttl;
        let call = self.shared.store().renew(&mut grant.lease, hold_ttl);
        match timed(Verb::Renew, &self.prepared, call).await {
            Ok(Ok(deadline)) => grant.held.renewed(deadline),
            Ok(Err(error)) => {
                if matches!(error, RenewError::Superseded) {
                    grant.held.lose();
                }
                self.hold_failed(&error);
            }
            Err(slow @ Slow) => self.hold_failed(&slow),
        }
    }

    fn hold_failed(&self, error: &(dyn Error + 'static)) {
        tracing::warn!(address = %self.address, error, "hold failed, the lease runs out");
    }
}
