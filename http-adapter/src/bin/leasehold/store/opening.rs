//! From settings to a store that answers, or to one line of why there is none.
//!
//! A start waits a little for a server that is not there yet, and then gives up: until a server has
//! told that it evicts nothing, or that its table is the right one, no lease of it may be granted.
//! No text here has anything of the store's URL.

mod refusal;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use leasehold::{MemoryConfig, MemoryStore, StoreError, StoreErrorKind};
use leasehold_redis::{NearCache, RedisConfig, RedisStore};
use leasehold_sql::{Migration, SqlConfig, SqlStore};
use thiserror::Error;
use tokio::time::{Instant, sleep, timeout_at};

use super::{AnyStore, Shared};
use crate::config::{Config, ConfigError, STORE};
use refusal::{Refusal, with_sources};

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
    let redis = match Shared::of(config)? {
        None => return Ok(AnyStore::Memory(Arc::new(memory(config.memory())?))),
        Some(Shared::Sql(sql)) => {
            return Ok(AnyStore::Sql(Arc::new(open_sql(sql, Patience::Start).await?)));
        }
        Some(Shared::Redis(redis)) => redis,
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

/// Opens a shared store itself, without what a gateway puts before it, and changes no table.
pub(crate) async fn open_shared(shared: Shared) -> Result<AnyStore, OpenError> {
    Ok(match shared {
        Shared::Redis(redis) => AnyStore::Redis(Arc::new(open_redis(redis, Patience::Once).await?)),
        Shared::Sql(sql) => {
            let sql = sql.auto_migrate(false);
            AnyStore::Sql(Arc::new(open_sql(sql, Patience::Once).await?))
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

async fn open_redis(config: RedisConfig, patience: Patience) -> Result<RedisStore, OpenError> {
    connected(patience, || RedisStore::connect(config.clone())).await
}

async fn open_sql(config: SqlConfig, patience: Patience) -> Result<SqlStore, OpenError> {
    connected(patience, || SqlStore::connect(config.clone())).await
}

/// Brings the table of an SQL store to this program's version; gives what had to be done. It takes
/// as long as the database needs.
pub(crate) async fn migrate(config: &SqlConfig) -> Result<Vec<Migration>, OpenError> {
    leasehold_sql::migrate(config).await.map_err(|error| match error.into() {
        Refusal::ForNow(error) => OpenError::Unavailable(error),
        Refusal::Settings(error) => OpenError::Config(error),
    })
}

/// Connects to a server.
async fn connected<S, E, F>(patience: Patience, connect: impl Fn() -> F) -> Result<S, OpenError>
where
    F: Future<Output = Result<S, E>>,
    Refusal: From<E>,
{
    let until = Instant::now() + START_PATIENCE;
    let mut is_told = false;
    // Ends: with the server's answer, or with the patience.
    loop {
        let error = match timeout_at(until, connect()).await {
            Ok(Ok(store)) => return Ok(store),
            Ok(Err(error)) => match error.into() {
                Refusal::ForNow(error) => error,
                Refusal::Settings(error) => return Err(error.into()),
            },
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Where nobody listens: the port was free a moment ago.
    fn closed() -> String {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.local_addr().expect("an address").to_string()
    }

    /// The time only passes while everything waits, so that the patience is over at once.
    #[tokio::test(start_paused = true)]
    async fn a_server_that_never_comes_is_waited_for_and_given_up() {
        let url = format!("redis://:hunter2@{}", closed());
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
