//! The store that the configuration names. Nothing here decides anything about a key: whatever is
//! asked is passed on.

mod opening;

use std::sync::Arc;
use std::time::Instant;

use leasehold::{
    AcquireError, Address, Admission, AttachError, Attempt, CommitError, Lease, LeaseStore,
    MemoryStore, Outcome, RecordState, ReleaseError, RenewError, StoreError, Terms, Ttl, Usage,
};
use leasehold_redis::{NearCache, RedisConfig, RedisStore};
use leasehold_sql::{SqlConfig, SqlStore};

use crate::config::{Config, ConfigError};
pub(crate) use opening::{OpenError, migrate, open, open_shared};

/// Any of the stores. Clones are the same store.
#[derive(Clone, Debug)]
pub(crate) enum AnyStore {
    /// In this process.
    Memory(Arc<MemoryStore>),
    /// On a Redis server.
    Redis(Arc<RedisStore>),
    /// The same behind this process's memory of what was completed.
    Near(Arc<NearCache<RedisStore, MemoryStore>>),
    /// In a database.
    Sql(Arc<SqlStore>),
}

/// The settings of a store that is not this process's own.
#[derive(Clone, Debug)]
pub(crate) enum Shared {
    Redis(RedisConfig),
    Sql(SqlConfig),
}

impl Shared {
    /// What the settings say, if they name one.
    pub(crate) fn of(config: &Config) -> Result<Option<Self>, ConfigError> {
        let redis = config.redis_to_open()?.map(Self::Redis);
        Ok(redis.or_else(|| config.sql().map(Self::Sql)))
    }
}

/// Calls to a server are boxed: their state takes some thousand bytes, which every request would
/// else have room for, with a store in memory too.
impl LeaseStore for AnyStore {
    async fn acquire(&self, address: Address, terms: Terms) -> Result<Admission, AcquireError> {
        match self {
            Self::Memory(store) => store.acquire(address, terms).await,
            Self::Redis(store) => Box::pin(store.acquire(address, terms)).await,
            Self::Near(store) => Box::pin(store.acquire(address, terms)).await,
            Self::Sql(store) => Box::pin(store.acquire(address, terms)).await,
        }
    }

    async fn commit(
        &self,
        lease: &mut Lease,
        outcome: Option<Outcome>,
        ttl: Ttl,
    ) -> Result<(), CommitError> {
        match self {
            Self::Memory(store) => store.commit(lease, outcome, ttl).await,
            Self::Redis(store) => Box::pin(store.commit(lease, outcome, ttl)).await,
            Self::Near(store) => Box::pin(store.commit(lease, outcome, ttl)).await,
            Self::Sql(store) => Box::pin(store.commit(lease, outcome, ttl)).await,
        }
    }

    async fn attach(&self, lease: &Lease, outcome: Outcome) -> Result<(), AttachError> {
        match self {
            Self::Memory(store) => store.attach(lease, outcome).await,
            Self::Redis(store) => Box::pin(store.attach(lease, outcome)).await,
            Self::Near(store) => Box::pin(store.attach(lease, outcome)).await,
            Self::Sql(store) => Box::pin(store.attach(lease, outcome)).await,
        }
    }

    async fn release(&self, lease: &mut Lease) -> Result<(), ReleaseError> {
        match self {
            Self::Memory(store) => store.release(lease).await,
            Self::Redis(store) => Box::pin(store.release(lease)).await,
            Self::Near(store) => Box::pin(store.release(lease)).await,
            Self::Sql(store) => Box::pin(store.release(lease)).await,
        }
    }

    async fn abandon(&self, address: Address, attempt: Attempt) -> Result<(), StoreError> {
        match self {
            Self::Memory(store) => store.abandon(address, attempt).await,
            Self::Redis(store) => Box::pin(store.abandon(address, attempt)).await,
            Self::Near(store) => Box::pin(store.abandon(address, attempt)).await,
            Self::Sql(store) => Box::pin(store.abandon(address, attempt)).await,
        }
    }

    async fn renew(&self, lease: &mut Lease, lease_ttl: Ttl) -> Result<Instant, RenewError> {
        match self {
            Self::Memory(store) => store.renew(lease, lease_ttl).await,
            Self::Redis(store) => Box::pin(store.renew(lease, lease_ttl)).await,
            Self::Near(store) => Box::pin(store.renew(lease, lease_ttl)).await,
            Self::Sql(store) => Box::pin(store.renew(lease, lease_ttl)).await,
        }
    }

    async fn peek(&self, address: Address) -> Result<RecordState, StoreError> {
        match self {
            Self::Memory(store) => store.peek(address).await,
            Self::Redis(store) => Box::pin(store.peek(address)).await,
            Self::Near(store) => Box::pin(store.peek(address)).await,
            Self::Sql(store) => Box::pin(store.peek(address)).await,
        }
    }

    async fn forget(&self, address: Address) -> Result<bool, StoreError> {
        match self {
            Self::Memory(store) => store.forget(address).await,
            Self::Redis(store) => Box::pin(store.forget(address)).await,
            Self::Near(store) => Box::pin(store.forget(address)).await,
            Self::Sql(store) => Box::pin(store.forget(address)).await,
        }
    }

    async fn sweep(&self, budget: usize) -> Result<usize, StoreError> {
        match self {
            Self::Memory(store) => store.sweep(budget).await,
            Self::Redis(store) => Box::pin(store.sweep(budget)).await,
            Self::Near(store) => Box::pin(store.sweep(budget)).await,
            Self::Sql(store) => Box::pin(store.sweep(budget)).await,
        }
    }

    fn close(&self) {
        match self {
            Self::Memory(store) => store.close(),
            Self::Redis(store) => store.close(),
            Self::Near(store) => store.close(),
            Self::Sql(store) => store.close(),
        }
    }

    fn usage(&self) -> Option<Usage> {
        match self {
            Self::Memory(store) => LeaseStore::usage(store),
            Self::Redis(store) => store.usage(),
            Self::Near(store) => store.usage(),
            Self::Sql(store) => store.usage(),
        }
    }

    fn is_shared(&self) -> bool {
        match self {
            Self::Memory(store) => store.is_shared(),
            Self::Redis(store) => store.is_shared(),
            Self::Near(store) => store.is_shared(),
            Self::Sql(store) => store.is_shared(),
        }
    }
}
