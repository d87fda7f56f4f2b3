//! The task that renews what is due.
//!
//! A renewal that the store answers at once is made in passing. One that has to wait goes on
//! beside the others, so that a store that is slow for one lease delays no other. However it ends,
//! the lease returns to where its request finds it.

use std::error::Error;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use leasehold::{LeaseStore, RenewError};
use tokio::runtime::Id;
use tokio::time::{Instant, sleep_until};

use super::Ward;
use super::pace::retry_pause;
use super::roster::{Called, Roster};
use crate::held::Loan;
use crate::store_calls::{Verb, failure};
use crate::timed::{Slow, within};

/// Most renewals that are under way at once. Arbitrary: far more than a store answers in parallel,
/// and few enough not to flood one that has just come back.
const UNDER_WAY_MAX: usize = 256;

/// A task's time at work. It ends with the task, also when that ends with its runtime.
pub(super) struct Shift<S> {
    ward: Arc<Ward<S>>,
    runtime: Id,
    /// Whether it is over. From then on the runtime may have another task.
    over: bool,
}

impl<S> Shift<S> {
    pub(super) const fn new(ward: Arc<Ward<S>>, runtime: Id) -> Self {
        Self { ward, runtime, over: false }
    }

    /// Ends it; if it `may_stay` only where nothing is kept. Under the lock, so that who enters a
    /// lease is either seen here, or finds that a task is to be started.
    fn end(&mut self, may_stay: bool) {
        let mut at_work = self.ward.at_work();
        let nothing_kept = self.ward.roster.unattended(self.runtime);
        if nothing_kept || !may_stay {
            at_work.retain(|id| *id != self.runtime);
            self.over = true;
        }
    }
}

impl<S> Drop for Shift<S> {
    fn drop(&mut self) {
        if !self.over {
            self.end(false);
        }
    }
}

/// Renews what is due, until two looks in a row find that nothing is kept.
pub(super) async fn make<S: LeaseStore>(mut shift: Shift<S>) {
    let ward = Arc::clone(&shift.ward);
    let roster = &ward.roster;
    let mut under_way = FuturesUnordered::new();
    let mut called = Vec::new();
    let mut spare: Option<Pin<Box<_>>> = None;
    loop {
        // Made before the look, so that it hears of what is entered meanwhile.
        let mut sooner = pin!(ward.sooner.notified());
        let now = Instant::now();
        let room = UNDER_WAY_MAX.saturating_sub(under_way.len());
        let outlook = roster.look(roster.micros(now), room, &mut called);
        let (mut next, mut begun) = (outlook.next, now);
        for called in called.drain(..) {
            let renewal = renew(&ward, called, begun);
            // What the store answers at once needs no memory of its own.
            let mut renewal = match spare.take() {
                None => Box::pin(renewal),
                Some(mut spare) => {
                    Pin::set(&mut spare, renewal);
                    spare
                }
            };
            match poll_fn(|cx| Poll::Ready(renewal.as_mut().poll(cx))).await {
                Poll::Ready(ended) => {
                    (next, begun) = (next.min(ended.again), ended.at);
                    spare = Some(renewal);
                }
                Poll::Pending => {
                    under_way.push(renewal);
                    begun = Instant::now();
                }
            }
        }
        // Ends: what was called is due again only after its time.
        if outlook.more && under_way.len() < UNDER_WAY_MAX {
            tokio::task::yield_now().await;
            continue;
        }
        let idle = !outlook.any && under_way.is_empty();
        loop {
            // What is due and has no room waits for room.
            let wake = roster.moment(if outlook.more { u64::MAX } else { next }, now);
            tokio::select! {
                biased;
                Some(Ended { again, .. }) = under_way.next(), if !under_way.is_empty() => {
                    next = next.min(again);
                    if outlook.more && under_way.len() <= UNDER_WAY_MAX / 2 {
                        break;
                    }
                }
                () = sooner.as_mut() => break,
                () = sleep_until(wake) => {
                    if idle {
                        shift.end(true);
                    }
                    if shift.over {
                        return;
                    }
                    break;
                }
            }
        }
    }
}

/// The end of a renewal.
struct Ended {
    at: Instant,
    /// When to try again, if that is sooner than usual.
    again: u64,
}

/// Renews one lease, from this moment on.
async fn renew<S: LeaseStore>(ward: &Ward<S>, called: Called, begun: Instant) -> Ended {
    let held = &called.held;
    let mut loan = Loan::of(held);
    // Its request has it, or another renewal.
    let Some(lease) = loan.lease() else { return Ended { at: begun, again: u64::MAX } };
    let prepared = held.prepared();
    let lease_ttl = prepared.policy.lease_ttl;
    let call = within(prepared.policy.store_timeout, ward.store.renew(lease, lease_ttl));
    let answer = tokio::select! {
        biased;
        answer = call => Some(answer),
        () = held.claimed() => None,
    };
    let at = Instant::now();
    let failed = answer.as_ref().and_then(failure);
    prepared.handles.observe(Verb::Renew, at.saturating_duration_since(begun), failed);
    let again = match answer {
        Some(Ok(Ok(deadline))) => {
            prepared.handles.renewals.inc();
            loan.renewed(deadline, begun + lease_ttl.get());
            u64::MAX
        }
        Some(Ok(Err(RenewError::Superseded))) => {
            held.lose();
            ward.roster.put_off(&called, Roster::never())
        }
        Some(Ok(Err(error))) => again(ward, &called, &error, at),
        Some(Err(slow @ Slow)) => again(ward, &called, &slow, at),
        // Broken off.
        None => u64::MAX,
    };
    Ended { at, again }
}

/// Plans another attempt after a renewal that failed.
fn again<S>(ward: &Ward<S>, called: &Called, error: &(dyn Error + 'static), now: Instant) -> u64 {
    let held = &called.held;
    tracing::warn!(address = %held.address(), error, "renewal failed");
    let ttl = held.prepared().policy.lease_ttl.get();
    let left = held.certain_until().saturating_duration_since(now);
    ward.roster.put_off(called, ward.roster.retry(now, retry_pause(left, ttl)))
}
