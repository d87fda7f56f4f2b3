//! Applies a verdict to a lease (rules 4.1, 4.2 and 4.7).
//!
//! The handler has ended by now, so no failure here may change its response. A commit that fails
//! must never end in a release: the write has happened.

use std::error::Error;

use leasehold::{CommitError, LeaseStore, Outcome, ReleaseError, RenewError, Verdict};

use crate::metrics::Verb;
use crate::run::{Grant, Run};
use crate::timed::{Slow, timed};

impl<S: LeaseStore> Run<S> {
    /// Settles the lease. A failure is counted and logged, and the lease then ends by itself.
    pub(crate) async fn settle(&self, grant: &mut Grant, verdict: Verdict) {
        match verdict {
            Verdict::Commit => {
                self.commit(grant, None).await;
            }
            Verdict::Release => self.release(grant).await,
            Verdict::Hold => self.hold(grant).await,
        }
    }

    /// Keeps the key; true if the store has said so.
    pub(crate) async fn commit(&self, grant: &mut Grant, outcome: Option<Outcome>) -> bool {
        let ttl = self.prepared.policy.ttl;
        let call = self.shared.store().commit(&mut grant.lease, outcome, ttl);
        match timed(Verb::Commit, &self.prepared, call).await {
            Ok(Ok(())) => return true,
            Ok(Err(error)) => {
                if matches!(error, CommitError::Superseded) {
                    grant.held.lose();
                }
                self.commit_failed(&error);
            }
            Err(slow @ Slow) => self.commit_failed(&slow),
        }
        false
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

    fn release_failed(&self, error: &(dyn Error + 'static)) {
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
