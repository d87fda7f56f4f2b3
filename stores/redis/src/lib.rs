//! Leases kept by Redis or Valkey, for services that run as several instances.
//!
//! [`RedisStore`] keeps the contract of [`leasehold::LeaseStore`]: every verb is one script on the
//! server, which runs by itself, decides by the server's clock, and touches one key, so that a
//! cluster takes it too. [`NearCache`] puts an in-memory store before any other, which answers
//! duplicates of completed keys without a round trip.
//!
//! # What is promised
//! - All laws of the contract, as long as the server keeps what it has acknowledged.
//! - Every call ends within [`RedisConfig::store_timeout`].
//! - No key without an expiry: what nobody settles goes away by itself.
//!
//! # What is not
//! Replication of Redis is asynchronous: a failover may lose what was acknowledged, and a key may
//! then be granted twice. `docs/redis.md` says how to make that rare, and what else an operator
//! should know.
//!
//! # Features
//!
//! | feature | adds | default |
//! |---|---|---|
//! | `tls` | `rediss://`, `rediss-cluster://` and `rediss-sentinel://`, by rustls | yes |
//!
//! # Example
//!
//! ```no_run
//! use std::time::Duration;
//! use leasehold::{MemoryConfig, MemoryStore};
//! use leasehold_redis::{NEAR_CACHE_TTL, NearCache, RedisConfig, RedisStore};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let config = RedisConfig::new("redis://:secret@redis.internal/0").key_prefix("shop:");
//! let store = RedisStore::connect(config).await?;
//!
//! // Optional: answers duplicates from memory for five seconds.
//! let front = MemoryStore::new(MemoryConfig::default().late_grace(Duration::ZERO))?;
//! let store = NearCache::new(store, front, NEAR_CACHE_TTL);
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

mod authority;
mod check;
mod config;
mod dial;
mod endpoint;
mod failure;
mod link;
mod near;
mod replicas;
mod reply;
mod script;
mod session;
mod store;

pub use config::{ConfigError, ConnectError, RedisConfig};
pub use near::{NEAR_CACHE_TTL, NearCache};
pub use store::RedisStore;
