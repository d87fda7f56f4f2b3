//! The operator's address: health, readiness and metrics. No request of a client's comes here.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ALLOW, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use leasehold::LeaseStore;
use leasehold_http::Metrics;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};

/// Most connections at once: far above what scrapers and probes open, so that silent connections
/// would have to come by the hundred each second to keep a probe out.
const CONNECTIONS_MAX: usize = 512;

/// Longest that a connection may be idle, or take for a request's head, whatever is configured for
/// clients. Scrapers and probes that come back later connect anew.
const HEAD_TIMEOUT_MAX: Duration = Duration::from_secs(2);

/// Pause after a failed accept.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The format that the encoder writes (OpenMetrics 1.0).
const METRICS_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// What the address answers from.
#[derive(Debug)]
pub(crate) struct Admin<S> {
    store: S,
    metrics: Metrics,
    registry: Registry,
    stop: watch::Receiver<bool>,
}

impl<S: LeaseStore> Admin<S> {
    /// Answers for a store and its counters; not ready any more once `stop` is true.
    pub(crate) fn new(store: S, metrics: Metrics, stop: watch::Receiver<bool>) -> Self {
        let mut registry = Registry::default();
        metrics.register(&mut registry);
        Self { store, metrics, registry, stop }
    }

    /// Serves for as long as it is polled. A head may take as long as for clients, `head_timeout`,
    /// but a few seconds at most.
    pub(crate) async fn serve(self, listener: TcpListener, head_timeout: Duration) {
        let head_timeout = head_timeout.min(HEAD_TIMEOUT_MAX);
        let admin = Arc::new(self);
        let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        loop {
            let Ok(place) = Arc::clone(&places).acquire_owned().await else {
                return;
            };
            let stream = match listener.accept().await {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::warn!(%error, "a connection to the admin address was not accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            };
            let admin = Arc::clone(&admin);
            tokio::spawn(async move {
                let service = service_fn(|request| {
                    let response = admin.answer(&request);
                    async move { Ok::<_, Infallible>(response) }
                });
                let connection = http1::Builder::new()
                    .timer(TokioTimer::new())
                    .header_read_timeout(head_timeout)
                    .serve_connection(TokioIo::new(stream), service);
                if let Err(error) = connection.await {
                    tracing::debug!(%error, "a connection to the admin address broke off");
                }
                drop(place);
            });
        }
    }

    fn answer(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        let path = request.uri().path();
        if !matches!(path, "/healthz" | "/readyz" | "/metrics") {
            return text(StatusCode::NOT_FOUND, "try /healthz, /readyz or /metrics\n");
        }
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            let mut response = text(StatusCode::METHOD_NOT_ALLOWED, "");
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return response;
        }
        match path {
            "/metrics" => self.metrics(),
            "/readyz" if *self.stop.borrow() => {
                text(StatusCode::SERVICE_UNAVAILABLE, "shutting down\n")
            }
            _ => text(StatusCode::OK, "ok\n"),
        }
    }

    fn metrics(&self) -> Response<Full<Bytes>> {
        if let Some(usage) = self.store.usage() {
            self.metrics.observe_usage(usage);
        }
        let mut page = String::new();
        if encode(&mut page, &self.registry).is_err() {
            return text(StatusCode::INTERNAL_SERVER_ERROR, "metrics could not be written\n");
        }
        let mut response = Response::new(Full::from(page));
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(METRICS_TYPE));
        response
    }
}

fn text(status: StatusCode, text: &'static str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(text));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    response
}
