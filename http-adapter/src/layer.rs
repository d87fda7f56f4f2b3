//! The layer, and what all services that it makes share.
//!
//! Everything that can be looked up once is looked up here, when the layer is made: per request
//! only the route is.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http::Request;
use leasehold::{Digester, LeaseStore, Namespace};
use tower_layer::Layer;

use crate::buffer::Budget;
use crate::classifier::ErrorClassifier;
use crate::grpc::is_grpc;
use crate::ledger::Ledger;
use crate::metrics::{Handles, Metrics};
use crate::pacemaker::Pacemaker;
use crate::pending::{Pending, PendingCommits};
use crate::policy::Policy;
use crate::problem::{Asker, ProblemRenderer};
use crate::resolver::KeyResolver;
use crate::route::Routes;
use crate::running::Running;
use crate::service::Idempotent;
use crate::waiting::Waiting;

/// The bounds that hold for one layer as a whole.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Most protected requests that run at once (rule 4.6).
    pub(crate) running: usize,
    /// Longest time that a request's body is held back for a fingerprint.
    pub(crate) body_read: Duration,
    /// Most bytes of bodies that wait in memory for a fingerprint or a replay (rule 4.6).
    pub(crate) buffered_bytes: usize,
    /// Most duplicates that wait for another's end (rule 5.5).
    pub(crate) waiters: usize,
    /// Most commits that wait to be repeated (rule 4.7).
    pub(crate) pending_commits: usize,
    /// How long after its lease's end a commit may still land (rule 4.7).
    pub(crate) late_grace: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            running: 10_000,
            body_read: Duration::from_secs(60),
            buffered_bytes: 256 << 20,
            waiters: 1000,
            pending_commits: 1000,
            late_grace: Duration::from_secs(30),
        }
    }
}

/// What a layer is made from, so that each of its settings can be changed by itself.
#[derive(Clone)]
struct Parts<S> {
    store: S,
    routes: Routes,
    digester: Digester,
    metrics: Metrics,
    bounds: Bounds,
    classifier: Option<Arc<dyn ErrorClassifier>>,
    resolver: Option<Arc<dyn KeyResolver>>,
    renderer: Option<Arc<dyn ProblemRenderer>>,
    /// Namespaces that have counters beside those of the routes.
    namespaces: Vec<Namespace>,
}

/// Wraps services so that their writes succeed at most once.
///
/// All services that one layer or its clones make share the store, the counters and the bound on
/// running requests. They need a tokio runtime with time enabled.
///
/// The address of a key holds the path as the service sees it. A router that shortens paths for
/// the services below it (axum's `nest`) must have the layer around it, not below it, or else each
/// of those services needs a namespace of its own. Two layers over one store and namespace must not
/// wrap the same request: the inner one would find the key in flight.
///
/// ```
/// use std::sync::Arc;
/// use leasehold::{MemoryConfig, MemoryStore};
/// use leasehold_http::{IdempotentLayer, Policy, Routes};
///
/// let store = Arc::new(MemoryStore::new(MemoryConfig::default())?);
/// let layer = IdempotentLayer::new(store, Routes::new(Policy::default()));
/// # let _: IdempotentLayer<_> = layer;
/// # Ok::<(), leasehold::ConfigError>(())
/// ```
pub struct IdempotentLayer<S> {
    shared: Arc<Shared<S>>,
}

/// What all services of one layer share.
pub(crate) struct Shared<S> {
    pub(crate) running: Running,
    /// For the bodies that wait in memory.
    pub(crate) budget: Budget,
    pub(crate) pacemaker: Pacemaker<S>,
    pub(crate) ledger: Arc<Ledger<S>>,
    parts: Parts<S>,
    /// One per route, in their order.
    table: Vec<Arc<Prepared>>,
    default: Arc<Prepared>,
    /// The counters of every declared namespace.
    handles: HashMap<Namespace, Arc<Handles>>,
    /// Those of all others, once there are any.
    other: OnceLock<Arc<Handles>>,
}

/// What is counted for policies of namespaces that nobody declares.
const OTHER: &str = "other";

/// A policy with the counters of its namespace, and with how its problems are rendered.
pub(crate) struct Prepared {
    pub(crate) policy: Arc<Policy>,
    pub(crate) handles: Arc<Handles>,
    renderer: Option<Arc<dyn ProblemRenderer>>,
}

impl Prepared {
    /// With counters of its own, where nobody looks at them.
    #[cfg(test)]
    pub(crate) fn alone(policy: Policy) -> Self {
        let handles = Arc::new(Metrics::new().handles(&policy.namespace));
        Self { policy: Arc::new(policy), handles, renderer: None }
    }

    /// One for every policy: of the routes, of the default, of a request's own.
    fn new<S>(policy: Arc<Policy>, handles: Arc<Handles>, parts: &Parts<S>) -> Arc<Self> {
        Arc::new(Self { policy, handles, renderer: parts.renderer.clone() })
    }

    /// Who sent a request, for the problems that it may be answered by.
    pub(crate) fn asker<B>(&self, request: &Request<B>) -> Asker {
        Asker::new(request.method(), request.headers(), self.policy.error_format)
            .renderer(self.renderer.clone())
            .in_grpc(self.policy.grpc && is_grpc(request.headers()))
    }
}

impl<S: Clone> Shared<S> {
    fn new(parts: Parts<S>) -> Self {
        let mut handles = HashMap::new();
        let mut declare = |namespace: &Namespace| {
            let of_namespace = || Arc::new(parts.metrics.handles(namespace));
            Arc::clone(handles.entry(namespace.clone()).or_insert_with(of_namespace))
        };
        let mut prepare = |policy: &Policy| {
            Prepared::new(Arc::new(policy.clone()), declare(&policy.namespace), &parts)
        };
        let table = parts.routes.table().map(&mut prepare).collect();
        let default = prepare(parts.routes.default_policy());
        for namespace in &parts.namespaces {
            declare(namespace);
        }
        let running = Running::new(parts.bounds.running, parts.metrics.running());
        let pacemaker = Pacemaker::new(parts.store.clone());
        let bounds = parts.bounds;
        let budget = Budget::new(bounds.buffered_bytes);
        let pending = Pending::new(parts.store.clone(), bounds.pending_commits, bounds.late_grace);
        let ledger = Arc::new(Ledger::new(Waiting::new(bounds.waiters), pending));
        let other = OnceLock::new();
        Self { running, pacemaker, budget, ledger, parts, table, default, handles, other }
    }
}

impl<S> Shared<S> {
    /// What holds for one request by a policy of its own. Its counters are those of a declared
    /// namespace, or of all that are not declared.
    pub(crate) fn prepare(&self, policy: Arc<Policy>) -> Arc<Prepared> {
        let handles = match self.handles.get(&policy.namespace) {
            Some(handles) => handles,
            None => self.other.get_or_init(|| Arc::new(self.parts.metrics.handles_of(OTHER))),
        };
        Prepared::new(policy, Arc::clone(handles), &self.parts)
    }

    pub(crate) fn resolver(&self) -> Option<&dyn KeyResolver> {
        self.parts.resolver.as_deref()
    }
}

impl<S> Shared<S> {
    /// What holds for a raw path.
    pub(crate) fn prepared(&self, path: &str) -> &Arc<Prepared> {
        let index = self.parts.routes.find(path);
        index.and_then(|index| self.table.get(index)).unwrap_or(&self.default)
    }

    pub(crate) fn store(&self) -> &S {
        &self.parts.store
    }

    /// Longest time that a request's body is held back.
    pub(crate) const fn body_read_timeout(&self) -> Duration {
        self.parts.bounds.body_read
    }

    pub(crate) fn digester(&self) -> &Digester {
        &self.parts.digester
    }

    pub(crate) fn classifier(&self) -> Option<&dyn ErrorClassifier> {
        self.parts.classifier.as_deref()
    }
}

impl<S: LeaseStore + Clone> IdempotentLayer<S> {
    /// A layer over a store, with counters of its own and the default bounds.
    #[must_use]
    pub fn new(store: S, routes: Routes) -> Self {
        let (digester, metrics) = (Digester::plain(), Metrics::new());
        let bounds = Bounds::default();
        Self::of(Parts {
            store,
            routes,
            digester,
            metrics,
            bounds,
            classifier: None,
            resolver: None,
            renderer: None,
            namespaces: Vec::new(),
        })
    }

    /// Counts in these counters.
    #[must_use]
    pub fn metrics(self, metrics: Metrics) -> Self {
        self.with(|parts| parts.metrics = metrics)
    }

    /// Makes addresses with this digester. All instances that share a store need the same.
    #[must_use]
    pub fn digester(self, digester: Digester) -> Self {
        self.with(|parts| parts.digester = digester)
    }

    /// Bounds how many protected requests run at once, those whose client has gone included.
    /// Beyond it requests are refused before the store is asked; zero refuses all of them. Default
    /// 10,000.
    #[must_use]
    pub fn max_running(self, max_running: usize) -> Self {
        self.with(|parts| parts.bounds.running = max_running)
    }

    /// Bounds the bytes of bodies that wait in memory for a fingerprint or a replay, those of all
    /// requests together. Default 256 MiB.
    #[must_use]
    pub fn max_buffered_bytes(self, max_buffered_bytes: usize) -> Self {
        self.with(|parts| parts.bounds.buffered_bytes = max_buffered_bytes)
    }

    /// Bounds how long a request's body may take to arrive where it is held back for a fingerprint;
    /// beyond it the request is answered 408 and its key stays free. Default 60 s. A body that
    /// passes as it comes is not bounded here: what is behind the layer knows how long it waits.
    #[must_use]
    pub fn body_read_timeout(self, body_read_timeout: Duration) -> Self {
        self.with(|parts| parts.bounds.body_read = body_read_timeout)
    }

    /// Bounds how many duplicates wait for the end of another request; the others are refused at
    /// once. Default 1,000.
    #[must_use]
    pub fn max_waiters(self, max_waiters: usize) -> Self {
        self.with(|parts| parts.bounds.waiters = max_waiters)
    }

    /// Bounds how many failed commits, and outcomes with them, wait to be repeated. Outcomes are
    /// dropped first, the oldest first; then a commit that fails is given up at once, and its key
    /// is free when its lease ends. Default 1,000.
    #[must_use]
    pub fn max_pending_commits(self, max_pending_commits: usize) -> Self {
        self.with(|parts| parts.bounds.pending_commits = max_pending_commits)
    }

    /// Asks this what the ends of handlers mean, before their status says so.
    #[must_use]
    pub fn error_classifier(self, classifier: impl ErrorClassifier) -> Self {
        self.with(|parts| parts.classifier = Some(Arc::new(classifier)))
    }

    /// Asks this resolver what makes up the addresses of keys. Default none: policies say it.
    #[must_use]
    pub fn key_resolver(self, resolver: impl KeyResolver) -> Self {
        self.with(|parts| parts.resolver = Some(Arc::new(resolver)))
    }

    /// Writes problems by this renderer, whatever their policy's
    /// [`error_format`](Policy::error_format). Default none.
    #[must_use]
    pub fn problem_renderer(self, renderer: impl ProblemRenderer) -> Self {
        self.with(|parts| parts.renderer = Some(Arc::new(renderer)))
    }

    /// Declares namespaces beside those of the routes, so that policies of single requests
    /// ([`Override`](crate::Override)) are counted under them. Default none.
    #[must_use]
    pub fn namespaces(self, namespaces: impl IntoIterator<Item = Namespace>) -> Self {
        self.with(|parts| parts.namespaces = namespaces.into_iter().collect())
    }

    /// Says how long after a lease's end the store may still take its commit: as long as that a
    /// failed commit is repeated. Default 30 s, as the memory store's own default.
    #[must_use]
    pub fn late_grace(self, late_grace: Duration) -> Self {
        self.with(|parts| parts.bounds.late_grace = late_grace)
    }

    /// The commits that wait to be repeated behind this layer: for a server's shutdown.
    #[must_use]
    pub fn pending_commits(&self) -> PendingCommits {
        self.shared.ledger.pending.commits()
    }

    /// The requests that are running behind this layer: for a server's shutdown.
    #[must_use]
    pub fn running(&self) -> Running {
        self.shared.running.clone()
    }

    fn of(parts: Parts<S>) -> Self {
        Self { shared: Arc::new(Shared::new(parts)) }
    }

    fn with(self, change: impl FnOnce(&mut Parts<S>)) -> Self {
        let mut parts = self.shared.parts.clone();
        change(&mut parts);
        Self::of(parts)
    }
}

impl<S, Svc> Layer<Svc> for IdempotentLayer<S> {
    type Service = Idempotent<Svc, S>;

    fn layer(&self, inner: Svc) -> Idempotent<Svc, S> {
        Idempotent::new(inner, Arc::clone(&self.shared))
    }
}

impl<S> Clone for IdempotentLayer<S> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<S> fmt::Debug for IdempotentLayer<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdempotentLayer")
            .field("routes", &self.shared.parts.routes)
            .finish_non_exhaustive()
    }
}
