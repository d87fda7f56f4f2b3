//! From settings to a store that answers, or to one line of why there is none.
//!
//! A start waits a little for a server that is not there yet, and then gives up: until a server has
//! told that it evicts nothing, no lease of it may be granted. No text here has anything of the
//! store's URL.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use leasehold::{MemoryConfig, MemoryStore, StoreError, StoreErrorKind};
use leasehold_redis::{ConnectError, NearCache, RedisConfig, RedisStore};
use thiserror::Error;
use tokio::time::{Instant, sleep, timeout_at};

use super::AnyStore;
use crate::config::{Config, ConfigError, STORE, redis_refusal};

/// How long a server may take to be there. Arbitrary: long enough for one that is started together
/// with the gateway, short enough for whoever waits for the gateway's exit code.
const START_PATIENCE: Duration = Duration::from_secs(10);

/// Pause between two attempts.
const PAUSE: Duration = Duration::from_millis(100);

/// How often a server is asked that does not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    /// Once.
    Once,
    /// For some seconds.
    Start,
}

/// Why there is no store.
#[derive(Debug, Error)]
pub(crate) enum OpenError {
    /// A setting is wrong, or the server's own settings do not go with it.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The server does not answer.
    #[error("{STORE}: {}", with_sources(.0))]
    Unavailable(StoreError),
}

impl OpenError {
    /// Whether other settings are needed, rather than another try.
    pub(crate) const fn is_of_the_settings(&self) -> bool {
        matches!(self, Self::Config(_))
    }
}

/// Opens the store that the settings name.
pub(crate) async fn open(config: &Config) -> Result<AnyStore, OpenError> {
    let Some(redis) = config.redis_to_open()? else {
        return Ok(AnyStore::Memory(Arc::new(memory(config.memory())?)));
    };
    let store = open_redis(redis, Patience::Start).await?;
    Ok(match config.near_cache()? {
        None => AnyStore::Redis(Arc::new(store)),
        Some(ttl) => {
            // Its leases guard nothing, so none of them has to outlive its deadline.
            let front = memory(MemoryConfig::default().late_grace(Duration::ZERO))?;
            AnyStore::Near(Arc::new(NearCache::new(store, front, ttl)))
        }
    })
}

fn memory(config: MemoryConfig) -> Result<MemoryStore, ConfigError> {
    MemoryStore::new(config).map_err(|error| {
        let key = match error {
            leasehold::ConfigError::LateGrace => "idempotency.late-grace",
            _ => "idempotency.max-entries",
        };
        ConfigError::new(key, error)
    })
}

/// Connects to a server.
pub(crate) async fn open_redis(
    config: RedisConfig,
    patience: Patience,
) -> Result<RedisStore, OpenError> {
    let until = Instant::now() + START_PATIENCE;
    let mut is_told = false;
    // Ends: with the server's answer, or with the patience.
    loop {
        let error = match timeout_at(until, RedisStore::connect(config.clone())).await {
            Ok(Ok(store)) => return Ok(store),
            Ok(Err(ConnectError::Unavailable(error))) if error.is_transient() => error,
            Ok(Err(error)) => return Err(refusal(error).into()),
            Err(_) => StoreError::new(StoreErrorKind::NoAnswer),
        };
        if patience == Patience::Once || Instant::now() + PAUSE >= until {
            return Err(OpenError::Unavailable(error));
        }
        if !is_told {
            tracing::warn!(error = %with_sources(&error), "the store is not there yet, waiting");
            is_told = true;
        }
        sleep(PAUSE).await;
    }
}

/// What has to be changed before another try makes sense.
fn refusal(error: ConnectError) -> ConfigError {
    match error {
        ConnectError::Config(error) => redis_refusal(&error),
        ConnectError::Eviction { .. } => {
            ConfigError::new(STORE, format!("{error}: set noeviction, or allow-eviction = true"))
        }
        ConnectError::EvictionUnknown => {
            let remedy = "allow its user the command INFO, or set allow-eviction = true";
            ConfigError::new(STORE, format!("{error}: {remedy}"))
        }
        ConnectError::Unavailable(error) => ConfigError::new(STORE, with_sources(&error)),
        other => ConfigError::new(STORE, with_sources(&other)),
    }
}

/// An error with all that lies below it.
fn with_sources(error: &dyn Error) -> String {
    let sources = std::iter::successors(error.source(), |&error| error.source());
    sources.fold(error.to_string(), |text, source| format!("{text}: {source}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The time only passes while everything waits, so that the patience is over at once.
    #[tokio::test(start_paused = true)]
    async fn a_server_that_never_comes_is_waited_for_and_given_up() {
        // The listener is closed again: nobody listens there.
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("redis://:hunter2@{}", listener.local_addr().expect("an address"));
        drop(listener);
        let begun = Instant::now();
        let error = open_redis(RedisConfig::new(&url), Patience::Start).await.expect_err("closed");
        assert!(begun.elapsed() + PAUSE >= START_PATIENCE, "{:?}", begun.elapsed());
        let text = error.to_string();
        assert!(text.starts_with("idempotency.store: the store could not be reached"), "{text}");
        assert!(!text.contains("hunter2") && !error.is_of_the_settings(), "{text}");

        let begun = Instant::now();
        let once = open_redis(RedisConfig::new(&url), Patience::Once).await;
        assert!(once.is_err() && begun.elapsed() < START_PATIENCE);
    }
}
