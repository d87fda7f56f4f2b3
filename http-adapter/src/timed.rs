//! One call of the store's: bounded by the policy's time limit, and timed.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use thiserror::Error;
use tokio::time::{Instant, sleep};

use crate::layer::Prepared;
use crate::metrics::Verb;

/// The store has not answered within the time limit; the call may still have its effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the store did not answer within the time limit")]
pub(crate) struct Slow;

/// Waits for a call, at most as long as the policy allows, and records how long that was.
pub(crate) fn timed<T>(
    verb: Verb,
    prepared: &Prepared,
    call: impl Future<Output = T>,
) -> impl Future<Output = Result<T, Slow>> {
    timed_since(Instant::now(), prepared.policy.store_timeout, verb, prepared, call)
}

/// Waits for a call that began at `begun`, at most for `limit`, and records how long that was.
pub(crate) async fn timed_since<T>(
    begun: Instant,
    limit: Duration,
    verb: Verb,
    prepared: &Prepared,
    call: impl Future<Output = T>,
) -> Result<T, Slow> {
    let answer = within(limit, call).await;
    prepared.handles.observe(verb, begun.elapsed());
    answer
}

/// Waits for a call, at most for `limit`.
pub(crate) async fn within<T>(limit: Duration, call: impl Future<Output = T>) -> Result<T, Slow> {
    let mut call = pin!(call);
    tokio::select! {
        biased;
        answer = &mut call => Ok(answer),
        // The timer is made only when the call has to wait: a store in memory never does.
        () = async { sleep(limit).await } => Err(Slow),
    }
}
