//! One call of the store's: bounded by the policy's time limit, timed, and counted if it fails.

use std::error::Error;
use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use thiserror::Error;
use tokio::time::{Instant, sleep};

use crate::layer::Prepared;
use crate::store_calls::{Verb, failure};

/// The store has not answered within the time limit; the call may still have its effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the store did not answer within the time limit")]
pub(crate) struct Slow;

/// Waits for a call, at most as long as the policy allows, and records how long that was.
pub(crate) fn timed<T, E: Error + 'static>(
    verb: Verb,
    prepared: &Prepared,
    call: impl Future<Output = Result<T, E>>,
) -> impl Future<Output = Result<Result<T, E>, Slow>> {
    timed_since(Instant::now(), prepared.policy.store_timeout, verb, prepared, call)
}

/// Waits for a call that began at `begun`, at most for `limit`, and records how long that was.
pub(crate) async fn timed_since<T, E: Error + 'static>(
    begun: Instant,
    limit: Duration,
    verb: Verb,
    prepared: &Prepared,
    call: impl Future<Output = Result<T, E>>,
) -> Result<Result<T, E>, Slow> {
    let answer = within(limit, call).await;
    prepared.handles.observe(verb, begun.elapsed(), failure(&answer));
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
