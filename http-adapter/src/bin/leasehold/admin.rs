//! The operator's address: health, readiness, metrics, and single records. No request of a client's
//! comes here.

mod exposition;
mod readiness;
mod records;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, ALLOW, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use leasehold::LeaseStore;
use leasehold_http::{Metrics, PendingCommits};
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use crate::records::Verb;
pub(crate) use readiness::Readiness;

/// Most connections at once: far above what scrapers and probes open, so that silent connections
/// would have to come by the hundred each second to keep a probe out.
const CONNECTIONS_MAX: usize = 512;

/// Longest that a connection may be idle, or take for a request's head, whatever is configured for
/// clients. Scrapers and probes that come back later connect anew.
const HEAD_TIMEOUT_MAX: Duration = Duration::from_secs(2);

/// Pause after a failed accept.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The format that the encoder writes (OpenMetrics 1.0), for those who ask for it.
const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// What is named to ask for it.
const OPENMETRICS_KIND: &str = "application/openmetrics-text";

/// Prometheus' text format, for all others.
const PLAIN: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What the address answers from.
#[derive(Debug)]
pub(crate) struct Admin<S> {
    store: S,
    pending: PendingCommits,
    metrics: Metrics,
    registry: Registry,
    readiness: Readiness<S>,
}

impl<S: LeaseStore + 'static> Admin<S> {
    /// Answers for a store, what it does not know yet, and its counters.
    pub(crate) fn new(
        store: S,
        pending: PendingCommits,
        metrics: Metrics,
        readiness: Readiness<S>,
    ) -> Self {
        let mut registry = Registry::default();
        metrics.register(&mut registry);
        Self { store, pending, metrics, registry, readiness }
    }

    /// Serves for as long as it is polled. A head may take as long as for clients, `head_timeout`,
    /// but a few seconds at most.
    pub(crate) async fn serve(self, listener: TcpListener, head_timeout: Duration) {
        let head_timeout = head_timeout.min(HEAD_TIMEOUT_MAX);
        let local =
            listener.local_addr().is_ok_and(|address| address.ip().to_canonical().is_loopback());
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
                    let admin = Arc::clone(&admin);
                    async move { Ok::<_, Infallible>(admin.answer(&request, local).await) }
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

    /// Answers one request; `local` says whether the address is a loopback one.
    async fn answer(&self, request: &Request<Incoming>, local: bool) -> Response<Full<Bytes>> {
        let path = request.uri().path();
        if let Some(verb) = Verb::of_path(path) {
            return records::answer(&self.store, &self.pending, verb, request, local).await;
        }
        if !matches!(path, "/healthz" | "/readyz" | "/metrics") {
            return text(StatusCode::NOT_FOUND, "try /healthz, /readyz or /metrics\n");
        }
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            let mut response = text(StatusCode::METHOD_NOT_ALLOWED, "");
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return response;
        }
        match path {
            "/metrics" => self.metrics(wants_openmetrics(request.headers())),
            "/readyz" => self.readiness.answer().await,
            _ => text(StatusCode::OK, "ok\n"),
        }
    }

    fn metrics(&self, openmetrics: bool) -> Response<Full<Bytes>> {
        if let Some(usage) = self.store.usage() {
            self.metrics.observe_usage(usage);
        }
        let mut page = String::new();
        if encode(&mut page, &self.registry).is_err() {
            return text(StatusCode::INTERNAL_SERVER_ERROR, "metrics could not be written\n");
        }
        if !openmetrics {
            page = exposition::plain(&page);
        }
        let kind = if openmetrics { OPENMETRICS } else { PLAIN };
        let mut response = Response::new(Full::from(page));
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        response
    }
}

/// Whether `Accept` names OpenMetrics. Preferences are not weighed: who can read it may get it.
fn wants_openmetrics(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(ACCEPT).iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(',')).any(|range| {
        let mut parts = range.split(';').map(str::trim);
        let named = parts.next().is_some_and(|kind| kind.eq_ignore_ascii_case(OPENMETRICS_KIND));
        named && !parts.any(is_refusal)
    })
}

/// Whether a parameter of a media range is the quality zero, which means never (RFC 9110, 12.4.2).
fn is_refusal(parameter: &str) -> bool {
    let quality = parameter.strip_prefix("q=").or_else(|| parameter.strip_prefix("Q="));
    quality.and_then(|quality| quality.parse::<f32>().ok()) == Some(0.0)
}

fn text(status: StatusCode, text: &'static str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(text));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openmetrics_is_for_those_who_name_it() {
        let wants = |lines: &[&'static str]| {
            let lines = lines.iter().map(|line| (ACCEPT, HeaderValue::from_static(line)));
            wants_openmetrics(&lines.collect())
        };
        for line in [
            OPENMETRICS_KIND,
            "text/plain, Application/OpenMetrics-Text;version=1.0.0;q=0.5",
            "application/openmetrics-text;version=1.0.0,application/openmetrics-text;q=0,*/*;q=0.1",
        ] {
            assert!(wants(&[line]), "{line}");
        }
        assert!(wants(&["text/plain", OPENMETRICS_KIND]));
        assert!(!wants(&[]));
        for line in ["*/*", "application/*", "text/plain", "application/openmetrics-text; q=0.0"] {
            assert!(!wants(&[line]), "{line}");
        }
    }
}
