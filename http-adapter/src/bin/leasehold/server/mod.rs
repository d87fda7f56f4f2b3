//! The listener's side: accepts connections, serves HTTP/1.1 and h2c on them, and lets them go.
//!
//! It knows nothing of leases or upstreams: what answers is the service that it is given.

mod accept;
mod connection;
mod exchanges;
mod front;
mod linger;
mod socket;

use std::net::SocketAddr;
use std::sync::Arc;

use http::header::CONNECTION;
use http::{HeaderValue, Response};
use leasehold_http::{Asker, Problem, ResponseBody};
use tokio::sync::{OwnedSemaphorePermit, watch};

pub(crate) use accept::{Connections, Limits};
pub(crate) use front::Front;
pub(crate) use linger::Lingering;

/// Whose request it is: in the request's extensions.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    /// The other end of the connection.
    pub(crate) address: SocketAddr,
    /// True once whatever is open is to end at once. The connection counts as open until the last
    /// clone is dropped.
    cut: watch::Receiver<bool>,
    /// The connection's place; it is free again when the last clone is dropped.
    _place: Option<Arc<OwnedSemaphorePermit>>,
}

/// A connection that was accepted.
#[derive(Debug)]
struct Arrival {
    address: SocketAddr,
    place: OwnedSemaphorePermit,
    cut: watch::Receiver<bool>,
}

impl Peer {
    fn new(arrival: Arrival) -> Self {
        let Arrival { address, place, cut } = arrival;
        Self { address, cut, _place: Some(Arc::new(place)) }
    }

    /// Ends when the connection is to end at once, whatever passes on it.
    pub(crate) async fn cut(&mut self) {
        // The other end is dropped with the accept loop, and then nothing is left to serve.
        let _cut = self.cut.wait_for(|cut| *cut).await;
    }

    #[cfg(test)]
    pub(crate) fn for_tests(address: SocketAddr) -> Self {
        let cut = watch::Sender::new(false).subscribe();
        Self { address, cut, _place: None }
    }
}

/// An answer to a request that is not HTTP as it should be. The connection ends with it.
pub(crate) fn refusal<B>(problem: Problem, asker: &Asker) -> Response<ResponseBody<B>> {
    let mut response = problem.respond(asker);
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}
