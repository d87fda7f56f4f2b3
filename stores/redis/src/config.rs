//! What can be chosen about a Redis store, its checks, and why a start was refused.
//!
//! The URL may hold a password: nothing here may print it.

use std::fmt;
use std::time::Duration;

use leasehold::{MAX_TTL, StoreError};
use thiserror::Error;

use crate::dial::Dialer;

/// Settings of a [`RedisStore`](crate::RedisStore). Setters take what they are given; the checks
/// are made when the store connects.
///
/// `Debug` leaves the URL out, since it may hold a password.
#[derive(Clone)]
#[non_exhaustive]
pub struct RedisConfig {
    /// Where the server is:
    ///
    /// - `redis://[user][:password@]host[:port][/database]`, and `unix://path?db=database`
    /// - `redis-cluster://[user][:password@]host:port[,host:port..]`: some nodes of a cluster
    /// - `redis-sentinel://[user][:password@]host:port[,host:port..]/service[/database]`: the
    ///   sentinels of a service; user, password and database are those of its servers
    /// - the same with `rediss` for `redis`: by TLS, with the feature `tls`
    ///
    /// Special characters of a user or password are percent-encoded. `?protocol=resp3` speaks
    /// RESP3, which brings nothing here.
    pub url: String,
    /// What the names of all keys begin with; default `leasehold:`. Services and environments that
    /// share a server are kept apart by it. At most 256 bytes.
    pub key_prefix: String,
    /// How long a lease outlives its deadline for its holder alone, so that a late commit still
    /// counts; zero to ten years; default 30 s. It is part of the key's expiry when a lease is
    /// granted or renewed.
    pub late_grace: Duration,
    /// Longest time a call takes, connecting included; above zero; default 1 s. After it the call
    /// fails as unavailable.
    pub store_timeout: Duration,
    /// Start although the server may evict keys; default false. Since all keys of this store
    /// expire, every policy but `noeviction` may evict them, and an evicted key may run twice.
    pub allow_eviction: bool,
    /// How many replicas must have a grant or a commit before it counts; default 0. With more than
    /// zero these two verbs use connections of their own, each for one call at a time, and take a
    /// round trip and the replicas' time longer.
    pub min_replicas: usize,
    /// Connections of those verbs while `min_replicas` is above zero, 1 to 1,024; default 8.
    pub replica_connections: usize,
    /// The certificate authority that TLS trusts instead of the system's, in PEM; default none.
    /// It needs a URL of TLS.
    pub root_certificate: Option<Vec<u8>>,
}

/// Longest key prefix, in bytes. Arbitrary: it is part of every key and every call.
const MAX_PREFIX_LENGTH: usize = 256;

/// Most connections for acknowledged verbs. Arbitrary, far above what helps.
const MAX_REPLICA_CONNECTIONS: usize = 1_024;

impl RedisConfig {
    /// The defaults, for a server at a URL.
    #[must_use]
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            key_prefix: "leasehold:".to_owned(),
            late_grace: Duration::from_secs(30),
            store_timeout: Duration::from_secs(1),
            allow_eviction: false,
            min_replicas: 0,
            replica_connections: 8,
            root_certificate: None,
        }
    }

    /// Sets [`RedisConfig::key_prefix`].
    #[must_use]
    pub fn key_prefix(mut self, key_prefix: impl Into<String>) -> Self {
        self.key_prefix = key_prefix.into();
        self
    }

    /// Sets [`RedisConfig::late_grace`].
    #[must_use]
    pub const fn late_grace(mut self, late_grace: Duration) -> Self {
        self.late_grace = late_grace;
        self
    }

    /// Sets [`RedisConfig::store_timeout`].
    #[must_use]
    pub const fn store_timeout(mut self, store_timeout: Duration) -> Self {
        self.store_timeout = store_timeout;
        self
    }

    /// Sets [`RedisConfig::allow_eviction`].
    #[must_use]
    pub const fn allow_eviction(mut self, allow_eviction: bool) -> Self {
        self.allow_eviction = allow_eviction;
        self
    }

    /// Sets [`RedisConfig::min_replicas`].
    #[must_use]
    pub const fn min_replicas(mut self, min_replicas: usize) -> Self {
        self.min_replicas = min_replicas;
        self
    }

    /// Sets [`RedisConfig::replica_connections`].
    #[must_use]
    pub const fn replica_connections(mut self, replica_connections: usize) -> Self {
        self.replica_connections = replica_connections;
        self
    }

    /// Sets [`RedisConfig::root_certificate`].
    #[must_use]
    pub fn root_certificate(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.root_certificate = Some(pem.into());
        self
    }

    /// Checks every setting, the URL included, without asking a server. A start does so too.
    ///
    /// # Errors
    ///
    /// [`ConfigError`], which names the setting and repeats nothing of the URL.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.check()?;
        Dialer::new(self).map(drop)
    }

    /// Checks every setting but the URL, which is checked where it is taken apart.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        if self.key_prefix.len() > MAX_PREFIX_LENGTH {
            return Err(ConfigError::KeyPrefix);
        }
        if self.late_grace > MAX_TTL {
            return Err(ConfigError::LateGrace);
        }
        if self.store_timeout.is_zero() || self.store_timeout > MAX_TTL {
            return Err(ConfigError::StoreTimeout);
        }
        if !(1..=MAX_REPLICA_CONNECTIONS).contains(&self.replica_connections) {
            return Err(ConfigError::ReplicaConnections);
        }
        Ok(())
    }
}

impl fmt::Debug for RedisConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisConfig")
            .field("key_prefix", &self.key_prefix)
            .field("late_grace", &self.late_grace)
            .field("store_timeout", &self.store_timeout)
            .field("allow_eviction", &self.allow_eviction)
            .field("min_replicas", &self.min_replicas)
            .field("replica_connections", &self.replica_connections)
            .finish_non_exhaustive()
    }
}

/// Why a [`RedisConfig`] was refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The URL is none of those that [`RedisConfig::url`] lists. It may hold a password, so only
    /// what is wrong with it is told.
    #[error("the url of the store is not valid: {reason}")]
    Url {
        /// What is wrong.
        reason: String,
    },
    /// `key_prefix` is too long.
    #[error("key_prefix is longer than {MAX_PREFIX_LENGTH} bytes")]
    KeyPrefix,
    /// `late_grace` is longer than ten years.
    #[error("late_grace is longer than ten years")]
    LateGrace,
    /// `store_timeout` is zero, or longer than ten years.
    #[error("store_timeout is zero, or longer than ten years")]
    StoreTimeout,
    /// `replica_connections` is zero or too large.
    #[error("replica_connections must be from 1 to {MAX_REPLICA_CONNECTIONS}")]
    ReplicaConnections,
    /// `root_certificate` could vouch for no server.
    #[error("root_certificate {reason}")]
    RootCertificate {
        /// What is wrong with it.
        reason: &'static str,
    },
}

/// Why a store did not start.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// A setting is wrong: correct it.
    #[error("the configuration is not valid")]
    Config(#[from] ConfigError),
    /// The server did not answer, or refused the user: try again, or correct the URL.
    #[error("the store is unavailable")]
    Unavailable(#[source] StoreError),
    /// A server evicts keys when its memory is full: set its `maxmemory-policy` to `noeviction`,
    /// or allow eviction.
    #[error("the server's maxmemory-policy is {policy}, under which it may evict leases")]
    Eviction {
        /// The policy.
        policy: String,
    },
    /// The server does not tell whether it evicts keys (the command `INFO` may be forbidden): allow
    /// the user to ask, or allow eviction.
    #[error("the server does not tell its maxmemory-policy")]
    EvictionUnknown,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_checked_at_both_ends() {
        let check = |change: fn(RedisConfig) -> RedisConfig| change(RedisConfig::new("")).check();
        assert_eq!(check(|c| c), Ok(()));
        assert_eq!(check(|c| c.key_prefix("x".repeat(256))), Ok(()));
        assert_eq!(check(|c| c.key_prefix("x".repeat(257))), Err(ConfigError::KeyPrefix));
        assert_eq!(check(|c| c.late_grace(Duration::ZERO)), Ok(()));
        assert_eq!(check(|c| c.late_grace(MAX_TTL)), Ok(()));
        let over = MAX_TTL + Duration::from_nanos(1);
        assert_eq!(RedisConfig::new("").late_grace(over).check(), Err(ConfigError::LateGrace));
        assert_eq!(check(|c| c.store_timeout(Duration::ZERO)), Err(ConfigError::StoreTimeout));
        assert_eq!(check(|c| c.store_timeout(Duration::from_nanos(1))), Ok(()));
        assert_eq!(
            RedisConfig::new("").store_timeout(over).check(),
            Err(ConfigError::StoreTimeout)
        );
        assert_eq!(check(|c| c.replica_connections(0)), Err(ConfigError::ReplicaConnections));
        assert_eq!(check(|c| c.replica_connections(1_024)), Ok(()));
        assert_eq!(check(|c| c.replica_connections(1_025)), Err(ConfigError::ReplicaConnections));
    }

    #[test]
    fn the_url_is_validated_with_the_other_settings() {
        let validate = |url: &str| RedisConfig::new(url).validate();
        assert_eq!(validate("redis-cluster://user:secret@one:1,two:2"), Ok(()));
        for url in ["", "redis://:hunter2@", "http://host", "redis-sentinel://host"] {
            let refusal = validate(url).expect_err(url);
            assert!(matches!(refusal, ConfigError::Url { .. }), "{refusal}");
            assert!(!refusal.to_string().contains("hunter2"), "{refusal}");
        }
        let long = RedisConfig::new("redis://host").key_prefix("x".repeat(257));
        assert_eq!(long.validate(), Err(ConfigError::KeyPrefix));
    }

    #[test]
    fn debug_does_not_print_the_url() {
        let config = RedisConfig::new("redis://user:hunter2@host");
        assert!(!format!("{config:?}").contains("hunter2"));
    }
}
