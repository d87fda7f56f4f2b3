//! The gateway as a whole: listeners, store, layer and proxy put together, and taken apart again.

use std::net::SocketAddr;
use std::time::Duration;

use http::HeaderName;
use leasehold::{LeaseStore, Sweeper};
use leasehold_http::{IdempotentLayer, Metrics, PendingCommits, RequestBody, Routes, Running};
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};
use tower_layer::Layer;

use crate::admin::{Admin, Readiness};
use crate::askers::Askers;
use crate::config::{Config, ConfigError, upstream};
use crate::fullness;
use crate::open_files;
use crate::proxy::{self, Proxy};
use crate::server::{self, Connections, Front, Lingering};
use crate::signals::Signals;
use crate::store::{self, AnyStore, OpenError};
use crate::upkeep::Upkeep;

/// How long handlers that were cut have to settle their leases and to tell their clients.
const CUT_GRACE: Duration = Duration::from_secs(1);

/// Why the gateway did not start.
#[derive(Debug, Error)]
pub(crate) enum StartError {
    /// The configuration does not hold together.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// There is no store to work with.
    #[error(transparent)]
    Store(#[from] OpenError),
    /// An address cannot be listened on.
    #[error("{key}: cannot listen on {address}: {source}; --{key} chooses another address")]
    Listen {
        /// The setting that the address is from.
        key: &'static str,
        address: SocketAddr,
        source: std::io::Error,
    },
    /// The system refused something that every program needs.
    #[error("cannot start: {0}")]
    System(#[from] std::io::Error),
}

impl StartError {
    /// Whether other settings are needed, rather than another try.
    pub(crate) const fn is_of_the_settings(&self) -> bool {
        match self {
            Self::Config(_) => true,
            Self::Store(error) => error.is_of_the_settings(),
            Self::Listen { .. } | Self::System(_) => false,
        }
    }
}

/// A gateway whose addresses are taken: clients may connect already.
#[derive(Debug)]
pub(crate) struct Gateway {
    listener: TcpListener,
    admin: Option<TcpListener>,
    signals: Signals,
    limits: server::Limits,
    grace: Duration,
    store: AnyStore,
    store_timeout: Duration,
    _sweeper: Option<Sweeper>,
    _upkeep: Option<Upkeep>,
    metrics: Metrics,
    layer: IdempotentLayer<AnyStore>,
    proxy: Proxy<RequestBody<Lingering>>,
    askers: Askers,
}

impl Gateway {
    /// Makes the parts and takes the addresses. None if it was told to stop while it waited for its
    /// store: then there is nothing yet that would have to be brought to an end.
    pub(crate) async fn bind(config: &Config) -> Result<Option<Self>, StartError> {
        let routes = config.routes()?;
        let mut signals = Signals::new()?;
        let store = tokio::select! {
            store = store::open(config) => store?,
            () = signals.next() => {
                tracing::info!("stopped");
                return Ok(None);
            }
        };
        Self::with_store(config, routes, store, signals).await.map(Some)
    }

    async fn with_store(
        config: &Config,
        routes: Routes,
        store: AnyStore,
        signals: Signals,
    ) -> Result<Self, StartError> {
        open_files::raise(config.server.max_connections);
        let metrics = Metrics::new();
        let askers = Askers::new(routes.clone());
        let layer = IdempotentLayer::new(store.clone(), routes)
            .digester(config.digester())
            .metrics(metrics.clone())
            .max_running(config.server.max_running)
            .body_read_timeout(config.server.body_read_timeout.0)
            .max_buffered_bytes(config.server.max_buffered_bytes.get())
            .max_waiters(config.store.max_waiters)
            .max_pending_commits(config.store.max_pending_commits)
            .late_grace(config.late_grace());
        let proxy = proxy(config, askers.clone())?;
        let listener = listen("listen", config.server.listen).await?;
        let admin = match config.server.admin {
            Some(address) => Some(listen("admin", address).await?),
            None => None,
        };
        for table in config.replays_without_owner() {
            tracing::warn!(
                "{table}: replays with neither principal-headers nor a fingerprint: clients are \
                 told apart by Authorization and Cookie alone, and requests by their keys"
            );
        }
        let sweeper = match &store {
            AnyStore::Memory(store) => {
                tracing::warn!(
                    "memory: other instances do not see this store, and a restart forgets it"
                );
                Sweeper::start(store, config.store.cleanup_interval.0)?
            }
            AnyStore::Redis(_) | AnyStore::Near(_) | AnyStore::Sql(_) => None,
        };
        let upkeep = Upkeep::start(&store, config.store.cleanup_interval.0, &metrics);
        Ok(Self {
            listener,
            admin,
            signals,
            limits: server::Limits {
                connections: config.server.max_connections,
                header_read: config.server.header_read_timeout.0,
                write: config.server.body_read_timeout.0,
            },
            grace: config.server.shutdown_grace.0,
            _sweeper: sweeper,
            _upkeep: upkeep,
            store,
            store_timeout: config.policy.store_timeout.0,
            metrics,
            layer,
            proxy,
            askers,
        })
    }

    /// Where clients connect.
    pub(crate) fn address(&self) -> Result<SocketAddr, StartError> {
        Ok(self.listener.local_addr()?)
    }

    /// The lines that say where it listens.
    pub(crate) fn announcement(&self) -> Result<String, StartError> {
        let mut lines = format!("listening on http://{}\n", self.address()?);
        if let Some(admin) = &self.admin {
            lines.push_str(&format!("admin on http://{}\n", admin.local_addr()?));
        }
        Ok(lines)
    }

    /// Serves until a signal ends it, and then until what runs has ended or the grace is over.
    pub(crate) async fn serve(mut self) {
        let (stop, stopped) = watch::channel(false);
        let watcher = tokio::spawn(fullness::watch(self.store.clone()));
        let (running, pending) = (self.layer.running(), self.layer.pending_commits());
        let admin = self.admin.take().map(|listener| {
            let ready = Readiness::new(self.store.clone(), self.store_timeout, stopped.clone());
            let admin =
                Admin::new(self.store.clone(), pending.clone(), self.metrics.clone(), ready);
            tokio::spawn(admin.serve(listener, self.limits.header_read))
        });
        let front = Front::new(self.layer.layer(self.proxy), self.askers);
        let mut connections = Connections::default();
        let stopping = async {
            self.signals.next().await;
            stop.send_replace(true);
        };
        tokio::join!(stopping, connections.accept(self.listener, front, self.limits, stopped));
        let begun = Instant::now();
        drain(&mut connections, &running, self.grace, &mut self.signals).await;
        let rest = self.grace.saturating_sub(begun.elapsed()).max(CUT_GRACE);
        record(&pending, rest, &mut self.signals).await;
        self.store.close();
        watcher.abort();
        if let Some(admin) = admin {
            admin.abort();
        }
        tracing::info!("stopped");
    }
}

/// Lets what runs finish, at most for the grace or until another signal; then cuts what is left.
async fn drain(
    connections: &mut Connections,
    running: &Running,
    grace: Duration,
    signals: &mut Signals,
) {
    tracing::info!(running = running.count(), "shutting down");
    running.drain();
    let finished = async {
        connections.ended().await;
        running.idle().await;
    };
    let in_time = tokio::select! {
        finished = timeout(grace, finished) => finished.is_ok(),
        () = signals.next() => false,
    };
    if in_time {
        return;
    }
    tracing::warn!(running = running.count(), "cutting what still runs");
    running.cut();
    connections.cut();
    let settled = async {
        running.idle().await;
        connections.ended().await;
    };
    if timeout(CUT_GRACE, settled).await.is_err() {
        tracing::warn!("not every connection ended in time");
    }
}

/// Lets successes that the store does not know yet be recorded, for so long or until another
/// signal.
async fn record(pending: &PendingCommits, limit: Duration, signals: &mut Signals) {
    if pending.count() == 0 {
        return;
    }
    tracing::warn!(pending = pending.count(), "waiting for commits that failed to be repeated");
    let settled = tokio::select! {
        settled = timeout(limit, pending.settled()) => settled.is_ok(),
        () = signals.next() => false,
    };
    if !settled {
        tracing::error!(lost = pending.count(), "successes are not recorded and may run again");
    }
}

fn proxy(config: &Config, askers: Askers) -> Result<Proxy<RequestBody<Lingering>>, ConfigError> {
    let target =
        upstream(&config.server.upstream).map_err(|reason| ConfigError::new("upstream", reason))?;
    let limits = proxy::Limits {
        upstream: config.server.upstream_timeout.0,
        body_read: config.server.body_read_timeout.0,
    };
    let policies = config.routes.iter().map(|route| &route.policy).chain([&config.policy]);
    let keys =
        policies.flat_map(|policy| policy.principal_headers.iter().chain([&policy.header_name]));
    let keys = keys.map(|name| HeaderName::from_bytes(name.as_bytes()));
    let keys =
        keys.collect::<Result<_, _>>().map_err(|error| ConfigError::new("header-name", error))?;
    Ok(Proxy::new(target, limits, keys, askers))
}

async fn listen(key: &'static str, address: SocketAddr) -> Result<TcpListener, StartError> {
    TcpListener::bind(address).await.map_err(|source| StartError::Listen { key, address, source })
}
