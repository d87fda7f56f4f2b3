//! The layer, and what all services that it makes share.
//!
//! Everything that can be looked up once is looked up here, when the layer is made: per request
//! only the route is.

use std::fmt;
use std::sync::Arc;

use leasehold::{Digester, LeaseStore};
use tower_layer::Layer;

use crate::metrics::{Handles, Metrics};
use crate::policy::Policy;
use crate::route::Routes;
use crate::running::Running;
use crate::service::Idempotent;

/// Most protected requests that run at once unless configured otherwise (rule 4.6).
const DEFAULT_MAX_RUNNING: usize = 10_000;

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
    pub(crate) store: S,
    pub(crate) digester: Digester,
    pub(crate) running: Running,
    metrics: Metrics,
    max_running: usize,
    routes: Routes,
    /// One per route, in their order.
    table: Vec<Arc<Prepared>>,
    default: Arc<Prepared>,
}

/// A policy with the counters of its namespace.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) policy: Policy,
    pub(crate) handles: Handles,
}

impl<S> Shared<S> {
    fn new(
        store: S,
        digester: Digester,
        metrics: Metrics,
        max_running: usize,
        routes: Routes,
    ) -> Self {
        let prepare = |policy: &Policy| {
            let handles = metrics.handles(&policy.namespace);
            Arc::new(Prepared { policy: policy.clone(), handles })
        };
        let table = routes.table().map(prepare).collect();
        let default = prepare(routes.default_policy());
        let running = Running::new(max_running, metrics.running());
        Self { store, digester, running, metrics, max_running, routes, table, default }
    }

    /// What holds for a raw path.
    pub(crate) fn prepared(&self, path: &str) -> &Arc<Prepared> {
        self.routes.find(path).and_then(|index| self.table.get(index)).unwrap_or(&self.default)
    }
}

impl<S: LeaseStore + Clone> IdempotentLayer<S> {
    /// A layer over a store, with counters of its own and a bound of 10,000 running requests.
    #[must_use]
    pub fn new(store: S, routes: Routes) -> Self {
        let metrics = Metrics::new();
        let shared = Shared::new(store, Digester::plain(), metrics, DEFAULT_MAX_RUNNING, routes);
        Self { shared: Arc::new(shared) }
    }

    /// Counts in these counters.
    #[must_use]
    pub fn metrics(self, metrics: Metrics) -> Self {
        let digester = self.shared.digester.clone();
        let max_running = self.shared.max_running;
        self.rebuilt(digester, metrics, max_running)
    }

    /// Bounds how many protected requests run at once, those whose client has gone included.
    /// Beyond it requests are refused before the store is asked; zero refuses all of them.
    #[must_use]
    pub fn max_running(self, max_running: usize) -> Self {
        let digester = self.shared.digester.clone();
        let metrics = self.shared.metrics.clone();
        self.rebuilt(digester, metrics, max_running)
    }

    /// Makes addresses with this digester. All instances that share a store need the same.
    #[must_use]
    pub fn digester(self, digester: Digester) -> Self {
        let metrics = self.shared.metrics.clone();
        let max_running = self.shared.max_running;
        self.rebuilt(digester, metrics, max_running)
    }

    /// The requests that are running behind this layer: for a server's shutdown.
    #[must_use]
    pub fn running(&self) -> Running {
        self.shared.running.clone()
    }

    fn rebuilt(self, digester: Digester, metrics: Metrics, max_running: usize) -> Self {
        let (store, routes) = (self.shared.store.clone(), self.shared.routes.clone());
        let shared = Shared::new(store, digester, metrics, max_running, routes);
        Self { shared: Arc::new(shared) }
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
            .field("routes", &self.shared.routes)
            .finish_non_exhaustive()
    }
}
