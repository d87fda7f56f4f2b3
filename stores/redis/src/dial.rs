//! Making connections, to whatever kind of server the URL names.
//!
//! Retries nothing and watches nothing: that is `link`'s.

use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::cluster::{ClusterClient, ClusterClientBuilder};
use redis::cluster_async::ClusterConnection;
use redis::cluster_routing::{
    MultipleNodeRoutingInfo, Route, RoutingInfo, SingleNodeRoutingInfo, SlotAddr,
};
use redis::sentinel::{SentinelClient, SentinelClientBuilder, SentinelServerType};
use redis::{AsyncConnectionConfig, Client, Cmd, ConnectionInfo, RedisResult, Value};
use tokio::sync::Mutex;

use crate::authority;
use crate::config::{ConfigError, RedisConfig};
use crate::endpoint::{Endpoint, refused};

/// How often a cluster's client tries another node, or the same one anew, within one call.
/// Arbitrary: slots that have moved take one or two, the call's own time ends what takes longer.
const CLUSTER_RETRIES: u32 = 8;

/// Longest pause between two of these, in milliseconds.
const CLUSTER_RETRY_PAUSE_MS: u64 = 50;

/// Makes connections.
pub(crate) struct Dialer {
    target: Target,
    /// Where it leads, without user and password.
    pub(crate) name: String,
    /// How long a connection owes an answer before it is held for silent: half of a call's time.
    pub(crate) patience: Duration,
    config: AsyncConnectionConfig,
}

enum Target {
    One(Client),
    Cluster(ClusterClient),
    /// It remembers which sentinels have answered.
    Sentinel(Mutex<SentinelClient>),
}

/// A connection that many callers may use at once. Clones share it.
#[derive(Clone)]
pub(crate) enum Connection {
    /// To one server. It does not come back once it is broken.
    One(MultiplexedConnection),
    /// To the nodes of a cluster, which it finds and connects to again by itself.
    Cluster(ClusterConnection),
}

impl Dialer {
    /// For a URL; nothing is connected yet.
    pub(crate) fn new(config: &RedisConfig) -> Result<Self, ConfigError> {
        let endpoint = Endpoint::parse(&config.url)?;
        authority::check(config)?;
        let name = name(&endpoint);
        let patience = config.store_timeout / 2;
        let target = target(endpoint, config).map_err(|error| refused(&error))?;
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(config.store_timeout))
            // Each call has its own end.
            .set_response_timeout(None);
        Ok(Self { target, name, patience, config })
    }

    /// Connects, and says who we are.
    pub(crate) async fn dial(&self) -> RedisResult<Connection> {
        match &self.target {
            Target::One(client) => client
                .get_multiplexed_async_connection_with_config(&self.config)
                .await
                .map(Connection::One),
            Target::Cluster(client) => client.get_async_connection().await.map(Connection::Cluster),
            Target::Sentinel(client) => client
                .lock()
                .await
                .get_async_connection_with_config(&self.config)
                .await
                .map(Connection::One),
        }
    }
}

fn target(endpoint: Endpoint, config: &RedisConfig) -> RedisResult<Target> {
    Ok(match endpoint {
        Endpoint::One(info) => Target::One(client(info, config)?),
        Endpoint::Cluster(nodes) => Target::Cluster(cluster(nodes, config)?),
        Endpoint::Sentinel { sentinels, service, server } => {
            Target::Sentinel(Mutex::new(sentinel(&sentinels, &service, &server, config)?))
        }
    })
}

fn sentinel(
    sentinels: &[ConnectionInfo],
    service: &str,
    server: &ConnectionInfo,
    config: &RedisConfig,
) -> RedisResult<SentinelClient> {
    let addresses = sentinels.iter().map(|info| info.addr().clone());
    let user = server.redis_settings();
    let mut builder = SentinelClientBuilder::new(addresses, service, SentinelServerType::Master)?
        .set_client_to_redis_db(user.db())
        .set_client_to_redis_protocol(user.protocol());
    if let Some(username) = user.username() {
        builder = builder.set_client_to_redis_username(username);
    }
    if let Some(password) = user.password() {
        builder = builder.set_client_to_redis_password(password);
    }
    encrypted(builder, server, config).build()
}

/// By TLS, to the sentinels and to the servers, if the URL says so.
#[cfg(feature = "tls")]
fn encrypted(
    builder: SentinelClientBuilder,
    server: &ConnectionInfo,
    config: &RedisConfig,
) -> SentinelClientBuilder {
    if !matches!(server.addr(), redis::ConnectionAddr::TcpTls { .. }) {
        return builder;
    }
    let builder = builder.set_client_to_redis_tls_mode(redis::TlsMode::Secure);
    match &config.root_certificate {
        Some(_) => builder
            .set_client_to_redis_certificates(certificates(config))
            .set_client_to_sentinel_certificates(certificates(config)),
        None => builder,
    }
}

#[cfg(not(feature = "tls"))]
fn encrypted(
    builder: SentinelClientBuilder,
    _: &ConnectionInfo,
    _: &RedisConfig,
) -> SentinelClientBuilder {
    builder
}

#[cfg(feature = "tls")]
fn client(info: ConnectionInfo, config: &RedisConfig) -> RedisResult<Client> {
    match &config.root_certificate {
        Some(_) => Client::build_with_tls(info, certificates(config)),
        None => Client::open(info),
    }
}

#[cfg(not(feature = "tls"))]
fn client(info: ConnectionInfo, _: &RedisConfig) -> RedisResult<Client> {
    Client::open(info)
}

#[cfg(feature = "tls")]
fn certificates(config: &RedisConfig) -> redis::TlsCertificates {
    redis::TlsCertificates { client_tls: None, root_cert: config.root_certificate.clone() }
}

fn cluster(nodes: Vec<ConnectionInfo>, config: &RedisConfig) -> RedisResult<ClusterClient> {
    let builder = ClusterClientBuilder::new(nodes)
        .connection_timeout(config.store_timeout)
        .response_timeout(config.store_timeout)
        .overall_response_timeout(Some(config.store_timeout.max(Duration::from_millis(1))))
        .retries(CLUSTER_RETRIES)
        .min_retry_wait(1)
        .max_retry_wait(CLUSTER_RETRY_PAUSE_MS);
    #[cfg(feature = "tls")]
    let builder = match &config.root_certificate {
        Some(_) => builder.certs(certificates(config)),
        None => builder,
    };
    builder.build()
}

fn name(endpoint: &Endpoint) -> String {
    let addresses = |infos: &[ConnectionInfo]| {
        infos.iter().map(|info| info.addr().to_string()).collect::<Vec<_>>().join(",")
    };
    match endpoint {
        Endpoint::One(info) => info.addr().to_string(),
        Endpoint::Cluster(nodes) => addresses(nodes),
        Endpoint::Sentinel { sentinels, service, .. } => {
            format!("{service} by {}", addresses(sentinels))
        }
    }
}

impl Connection {
    /// Sends a command to where its key lives, and waits for the reply.
    pub(crate) async fn send(&mut self, command: &Cmd) -> RedisResult<Value> {
        match self {
            Self::One(one) => one.send_packed_command(command).await?.extract_error(),
            Self::Cluster(many) => {
                use redis::aio::ConnectionLike as _;
                many.req_packed_command(command).await?.extract_error()
            }
        }
    }

    /// Sends a command without a key to the server that holds one.
    pub(crate) async fn send_beside(&mut self, key: &[u8], command: Cmd) -> RedisResult<Value> {
        match self {
            Self::One(one) => one.send_packed_command(&command).await?.extract_error(),
            Self::Cluster(many) => {
                let route = Route::with_key(key, SlotAddr::Master);
                let node = SingleNodeRoutingInfo::SpecificNode(route);
                let routing = RoutingInfo::SingleNode(node);
                many.route_command(command, routing).await?.extract_error()
            }
        }
    }

    /// Sends a command to every server that takes writes.
    pub(crate) async fn send_to_masters(&mut self, command: Cmd) -> RedisResult<Value> {
        match self {
            Self::One(one) => one.send_packed_command(&command).await?.extract_error(),
            Self::Cluster(many) => {
                let routing = RoutingInfo::MultiNode((MultipleNodeRoutingInfo::AllMasters, None));
                many.route_command(command, routing).await?.extract_error()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_in_the_log_has_no_user_and_no_password() {
        for (url, name) in [
            ("redis://user:hunter2@host:7000/3", "host:7000"),
            ("redis-cluster://user:hunter2@one:1,two:2", "one:1,two:2"),
            ("redis-sentinel://user:hunter2@one:1,two:2/leases", "leases by one:1,two:2"),
        ] {
            let dialer = Dialer::new(&RedisConfig::new(url)).expect("a valid url");
            assert_eq!(dialer.name, name);
        }
    }

    #[cfg(feature = "tls")]
    #[test]
    fn every_kind_of_target_can_be_reached_by_tls() {
        for url in ["rediss://host", "rediss-cluster://one:1", "rediss-sentinel://one:1/leases"] {
            assert!(Dialer::new(&RedisConfig::new(url)).is_ok(), "{url}");
        }
    }
}
