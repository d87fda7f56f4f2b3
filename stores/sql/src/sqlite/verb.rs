//! One verb in the writer's queue: decided on the row as the transaction has it, and answered only
//! once the transaction is committed.

use super::call::{Call, Caller, call};
use super::failure::Cause;
use super::slot::Slot;
use crate::failure::Failure;
use crate::record::Digest;

pub(super) trait Verb: Send {
    fn digest(&self) -> Digest;

    /// About how many bytes it writes.
    fn weight(&self) -> usize;

    fn is_left(&self) -> bool;

    /// From now on it may be written. `false` if the caller has gone.
    fn begin(&self) -> bool;

    /// Decides, and changes the row accordingly.
    fn decide(&mut self, slot: &mut Slot, now: i64);

    /// Tells what was decided, now that it is committed.
    fn committed(self: Box<Self>);

    /// Tells that nothing came of it.
    fn failed(self: Box<Self>, cause: &Cause);
}

/// Makes one of a rule, and the end at which its answer comes.
pub(super) fn verb<T: Send + 'static>(
    digest: Digest,
    weight: usize,
    rule: impl FnOnce(&mut Slot, i64) -> T + Send + 'static,
) -> (Box<dyn Verb>, Caller<T>) {
    let (call, caller) = call();
    (Box::new(Case { digest, weight, call, rule: Some(rule), decided: None }), caller)
}

struct Case<T, F> {
    digest: Digest,
    weight: usize,
    call: Call<T>,
    rule: Option<F>,
    decided: Option<Result<T, Failure>>,
}

impl<T: Send, F: FnOnce(&mut Slot, i64) -> T + Send> Verb for Case<T, F> {
    fn digest(&self) -> Digest {
        self.digest
    }

    fn weight(&self) -> usize {
        self.weight
    }

    fn is_left(&self) -> bool {
        self.call.is_left()
    }

    fn begin(&self) -> bool {
        self.call.begin()
    }

    fn decide(&mut self, slot: &mut Slot, now: i64) {
        self.decided = if slot.is_corrupt() {
            Some(Err(Failure::corrupt()))
        } else {
            self.rule.take().map(|rule| Ok(rule(slot, now)))
        };
    }

    fn committed(self: Box<Self>) {
        self.call.answer(self.decided.unwrap_or_else(|| Err(Failure::silence())));
    }

    fn failed(self: Box<Self>, cause: &Cause) {
        self.call.answer(Err(cause.failure()));
    }
}
