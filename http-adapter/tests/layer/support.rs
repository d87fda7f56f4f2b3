//! An application under test: a layer over a store, its counters, and handlers to put behind it.

use std::future::Future;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use leasehold::{
    Address, Clock, Digester, LeaseStore, ManualClock, MemoryConfig, MemoryStore, RecordState,
};
use leasehold_http::{
    Idempotent, IdempotentLayer, Metrics, Policy, RequestBody, ResponseBody, Routes,
};
use prometheus_client::registry::Registry;
use tokio::sync::Semaphore;
use tower::util::BoxCloneService;
use tower::{Layer, ServiceExt, service_fn};

pub(crate) type Body = Full<Bytes>;
/// A request's body as handlers get it.
pub(crate) type Sent = RequestBody<Body>;
pub(crate) type Answer = Response<ResponseBody<Body>>;
pub(crate) type Handler = BoxCloneService<Request<Sent>, Response<Body>, Failure>;

/// The error of the handlers: a plain value, so that a test sees it unchanged.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Failure(pub(crate) &'static str);

/// A layer over a store, with everything that a test looks at.
pub(crate) struct App<S = Arc<MemoryStore>> {
    pub(crate) layer: IdempotentLayer<S>,
    pub(crate) store: S,
    pub(crate) memory: Arc<MemoryStore>,
    pub(crate) clock: ManualClock,
    registry: Registry,
    pub(crate) metrics: Metrics,
}

/// A memory store whose clock the test turns.
pub(crate) fn memory(config: MemoryConfig) -> (Arc<MemoryStore>, ManualClock) {
    let (clock, hand) = Clock::manual();
    let store = MemoryStore::with_clock(config, clock).expect("a valid configuration");
    (Arc::new(store), hand)
}

impl App {
    pub(crate) fn new(policy: Policy) -> Self {
        Self::with_routes(Routes::new(policy))
    }

    pub(crate) fn with_routes(routes: Routes) -> Self {
        Self::with_config(MemoryConfig::default(), routes)
    }

    pub(crate) fn with_config(config: MemoryConfig, routes: Routes) -> Self {
        let (store, clock) = memory(config);
        Self::with_store(Arc::clone(&store), store, clock, routes)
    }
}

impl<S: LeaseStore + Clone> App<S> {
    pub(crate) fn with_store(
        store: S,
        memory: Arc<MemoryStore>,
        clock: ManualClock,
        routes: Routes,
    ) -> Self {
        let metrics = Metrics::new();
        let mut registry = Registry::default();
        metrics.register(&mut registry);
        let layer = IdempotentLayer::new(store.clone(), routes).metrics(metrics.clone());
        Self { layer, store, memory, clock, registry, metrics }
    }

    /// The service around a handler.
    pub(crate) fn service<F, T>(&self, handler: F) -> Idempotent<Handler, S>
    where
        F: Fn(Request<Sent>) -> T + Clone + Send + 'static,
        T: Future<Output = Result<Response<Body>, Failure>> + Send + 'static,
    {
        self.layer.layer(BoxCloneService::new(service_fn(handler)))
    }

    /// The service around a handler that waits at a gate and then answers 201.
    pub(crate) fn gated(&self, gate: &Gate) -> Idempotent<Handler, S> {
        let gate = gate.clone();
        self.service(move |_| {
            let gate = gate.clone();
            async move {
                gate.pass().await;
                Ok(answer(201))
            }
        })
    }

    /// Sends a request to a handler that answers with a status.
    pub(crate) async fn send(&self, request: Request<Body>, status: u16) -> Answer {
        let service = self.service(move |_| async move { Ok(answer(status)) });
        service.oneshot(request).await.expect("the handler does not fail")
    }

    /// Sends an order with a key to a handler that answers with a status; gives the status.
    pub(crate) async fn order(&self, key: &str, status: u16) -> u16 {
        self.send(order(key), status).await.status().as_u16()
    }

    /// What the store keeps for an order with a key.
    pub(crate) async fn state(&self, key: &str) -> RecordState {
        self.memory.peek(address("POST", "/orders", key)).await.expect("memory always answers")
    }

    /// The whole export.
    pub(crate) fn export(&self) -> String {
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &self.registry).expect("text encodes");
        text
    }

    /// One sample, by its name and labels as they are exported; none if it is not exported.
    pub(crate) fn sample(&self, name: &str) -> Option<u64> {
        let export = self.export();
        let line = export.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
        Some(line.parse().expect("a whole number"))
    }

    /// How many requests had an outcome, in the namespace `default`.
    pub(crate) fn outcomes(&self, outcome: &str) -> u64 {
        let labels = format!("{{namespace=\"default\",outcome=\"{outcome}\"}}");
        self.sample(&format!("leasehold_requests_total{labels}")).expect("exported")
    }

    /// How many handlers ended with a verdict, in the namespace `default`.
    pub(crate) fn verdicts(&self, verdict: &str) -> u64 {
        let labels = format!("{{namespace=\"default\",verdict=\"{verdict}\"}}");
        self.sample(&format!("leasehold_verdicts_total{labels}")).expect("exported")
    }

    /// How many calls of a verb failed in one way.
    pub(crate) fn store_errors(&self, verb: &str, kind: &str) -> u64 {
        let labels = format!("{{verb=\"{verb}\",kind=\"{kind}\"}}");
        self.sample(&format!("leasehold_store_errors_total{labels}")).expect("exported")
    }

    /// How many calls of a verb the store got.
    pub(crate) fn calls(&self, verb: &str) -> u64 {
        self.sample(&format!("leasehold_store_seconds_count{{verb=\"{verb}\"}}")).expect("exported")
    }
}

pub(crate) fn address(method: &str, path: &str, key: &str) -> Address {
    let parts = [&b"default"[..], method.as_bytes(), path.as_bytes(), key.as_bytes()];
    Digester::plain().address(&parts)
}

/// A request with a key.
pub(crate) fn request(method: Method, path: &str, key: &str) -> Request<Body> {
    let request = Request::builder().method(method).uri(path).header("idempotency-key", key);
    request.body(Body::default()).expect("a valid request")
}

/// A request without a key.
pub(crate) fn keyless(method: Method, path: &str) -> Request<Body> {
    let request = Request::builder().method(method).uri(path);
    request.body(Body::default()).expect("a valid request")
}

pub(crate) fn order(key: &str) -> Request<Body> {
    request(Method::POST, "/orders", key)
}

/// A handler's response.
pub(crate) fn answer(status: u16) -> Response<Body> {
    let mut response = Response::new(Body::from("handled"));
    *response.status_mut() = StatusCode::from_u16(status).expect("a valid status");
    response
}

pub(crate) async fn text(answer: Answer) -> String {
    let bytes = answer.into_body().collect().await.expect("bodies here do not fail").to_bytes();
    String::from_utf8(bytes.to_vec()).expect("text")
}

/// Status, code and the last part of the type of a problem.
pub(crate) async fn problem(answer: Answer) -> (u16, u64, String) {
    let status = answer.status().as_u16();
    let content_type = answer.headers().get("content-type").cloned();
    assert_eq!(content_type.expect("a content type"), "application/problem+json");
    let body: serde_json::Value = serde_json::from_str(&text(answer).await).expect("json");
    assert_eq!(body["status"], status);
    let uri = body["type"].as_str().expect("a type");
    let kind = uri.strip_prefix("urn:leasehold:problem:").expect("one of our types");
    (status, body["code"].as_u64().expect("a code"), kind.to_owned())
}

/// What handlers have seen, in order.
#[derive(Clone, Debug)]
pub(crate) struct Seen<T>(Arc<Mutex<Vec<T>>>);

impl<T> Default for Seen<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T> Seen<T> {
    pub(crate) fn push(&self, item: T) {
        self.0.lock().expect("not poisoned").push(item);
    }

    pub(crate) fn len(&self) -> usize {
        self.0.lock().expect("not poisoned").len()
    }

    pub(crate) fn take(&self) -> Vec<T> {
        std::mem::take(&mut *self.0.lock().expect("not poisoned"))
    }
}

/// Lets a test know that handlers have begun, and lets them end one by one.
#[derive(Clone, Debug)]
pub(crate) struct Gate {
    begun: Arc<Semaphore>,
    open: Arc<Semaphore>,
}

impl Default for Gate {
    fn default() -> Self {
        Self { begun: Arc::new(Semaphore::new(0)), open: Arc::new(Semaphore::new(0)) }
    }
}

impl Gate {
    /// For the handler: says that it has begun, and waits until it may end.
    pub(crate) async fn pass(&self) {
        self.begun.add_permits(1);
        self.open.acquire().await.expect("never closed").forget();
    }

    /// Waits for one more handler to have begun.
    pub(crate) async fn begun(&self) {
        self.begun.acquire().await.expect("never closed").forget();
    }

    /// Lets this many handlers end.
    pub(crate) fn open(&self, handlers: usize) {
        self.open.add_permits(handlers);
    }
}
