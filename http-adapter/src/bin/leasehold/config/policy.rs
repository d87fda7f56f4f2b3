//! From checked keys to what the layer and the store are built from.

use std::time::Duration;

use http::{HeaderName, Method};
use leasehold::{Digester, MemoryConfig, Namespace, Ttl};
use leasehold_http::{Pattern, Policy, Routes};
use leasehold_redis::RedisConfig;

use super::choices::{Duplicate, FingerprintMode};
use super::duration::Span;
use super::error::ConfigError;
use super::keys::PolicyKeys;
use super::secret::{Secret, StoreKind};
use super::{Config, IDEMPOTENCY, ROOT_CERTIFICATE, ROUTE, STORE, verdict};

/// Reads a route's pattern.
pub(super) fn pattern(text: &str) -> Result<Pattern, String> {
    Pattern::parse(text).map_err(|error| error.to_string())
}

impl Config {
    /// The policies of all paths.
    pub(crate) fn routes(&self) -> Result<Routes, ConfigError> {
        let mut routes = Routes::new(policy(IDEMPOTENCY, &self.policy)?);
        for (index, route) in self.routes.iter().enumerate() {
            let name = format!("{ROUTE}[{index}]");
            let pattern = pattern(&route.path)
                .map_err(|reason| ConfigError::new(format!("{name}.path"), reason))?;
            routes = routes.route(pattern, policy(&name, &route.policy)?);
        }
        Ok(routes)
    }

    /// The tables of policies that replay a response although neither a principal nor a fingerprint
    /// says whose it is, or of what (rule 5.1).
    pub(crate) fn replays_without_owner(&self) -> Vec<String> {
        let routes = self.routes.iter().enumerate();
        let routes = routes.map(|(index, route)| (format!("{ROUTE}[{index}]"), &route.policy));
        std::iter::once((IDEMPOTENCY.to_owned(), &self.policy))
            .chain(routes)
            .filter(|(_, keys)| {
                keys.enabled
                    && keys.duplicate == Duplicate::Replay
                    && keys.fingerprint == FingerprintMode::Off
                    && keys.principal_headers.is_empty()
            })
            .map(|(table, _)| table)
            .collect()
    }

    /// The memory store's settings.
    pub(crate) fn memory(&self) -> MemoryConfig {
        MemoryConfig::default()
            .max_entries(self.store.max_entries)
            .max_outcome_bytes(self.store.max_outcome_bytes.get())
            .late_grace(self.late_grace())
    }

    /// The settings of a Redis store, if that is the store.
    pub(crate) fn redis(&self) -> Option<RedisConfig> {
        (self.store.store.kind() == Ok(StoreKind::Redis)).then(|| {
            let redis = RedisConfig::new(self.store.store.reveal());
            redis
                .key_prefix(&self.store.key_prefix)
                .late_grace(self.late_grace())
                .store_timeout(self.longest_store_timeout())
                .allow_eviction(self.store.allow_eviction)
                .min_replicas(self.store.min_replicas)
                .replica_connections(self.store.replica_connections)
        })
    }

    /// What no call to the store takes longer than: the layer ends each by its own policy.
    pub(super) fn longest_store_timeout(&self) -> Duration {
        let routes = self.routes.iter().map(|route| route.policy.store_timeout.0);
        routes.fold(self.policy.store_timeout.0, Duration::max)
    }

    /// How long the near cache of a shared store remembers, if there is one.
    pub(crate) fn near_cache(&self) -> Result<Option<Ttl>, ConfigError> {
        let ttl = self.store.near_cache.then(|| Ttl::new(self.store.near_cache_ttl.0));
        ttl.transpose().map_err(|error| ConfigError::new("idempotency.near-cache-ttl", error))
    }

    /// What makes addresses and fingerprints.
    pub(crate) fn digester(&self) -> Digester {
        let secret = self.store.digest_secret.as_ref().map(Secret::reveal);
        secret.map_or(Digester::plain(), |secret| Digester::with_secret(secret.as_bytes()))
    }
}

/// A refusal of the Redis store's settings, by the name of their key.
pub(crate) fn redis_refusal(error: &leasehold_redis::ConfigError) -> ConfigError {
    use leasehold_redis::ConfigError as Redis;
    let key = match error {
        Redis::KeyPrefix => "idempotency.key-prefix",
        Redis::LateGrace => "idempotency.late-grace",
        Redis::StoreTimeout => "idempotency.store-timeout",
        Redis::ReplicaConnections => "idempotency.replica-connections",
        Redis::RootCertificate { .. } => ROOT_CERTIFICATE,
        _ => STORE,
    };
    ConfigError::new(key, error)
}

/// The keys of `table` as the layer's policy.
fn policy(table: &str, keys: &PolicyKeys) -> Result<Policy, ConfigError> {
    let refuse = |key: &str, error: &dyn std::fmt::Display| {
        ConfigError::new(format!("{table}.{key}"), error)
    };
    let ttl = |key: &str, span: Span| Ttl::new(span.0).map_err(|error| refuse(key, &error));
    let namespace = match keys.namespace.as_str() {
        "" => Namespace::default(),
        name => Namespace::new(name).map_err(|error| refuse("namespace", &error))?,
    };
    let header = |key: &str, name: &String| {
        HeaderName::from_bytes(name.as_bytes()).map_err(|error| refuse(key, &error))
    };
    let headers = |key: &str, names: &[String]| {
        names.iter().map(|name| header(key, name)).collect::<Result<Vec<_>, _>>()
    };
    let methods = keys.allowed_methods.iter().map(|name| Method::from_bytes(name.as_bytes()));
    let methods = methods
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| refuse("allowed-methods", &error))?;
    let verdicts = verdict::verdicts(&keys.verdict)
        .map_err(|(key, reason)| refuse(&format!("verdict.{key}"), &reason))?;
    Ok(Policy::default()
        .verdicts(verdicts)
        .namespace(namespace)
        .enabled(keys.enabled)
        .header_name(header("header-name", &keys.header_name)?)
        .required(keys.required)
        .key_syntax(keys.key_syntax.into())
        .max_key_length(keys.max_key_length)
        .allowed_methods(methods)
        .ttl(ttl("ttl", keys.ttl)?)
        .lease_ttl(ttl("lease-ttl", keys.lease_ttl)?)
        .renew(keys.renew)
        .duplicate(keys.duplicate.into())
        .fingerprint(keys.fingerprint.into())
        .max_fingerprint_body(keys.max_fingerprint_body.get())
        .max_replay_body(keys.max_replay_body.get())
        .replayed_header(header("replayed-header", &keys.replayed_header)?)
        .replay_drop_headers(headers("replay-drop-headers", &keys.replay_drop_headers)?)
        .retry_hints(keys.retry_hints)
        .error_format(keys.error_format.into())
        .on_disconnect(keys.on_disconnect.into())
        .on_unknown_outcome(keys.on_unknown_outcome.into())
        .hold_ttl(ttl("hold-ttl", keys.hold_ttl.unwrap_or(keys.lease_ttl))?)
        .principal_headers(headers("principal-headers", &keys.principal_headers)?)
        .wait(keys.wait.0)
        .fail_open(keys.fail_open)
        // Its upstreams speak HTTP/1.1, which carries no gRPC.
        .grpc(false)
        .store_timeout(keys.store_timeout.0))
}
