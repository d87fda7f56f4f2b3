//! Whether requests should be sent here: not while the store is silent, nor once the gateway stops.
//!
//! It asks the store itself and changes nothing there. Health is another question: a gateway whose
//! store is down is alive, and a restart would not help it.

use std::time::Duration;

use bytes::Bytes;
use http::{Response, StatusCode};
use http_body_util::Full;
use leasehold::{Address, Digester, LeaseStore};
use tokio::sync::watch;
use tokio::time::timeout;

use super::text;

/// What readiness is read from.
#[derive(Debug)]
pub(crate) struct Readiness<S> {
    store: S,
    store_timeout: Duration,
    stop: watch::Receiver<bool>,
    /// Where no request has its record: theirs have more parts.
    address: Address,
}

impl<S: LeaseStore> Readiness<S> {
    /// Of a store that has to answer in this time; not ready any more once `stop` is true.
    pub(crate) fn new(store: S, store_timeout: Duration, stop: watch::Receiver<bool>) -> Self {
        Self { store, store_timeout, stop, address: Digester::plain().address(&[b"readiness"]) }
    }

    pub(super) async fn answer(&self) -> Response<Full<Bytes>> {
        if *self.stop.borrow() {
            return text(StatusCode::SERVICE_UNAVAILABLE, "shutting down\n");
        }
        match timeout(self.store_timeout, self.store.peek(self.address)).await {
            Ok(Ok(_)) => text(StatusCode::OK, "ok\n"),
            Ok(Err(_)) | Err(_) => {
                text(StatusCode::SERVICE_UNAVAILABLE, "the store does not answer\n")
            }
        }
    }
}
