//! A service that answers as each case's script says, and remembers what it was asked.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::request::Parts;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};

use super::soon;

/// What to answer; 201 with a small body unless it says otherwise.
#[derive(Clone, Debug, Default)]
pub(super) struct Script {
    status: Option<u16>,
    headers: Vec<(&'static str, &'static str)>,
    body: Bytes,
    gate: Option<Arc<Semaphore>>,
}

impl Script {
    pub(super) fn status(status: u16) -> Self {
        Self { status: Some(status), ..Self::default() }
    }

    pub(super) fn header(mut self, name: &'static str, value: &'static str) -> Self {
        self.headers.push((name, value));
        self
    }

    pub(super) fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self
    }

    /// Answers only once the gate is opened, as often as it was opened.
    pub(super) fn gate(mut self, gate: &Arc<Semaphore>) -> Self {
        self.gate = Some(Arc::clone(gate));
        self
    }
}

/// A closed gate; `add_permits(1)` lets one request through.
pub(super) fn gate() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(0))
}

#[derive(Debug, Default)]
struct State {
    scripts: Mutex<HashMap<String, Script>>,
    requests: Mutex<Vec<(Parts, Bytes)>>,
    /// How many requests have begun; changes wake those who wait for runs.
    begun: watch::Sender<usize>,
}

/// The running service; it ends with the test's runtime.
#[derive(Clone, Debug)]
pub(super) struct Upstream {
    pub(super) address: SocketAddr,
    state: Arc<State>,
}

impl Upstream {
    pub(super) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let state = Arc::new(State::default());
        let upstream = Self { address, state };
        let service = upstream.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let service = service.clone();
                let service = service_fn(move |request| {
                    let service = service.clone();
                    async move { Ok::<_, Infallible>(service.answer(request).await) }
                });
                let builder = hyper::server::conn::http1::Builder::new();
                tokio::spawn(builder.serve_connection(TokioIo::new(stream), service));
            }
        });
        upstream
    }

    /// Sets what requests of a case get from now on.
    pub(super) fn script(&self, case: &str, script: Script) {
        self.state.scripts.lock().expect("unpoisoned").insert(case.to_owned(), script);
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let (parts, body) = request.into_parts();
        let case = case(&parts).to_owned();
        let Ok(body) = body.collect().await else {
            return Response::default();
        };
        self.state.requests.lock().expect("unpoisoned").push((parts, body.to_bytes()));
        self.state.begun.send_modify(|begun| *begun += 1);
        let script = self.state.scripts.lock().expect("unpoisoned").get(&case).cloned();
        let script = script.unwrap_or_default();
        if let Some(gate) = &script.gate {
            gate.acquire().await.expect("never closed").forget();
        }
        let mut response = Response::builder().status(script.status.unwrap_or(201));
        for (name, value) in script.headers {
            response = response.header(name, value);
        }
        response.body(Full::from(script.body)).expect("a response")
    }

    /// The requests of a case that arrived whole.
    pub(super) fn requests(&self, case: &str) -> Vec<(Parts, Bytes)> {
        let requests = self.state.requests.lock().expect("unpoisoned");
        requests.iter().filter(|(parts, _)| self::case(parts) == case).cloned().collect()
    }

    /// How many requests of a case have run.
    pub(super) fn runs(&self, case: &str) -> usize {
        self.requests(case).len()
    }

    /// Waits until that many have begun.
    pub(super) async fn wait_for_runs(&self, case: &str, count: usize) {
        let mut begun = self.state.begun.subscribe();
        let enough = begun.wait_for(|_| self.runs(case) >= count);
        soon("a run", enough).await.expect("the sender lives");
    }
}

fn case(parts: &Parts) -> &str {
    parts.headers.get("x-case").and_then(|value| value.to_str().ok()).unwrap_or_default()
}
