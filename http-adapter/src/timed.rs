//! One call of the store's: bounded by the policy's time limit, timed, and counted if it fails.

use std::error::Error;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use pin_project_lite::pin_project;
use thiserror::Error;
use tokio::time::{Instant, Sleep, sleep};

use crate::layer::Prepared;
use crate::store_calls::{Verb, failure};

/// The store has not answered within the time limit; the call may still have its effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the store did not answer within the time limit")]
pub(crate) struct Slow;

/// Waits for a call, at most as long as the policy allows, and records how long that was.
pub(crate) fn timed<F: Future>(verb: Verb, prepared: &Prepared, call: F) -> Timed<'_, F> {
    timed_since(Instant::now(), prepared.policy.store_timeout, verb, prepared, call)
}

/// Waits for a call that began at `begun`, at most for `limit`, and records how long that was.
pub(crate) const fn timed_since<F: Future>(
    begun: Instant,
    limit: Duration,
    verb: Verb,
    prepared: &Prepared,
    call: F,
) -> Timed<'_, F> {
    Timed { call: within(limit, call), begun, verb, prepared }
}

/// Waits for a call, at most for `limit`.
pub(crate) const fn within<F: Future>(limit: Duration, call: F) -> Within<F> {
    Within { call, limit, timer: None }
}

// Both are futures by hand: an asynchronous function would have room for the call twice.
pin_project! {
    /// A call whose time is bounded and recorded.
    pub(crate) struct Timed<'a, F> {
        #[pin]
        call: Within<F>,
        begun: Instant,
        verb: Verb,
        prepared: &'a Prepared,
    }
}

pin_project! {
    /// A call whose time is bounded.
    pub(crate) struct Within<F> {
        #[pin]
        call: F,
        limit: Duration,
        // Made only when the call has to wait: a store in memory never does.
        timer: Option<Pin<Box<Sleep>>>,
    }
}

impl<T, E: Error + 'static, F: Future<Output = Result<T, E>>> Future for Timed<'_, F> {
    type Output = Result<Result<T, E>, Slow>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let answer = ready!(this.call.poll(cx));
        this.prepared.handles.observe(*this.verb, this.begun.elapsed(), failure(&answer));
        Poll::Ready(answer)
    }
}

impl<F: Future> Future for Within<F> {
    type Output = Result<F::Output, Slow>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        if let Poll::Ready(answer) = this.call.poll(cx) {
            return Poll::Ready(Ok(answer));
        }
        let limit = *this.limit;
        let timer = this.timer.get_or_insert_with(|| Box::pin(sleep(limit)));
        timer.as_mut().poll(cx).map(|()| Err(Slow))
    }
}
