//! One request that waits for the end of another's run.
//!
//! It must hold no place among running requests while it waits, and must not run what its client
//! no longer waits for.

use std::pin::pin;
use std::time::Duration;

use futures_util::FutureExt;
use leasehold::{Admission, Attempt, LeaseStore, Terms};
use tokio::time::sleep;

use crate::asking::Asked;
use crate::pauses::Pauses;
use crate::problem::Problem;
use crate::run::Run;

/// The first pause before a shared store is asked again: long beside a call, short beside a run
/// that is worth waiting for. Arbitrary.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// The longest such pause: what a thousand waiters then ask of a store is a thousand acquires a
/// second. Arbitrary beyond that.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The shortest time until the store is asked whether a lease has run out. Its clock may be a
/// little behind (64 ms in memory), so that a shorter one would only spin.
const SHORTEST_PAUSE: Duration = Duration::from_millis(50);

impl<S: LeaseStore + Clone> Run<S> {
    /// Waits until the key is not in flight any more, nor a response that is wanted on its way, for
    /// as long as the policy allows, and gives the last answer. `first` was the answer before.
    pub(crate) async fn wait(&mut self, mut terms: Terms, first: Asked) -> Result<Asked, Problem> {
        let ledger = self.ledger.shared();
        let Some(waiter) = ledger.waiting.join(self.address) else {
            return Ok(first);
        };
        self.place.leave();
        tracing::debug!(address = %self.address, "waits for the end of another run");
        let mut patience = pin!(sleep(self.prepared.policy.wait));
        let mut pauses = Pauses::new(FIRST_PAUSE, LONGEST_PAUSE, terms.attempt);
        let mut heard = first.was_heard_in_flight();
        // Ends with the patience at the latest.
        loop {
            let ended = waiter.ended();
            // Another attempt each time: one that was not heard is abandoned, and that may still be
            // on its way when the next one is granted.
            terms.attempt = Attempt::random();
            let mut asked = self.ask(terms).await;
            if self.lacks_response(&asked) && !self.may_change(&asked) {
                // It may have been kept since the store answered.
                terms.attempt = Attempt::random();
                asked = self.ask(terms).await;
            }
            if !self.may_change(&asked) {
                return self.awaited(asked, heard).await;
            }
            heard |= asked.was_heard_in_flight();
            let pause = match asked.remaining() {
                Some(remaining) if self.shared.store().is_shared() => {
                    remaining.max(SHORTEST_PAUSE).min(pauses.next())
                }
                Some(remaining) => remaining.max(SHORTEST_PAUSE),
                // A response on its way is this process's, which tells.
                None => Duration::MAX,
            };
            tokio::select! {
                biased;
                () = self.waiter_left() => return Ok(asked),
                () = self.place.draining() => return Ok(asked),
                () = &mut patience => return Ok(asked),
                () = ended => {}
                () = sleep(pause) => {}
            }
        }
    }

    /// What follows from the answer that ends the wait. A right to run that cannot be used is given
    /// back.
    async fn awaited(&mut self, asked: Asked, heard: bool) -> Result<Asked, Problem> {
        if !asked.may_run() {
            return Ok(asked);
        }
        let gone = self.waiter_left().now_or_never().is_some();
        // The store has said that another one runs, and then fell silent: that one may still run.
        let unsafe_now = asked.is_unprotected() && heard;
        if gone || unsafe_now {
            self.give_back(asked).await;
            return Ok(Asked::in_flight());
        }
        if !self.place.enter_again() {
            self.give_back(asked).await;
            return Err(Problem::overloaded());
        }
        Ok(asked)
    }

    /// Frees the key, of which nothing has run, and tells those who wait for it.
    pub(crate) async fn give_back(&self, asked: Asked) {
        if let Ok(Ok(Admission::Granted(lease))) = asked.answer {
            self.free(lease).await;
        }
        drop(asked.open);
        self.ledger.waiting.tell(&self.address);
    }
}
