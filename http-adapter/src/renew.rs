//! The heartbeat: keeps the lease of a running handler (rule 4.8).
//!
//! It lives beside the handler in one future, so it stops before the lease is settled, and a
//! handler that blocks its thread is not renewed meanwhile.

use std::convert::Infallible;
use std::error::Error;
use std::future::pending;
use std::time::Duration;

use leasehold::{LeaseStore, RenewError};
use tokio::time::{Instant, sleep_until};

use crate::metrics::Verb;
use crate::run::{Grant, Run};
use crate::timed::{Slow, timed};

impl<S: LeaseStore> Run<S> {
    /// Renews the lease at each third of its time until this is dropped. A loss is noted, and ends
    /// the renewals.
    pub(crate) async fn keep(&self, grant: &mut Grant) -> Infallible {
        let (policy, handles) = (&self.prepared.policy, &self.prepared.handles);
        if !policy.renew {
            return pending().await;
        }
        let ttl = policy.lease_ttl.get();
        // Until when the lease holds for certain, by this process's clock.
        let mut end = grant.since + ttl;
        let mut next = grant.since + pace(ttl);
        loop {
            sleep_until(next).await;
            let begun = Instant::now();
            let call = self.store.renew(&mut grant.lease, policy.lease_ttl);
            match timed(Verb::Renew, &self.prepared, call).await {
                Ok(Ok(deadline)) => {
                    handles.renewals.inc();
                    grant.held.renewed(deadline);
                    end = begun + ttl;
                    next = begun + pace(ttl);
                }
                Ok(Err(RenewError::Superseded)) => {
                    self.lost(grant);
                    return pending().await;
                }
                Ok(Err(error)) => next = self.again(&error, end, ttl),
                Err(slow @ Slow) => next = self.again(&slow, end, ttl),
            }
        }
    }

    /// When to try again after a renewal that failed.
    fn again(&self, error: &(dyn Error + 'static), end: Instant, ttl: Duration) -> Instant {
        tracing::warn!(address = %self.address, error, "renewal failed");
        let now = Instant::now();
        now + retry_pause(end.saturating_duration_since(now), ttl)
    }

    /// Notes that the lease is somebody else's, or nobody's; counts it once.
    pub(crate) fn lost(&self, grant: &Grant) {
        if grant.held.lose() {
            self.prepared.handles.lease_lost.inc();
            tracing::warn!(address = %self.address, token = %grant.lease.token(), "lease lost");
        }
    }
}

/// The time from one renewal to the next.
fn pace(ttl: Duration) -> Duration {
    (ttl / 3).max(MIN_PAUSE)
}

/// The pause after a failed renewal: a third of what is left of the lease, so that several more
/// attempts fit in, but never so short that a store in trouble is hammered. Past the lease's end
/// the usual pace: the store may still grant it a late renewal.
fn retry_pause(left: Duration, ttl: Duration) -> Duration {
    if left.is_zero() { pace(ttl) } else { (left / 3).max(ttl / 100).max(MIN_PAUSE) }
}

/// Shortest time between two renewals: what the runtime's timers resolve. A shorter one would only
/// spin.
const MIN_PAUSE: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retries_come_sooner_than_renewals_and_are_never_a_storm() {
        let second = Duration::from_secs(1);
        let ttl = 30 * second;
        assert_eq!(retry_pause(20 * second, ttl), 20 * second / 3);
        assert_eq!(retry_pause(second / 10, ttl), Duration::from_millis(300));
        assert_eq!(retry_pause(Duration::ZERO, ttl), 10 * second);
        let tiny = Duration::from_nanos(1);
        assert_eq!((pace(ttl), pace(tiny)), (10 * second, MIN_PAUSE));
        assert_eq!(retry_pause(Duration::ZERO, tiny), MIN_PAUSE);
        assert_eq!(retry_pause(tiny, tiny), MIN_PAUSE);
    }
}
