//! The listener's side: accepts connections, serves HTTP/1.1 and h2c on them, and lets them go.
//!
//! It knows nothing of leases or upstreams: what answers is the service that it is given.

mod accept;
mod connection;
mod exchanges;
mod front;
mod linger;

use std::net::SocketAddr;
use std::sync::Arc;

use http::header::CONNECTION;
use http::{HeaderValue, Response};
use leasehold_http::{Asker, Problem, ResponseBody};
use tokio::sync::OwnedSemaphorePermit;

pub(crate) use accept::{Connections, Limits};
pub(crate) use front::Front;
pub(crate) use linger::Lingering;

/// Whose request it is: in the request's extensions.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    /// The other end of the connection.
    pub(crate) address: SocketAddr,
    /// The connection's place; it is free again when the last clone is dropped.
    _place: Option<Arc<OwnedSemaphorePermit>>,
}

impl Peer {
    fn new(address: SocketAddr, place: OwnedSemaphorePermit) -> Self {
        Self { address, _place: Some(Arc::new(place)) }
    }

    #[cfg(test)]
    pub(crate) const fn for_tests(address: SocketAddr) -> Self {
        Self { address, _place: None }
    }
}

/// An answer to a request that is not HTTP as it should be. The connection ends with it.
pub(crate) fn refusal<B>(problem: Problem, asker: &Asker) -> Response<ResponseBody<B>> {
    let mut response = problem.respond(asker);
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}
