//! What a kind of database has to do for a guard, and the texts of its statements. How the
//! statements are made is each database's own; nothing here decides anything.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use bytes::Bytes;
use leasehold::{StoreError, StoreErrorKind};

use super::error::GuardError;
use crate::config::Dialect;
use crate::failure::Failure;
use crate::record::{Digest, Record, Status};
use crate::table::Table;

/// A kind of database whose transactions can guard a lease: [`sqlx::Postgres`], [`sqlx::MySql`]
/// (MariaDB too) and [`sqlx::Sqlite`], as far as their features are compiled in. Nobody else can
/// implement it.
pub trait TransactionDatabase: Steps {}

impl<DB: Steps> TransactionDatabase for DB {}

/// The statements of a guard.
pub trait Steps: sqlx::Database {
    /// Which kind of database it is.
    const DIALECT: Dialect;

    /// Locks the row, or says why not. Waits for nobody's row lock, and fails the transaction for
    /// nobody's.
    fn lock(
        connection: &mut Self::Connection,
        texts: &Texts,
        digest: &Digest,
    ) -> impl Future<Output = Result<Look, sqlx::Error>> + Send;

    /// Writes the success. Whether a row was there to write, in this transaction.
    fn commit(
        connection: &mut Self::Connection,
        texts: &Texts,
        settle: &Settle,
    ) -> impl Future<Output = Result<bool, sqlx::Error>> + Send;

    /// Reads what an error means.
    fn read(error: sqlx::Error) -> Fault;

    /// Which transaction this is, as [`Row::mark`] has it.
    fn mark(
        connection: &mut Self::Connection,
    ) -> impl Future<Output = Result<i64, sqlx::Error>> + Send;
}

/// The statements' texts, for one table.
#[derive(Clone)]
pub struct Texts {
    /// Locks the row and reads it.
    pub(super) lock: Arc<str>,
    /// Writes the success.
    pub(super) commit: Arc<str>,
}

impl Texts {
    pub(crate) fn new(dialect: Dialect, table: &Table) -> Self {
        let [lock, commit] = match dialect {
            #[cfg(feature = "postgres")]
            Dialect::Postgres => super::postgres::TEXTS,
            #[cfg(feature = "mysql")]
            Dialect::MySql => super::mysql::TEXTS,
            #[cfg(feature = "sqlite")]
            Dialect::Sqlite => super::sqlite::TEXTS,
            // A store of a database that is not compiled in does not start.
            #[cfg(not(all(feature = "postgres", feature = "mysql", feature = "sqlite")))]
            _ => [""; 2],
        }
        .map(|text| Arc::from(table.statement(text)));
        Self { lock, commit }
    }
}

impl fmt::Debug for Texts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Texts")
    }
}

/// Why a statement failed. What it has written is undone with the transaction.
#[derive(Debug)]
pub enum Fault {
    /// The transaction has met another, and is undone or of no use any more.
    Conflict(StoreError),
    /// Everything else.
    Unavailable(StoreError),
}

impl From<Failure> for Fault {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Conflict(error) | Failure::Locked(error) => Self::Conflict(error),
            other => Self::Unavailable(other.into()),
        }
    }
}

/// What a look at a row found.
#[derive(Debug)]
pub enum Look {
    /// The row, locked by this transaction; `None` if there is none.
    Locked(Option<Row>),
    /// The row as committed: another transaction has it locked.
    Seen(Row),
    /// Another transaction has it locked, and nothing of it was read.
    Nothing,
}

/// The columns of a [`Row`], in order.
pub(super) type Columns = (i64, String, i64, i64, Option<i64>, i64, i64);

/// A row as a guard reads it.
#[derive(Debug)]
pub struct Row {
    token: i64,
    status: String,
    expires_us: i64,
    purge_us: i64,
    stuck_us: Option<i64>,
    /// The database's time.
    pub(super) now: i64,
    /// Which transaction has read it, as far as the database tells.
    pub(super) mark: i64,
}

impl From<Columns> for Row {
    fn from((token, status, expires_us, purge_us, stuck_us, now, mark): Columns) -> Self {
        Self { token, status, expires_us, purge_us, stuck_us, now, mark }
    }
}

impl Row {
    /// The record, as far as a commit is decided by it.
    pub(super) fn into_record(self) -> Result<Record, GuardError> {
        let corrupt = || GuardError::Unavailable(StoreError::new(StoreErrorKind::Corrupt));
        Ok(Record {
            status: Status::parse(&self.status).ok_or_else(corrupt)?,
            token: u64::try_from(self.token).map_err(|_| corrupt())?,
            attempt: [0; 16],
            fingerprint: None,
            outcome: None,
            expires: self.expires_us,
            purge: self.purge_us,
            stuck: self.stuck_us,
        })
    }
}

/// What a commit writes, and where.
#[derive(Debug)]
pub struct Settle {
    pub(super) digest: Digest,
    pub(super) token: u64,
    pub(super) outcome: Option<Bytes>,
    pub(super) ttl: i64,
    pub(super) mark: i64,
}

impl Settle {
    /// The token as the column has it; stores make none above `i64::MAX`.
    pub(super) fn token(&self) -> i64 {
        i64::try_from(self.token).unwrap_or(0)
    }
}
