//! The verbs, as the contract has them, over the records of a database.
//!
//! Nothing here decides anything about a record: the database's statements do, by its clock. What
//! is read of this process's clock only tells holders how long they may count on.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use leasehold::{
    AcquireError, Address, Admission, AttachError, Attempt, CommitError, Lease, LeaseStore,
    Outcome, Place, RecordState, ReleaseError, RenewError, StoreError, Terms, Token, Ttl,
};

use crate::config::{ConnectError, Dialect, SqlConfig};
use crate::failure::Failure;
use crate::migration;
use crate::record::{Ask, micros, span};
use crate::records::Records;
use crate::rules::{Found, Settling};
use crate::table::Table;

/// Leases kept by a table of an SQL database.
///
/// Instances that share a table share all leases. A lease of another table is answered as if it
/// were gone or taken over.
///
/// # Cancel safety
///
/// A verb's future may be dropped at any point; what it has sent may still have its effect, and
/// the connection is as good as before.
pub struct SqlStore {
    pub(crate) records: Arc<dyn Records>,
    pub(crate) dialect: Dialect,
    pub(crate) table: Table,
    pub(crate) cleanup_batch: u32,
    #[cfg(any(feature = "postgres", feature = "mysql", feature = "sqlite"))]
    pub(crate) texts: crate::transaction::Texts,
    closed: OnceLock<()>,
}

impl SqlStore {
    /// Connects, and makes sure that the table is there and of this version. With
    /// [`SqlConfig::auto_migrate`] it is brought there; otherwise another version is refused.
    ///
    /// # Errors
    ///
    /// [`ConnectError`], which says what to do. An unavailable database may be tried again.
    pub async fn connect(config: SqlConfig) -> Result<Self, ConnectError> {
        let (dialect, table) = config.check()?;
        let records = open(&config, dialect, &table).await?;
        let unavailable = |failure: Failure| ConnectError::Unavailable(failure.into());
        let version = || async { records.version().await.map_err(unavailable) };
        let mut verdict = migration::judge(dialect, version().await?);
        let may_migrate = config.auto_migrate.unwrap_or(dialect == Dialect::Sqlite);
        if may_migrate && matches!(verdict, Err(ConnectError::Migrate { .. })) {
            migration::migrate(&config).await?;
            verdict = migration::judge(dialect, version().await?);
        }
        verdict?;
        // The version stands in a table of its own: what it is of may be gone.
        records.peek([0; 32]).await.map_err(unavailable)?;
        Ok(Self::over(records, dialect, table, config.cleanup_batch))
    }

    /// A store over records that are there.
    pub(crate) fn over(
        records: Arc<dyn Records>,
        dialect: Dialect,
        table: Table,
        cleanup_batch: u32,
    ) -> Self {
        Self {
            records,
            dialect,
            cleanup_batch,
            #[cfg(any(feature = "postgres", feature = "mysql", feature = "sqlite"))]
            texts: crate::transaction::Texts::new(dialect, &table),
            table,
            closed: OnceLock::new(),
        }
    }

    /// Asks the database for nothing, to see whether it answers.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when it does not.
    pub async fn ping(&self) -> Result<(), StoreError> {
        Ok(self.records.ping().await?)
    }
}

/// Opens the records of a database of one kind.
#[cfg_attr(
    not(any(feature = "postgres", feature = "mysql", feature = "sqlite")),
    expect(clippy::unused_async, reason = "there is no database to wait for")
)]
async fn open(
    config: &SqlConfig,
    dialect: Dialect,
    table: &Table,
) -> Result<Arc<dyn Records>, ConnectError> {
    match dialect {
        #[cfg(feature = "postgres")]
        Dialect::Postgres => Ok(Arc::from(crate::postgres::open(config, table).await?)),
        #[cfg(feature = "mysql")]
        Dialect::MySql => Ok(Arc::from(crate::mysql::open(config, table).await?)),
        #[cfg(feature = "sqlite")]
        Dialect::Sqlite => Ok(Arc::from(crate::sqlite::open(config, table).await?)),
        #[cfg(not(all(feature = "postgres", feature = "mysql", feature = "sqlite")))]
        _ => {
            let _ = (config, table);
            Err(crate::ConfigError::url("this program was built without its database").into())
        }
    }
}

impl fmt::Debug for SqlStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqlStore")
            .field("dialect", &self.dialect)
            .field("table", &self.table)
            .finish_non_exhaustive()
    }
}

impl LeaseStore for SqlStore {
    async fn acquire(&self, address: Address, terms: Terms) -> Result<Admission, AcquireError> {
        if self.closed.get().is_some() {
            return Err(AcquireError::Closed);
        }
        let sent = now();
        let (digest, ask) = (*address.as_bytes(), Ask::new(&terms));
        let found = self.records.acquire(digest, ask).await;
        let granted = |token, remaining| {
            let deadline = after(sent, span(remaining));
            Admission::Granted(Lease::new(Token::new(token), deadline, Place(digest)))
        };
        Ok(match found.map_err(|failure| AcquireError::Unavailable(failure.into()))? {
            Found::Free { token } => granted(token, ask.lease_ttl),
            Found::Own { token, remaining } => granted(token, remaining),
            Found::InFlight { remaining } => Admission::InFlight { remaining: span(remaining) },
            Found::Completed { outcome, remaining } => Admission::Completed {
                outcome: outcome.map(Outcome::new),
                remaining: span(remaining),
            },
            Found::Mismatch => Admission::Mismatch,
        })
    }

    async fn commit(
        &self,
        lease: &mut Lease,
        outcome: Option<Outcome>,
        ttl: Ttl,
    ) -> Result<(), CommitError> {
        let (digest, token) = of(lease);
        let outcome = outcome.map(Outcome::into_bytes);
        match self.records.commit(digest, token, outcome, micros(ttl.get())).await {
            Ok(Settling::Superseded) => Err(CommitError::Superseded),
            Ok(_) => Ok(()),
            Err(failure) => Err(CommitError::Unavailable(failure.into())),
        }
    }

    async fn attach(&self, lease: &Lease, outcome: Outcome) -> Result<(), AttachError> {
        let (digest, token) = of(lease);
        match self.records.attach(digest, token, outcome.into_bytes()).await {
            Ok(Settling::Superseded) => Err(AttachError::TooLate),
            Ok(_) => Ok(()),
            Err(failure) => Err(AttachError::Unavailable(failure.into())),
        }
    }

    async fn release(&self, lease: &mut Lease) -> Result<(), ReleaseError> {
        let (digest, token) = of(lease);
        match self.records.release(digest, token).await {
            Ok(Settling::Superseded) => Err(ReleaseError::Superseded),
            Ok(_) => Ok(()),
            Err(failure) => Err(ReleaseError::Unavailable(failure.into())),
        }
    }

    async fn abandon(&self, address: Address, attempt: Attempt) -> Result<(), StoreError> {
        let attempt = attempt.to_bits().to_be_bytes();
        self.records.abandon(*address.as_bytes(), attempt).await?;
        Ok(())
    }

    async fn renew(&self, lease: &mut Lease, lease_ttl: Ttl) -> Result<Instant, RenewError> {
        let sent = now();
        let (digest, token) = of(lease);
        match self.records.renew(digest, token, micros(lease_ttl.get())).await {
            Ok(Settling::Superseded) => Err(RenewError::Superseded),
            Ok(_) => {
                let deadline = after(sent, lease_ttl.get());
                let place = *lease.place();
                lease.moved(deadline, place);
                Ok(deadline)
            }
            Err(failure) => Err(RenewError::Unavailable(failure.into())),
        }
    }

    async fn peek(&self, address: Address) -> Result<RecordState, StoreError> {
        Ok(self.records.peek(*address.as_bytes()).await?)
    }

    async fn forget(&self, address: Address) -> Result<bool, StoreError> {
        Ok(self.records.forget(*address.as_bytes()).await?)
    }

    /// Marks what was left behind, and deletes what is over, in batches of
    /// [`SqlConfig::cleanup_batch`] rows. Only what is deleted counts.
    async fn sweep(&self, budget: usize) -> Result<usize, StoreError> {
        let mut purged = 0;
        // Ends: with the budget, or with the first round that finds nothing due.
        while purged < budget {
            let left = u32::try_from(budget - purged).unwrap_or(u32::MAX);
            let limit = left.min(self.cleanup_batch);
            let marked = self.mark(limit).await?;
            let count = self.records.purge(limit).await?;
            purged += usize::try_from(count).unwrap_or(usize::MAX);
            if marked == 0 && count == 0 {
                break;
            }
        }
        Ok(purged)
    }

    fn close(&self) {
        // An error says that it is closed already.
        let _ = self.closed.set(());
    }
}

fn of(lease: &Lease) -> ([u8; 32], u64) {
    (lease.place().0, lease.token().get())
}

fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

/// Ten years cannot overflow a monotonic clock; if they do, the lease ends at once.
fn after(sent: Instant, remaining: Duration) -> Instant {
    sent.checked_add(remaining).unwrap_or(sent)
}
