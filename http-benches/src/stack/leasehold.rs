//! Our layer, over the memory store.

use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;

use axum::body::Body;
use http::{Request, Response};
use leasehold::{MemoryConfig, MemoryStore};
use leasehold_http::{
    Duplicate, IdempotentLayer, Metrics, Policy, RequestBody, ResponseBody, Routes,
};
use tower::service_fn;
use tower_layer::Layer;
use tower_service::Service;

use super::handler;

/// The default policy, with duplicates refused or replayed.
#[must_use]
pub fn policy(duplicate: Duplicate) -> Policy {
    Policy::default().duplicate(duplicate)
}

/// Our layer around the handler, with room for so many keys.
///
/// # Errors
///
/// A sentence, if there is no memory for them.
pub fn leasehold(
    room: usize,
    policy: Policy,
) -> Result<
    impl Service<
        Request<Body>,
        Response = Response<ResponseBody<Body>>,
        Error = Infallible,
        Future: Send,
    > + Clone
    + Send
    + use<>,
    String,
> {
    with_metrics(room, policy, Metrics::new(), handler::order)
}

/// The same around a handler of one's own, counting in these counters.
///
/// # Errors
///
/// A sentence, if there is no memory for so many keys.
pub fn with_metrics<H, F>(
    room: usize,
    policy: Policy,
    metrics: Metrics,
    handler: H,
) -> Result<
    impl Service<
        Request<Body>,
        Response = Response<ResponseBody<Body>>,
        Error = Infallible,
        Future: Send,
    > + Clone
    + Send
    + use<H, F>,
    String,
>
where
    H: FnMut(Request<RequestBody<Body>>) -> F + Clone + Send + 'static,
    F: Future<Output = Result<Response<Body>, Infallible>> + Send + 'static,
{
    let store = MemoryStore::new(MemoryConfig::default().max_entries(room));
    let store = Arc::new(store.map_err(|error| error.to_string())?);
    let layer = IdempotentLayer::new(store, Routes::new(policy)).metrics(metrics);
    Ok(layer.layer(service_fn(handler)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pass::{Told, runtime, timed};

    #[test]
    fn a_key_runs_once_and_its_duplicate_is_refused() {
        let runtime = runtime().expect("a runtime");
        let mut ours = leasehold(100, policy(Duplicate::Reject)).expect("a store");
        assert!(timed(&runtime, &mut ours, &[1, 2], Told::Ran).is_ok());
        assert!(timed(&runtime, &mut ours, &[2, 1], Told::Refused).is_ok());
    }

    #[test]
    fn a_duplicate_is_replayed_where_the_policy_says_so() {
        let runtime = runtime().expect("a runtime");
        let mut ours = leasehold(100, policy(Duplicate::Replay)).expect("a store");
        assert!(timed(&runtime, &mut ours, &[1, 2], Told::Ran).is_ok());
        assert!(timed(&runtime, &mut ours, &[2, 1], Told::Replayed).is_ok());
    }
}
