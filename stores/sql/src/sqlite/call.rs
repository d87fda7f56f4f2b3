//! One caller's question to the writer, and its answer.
//!
//! The writer and the caller agree under one lock on whether the question was begun: a caller that
//! left before is not served, and one whose time was over before knows that nothing was written.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

use crate::failure::Failure;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// In the queue, or waiting for the database's lock.
    Waiting,
    /// Part of a transaction.
    Begun,
    /// The caller left while it was waiting.
    Left,
}

#[derive(Clone)]
struct Shared(Arc<Mutex<Stage>>);

impl Shared {
    fn stage(&self) -> MutexGuard<'_, Stage> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Leaves one stage for another if it is still in it.
    fn turn(&self, from: Stage, to: Stage) -> bool {
        let mut stage = self.stage();
        let is_there = *stage == from;
        if is_there {
            *stage = to;
        }
        is_there
    }
}

/// The writer's end.
pub(super) struct Call<T> {
    shared: Shared,
    reply: oneshot::Sender<Result<T, Failure>>,
}

/// The caller's end. Dropped, it takes the question back unless it was begun.
pub(super) struct Caller<T> {
    shared: Shared,
    reply: oneshot::Receiver<Result<T, Failure>>,
}

pub(super) fn call<T>() -> (Call<T>, Caller<T>) {
    let shared = Shared(Arc::new(Mutex::new(Stage::Waiting)));
    let (sender, receiver) = oneshot::channel();
    (Call { shared: shared.clone(), reply: sender }, Caller { shared, reply: receiver })
}

impl<T> Call<T> {
    /// Whether the caller has gone without its question having been begun.
    pub(super) fn is_left(&self) -> bool {
        *self.shared.stage() == Stage::Left
    }

    /// From now on it may be written. `false` if the caller has gone.
    pub(super) fn begin(&self) -> bool {
        self.shared.turn(Stage::Waiting, Stage::Begun)
    }

    pub(super) fn answer(self, answer: Result<T, Failure>) {
        // Who has gone needs none.
        let _ = self.reply.send(answer);
    }
}

impl<T> Caller<T> {
    /// The answer, or that none came in time.
    pub(super) async fn answer(mut self, until: Instant) -> Result<T, Failure> {
        match timeout_at(until, &mut self.reply).await {
            Ok(Ok(answer)) => answer,
            // The time is over, or the writer has ended with its runtime.
            _ if self.shared.turn(Stage::Waiting, Stage::Left) => Err(Failure::unconnected()),
            _ => Err(Failure::silence()),
        }
    }
}

impl<T> Drop for Caller<T> {
    fn drop(&mut self) {
        self.shared.turn(Stage::Waiting, Stage::Left);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use leasehold::{StoreError, StoreErrorKind};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_caller_knows_whether_its_question_was_begun() {
        let until = Instant::now() + Duration::from_secs(1);
        let kind = |answer: Result<(), Failure>| StoreError::from(answer.expect_err("late")).kind();

        let (call, caller) = call::<()>();
        assert_eq!(kind(caller.answer(until).await), StoreErrorKind::Unreachable);
        assert!(call.is_left() && !call.begin(), "it must not be begun any more");

        let (call, caller) = super::call::<()>();
        assert!(call.begin());
        assert_eq!(kind(caller.answer(until).await), StoreErrorKind::NoAnswer);
    }

    #[test]
    fn a_caller_that_is_dropped_takes_its_question_back() {
        let (call, caller) = call::<()>();
        assert!(!call.is_left());
        drop(caller);
        assert!(call.is_left() && !call.begin());
        let (call, caller) = super::call::<()>();
        assert!(call.begin());
        drop(caller);
        assert!(!call.is_left(), "what was begun goes on");
        call.answer(Ok(()));
    }
}
