//! The stacks that are compared: the handler alone, and with one kind of layer around it.

mod axum_idempotent;
pub mod handler;
mod leasehold;
mod mock;
mod shield;

use std::convert::Infallible;

use axum::body::Body;
use http::{Request, Response};
use tower::service_fn;
use tower_service::Service;

pub use axum_idempotent::axum_idempotent;
pub use leasehold::{leasehold, policy, with_metrics};
pub use mock::mock;
pub use shield::{shielded, spawned};

/// The handler with nothing around it.
pub fn bare()
-> impl Service<Request<Body>, Response = Response<Body>, Error = Infallible, Future: Send>
+ Clone
+ Send {
    service_fn(handler::order)
}

/// A handler that waits once, with nothing around it.
pub fn bare_later()
-> impl Service<Request<Body>, Response = Response<Body>, Error = Infallible> + Clone {
    service_fn(handler::order_later)
}

/// Keys for which every stack is given room, so that none grows while it is measured: the kept ones
/// are at most 70 percent of it.
#[must_use]
pub const fn room(kept: usize) -> usize {
    (kept + 10_000) * 10 / 7
}
