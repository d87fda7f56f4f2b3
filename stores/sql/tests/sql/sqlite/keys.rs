//! Files, stores and addresses for tests, and answers that must be grants.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use leasehold::{
    AcquireError, Address, Admission, Attempt, Digester, Lease, LeaseStore, Outcome, RecordState,
    StoreError, Terms, Ttl,
};
use leasehold_sql::{SqlConfig, SqlStore};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, Connection as _, Row as _};
use tempfile::TempDir;

/// Far above what any test takes.
pub(super) const LONG: Duration = Duration::from_secs(60 * 60);

/// A file in a folder of its own, which goes with it.
pub(super) struct File {
    folder: TempDir,
}

impl File {
    pub(super) fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a temporary folder") }
    }

    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(super) fn path(&self) -> PathBuf {
        self.folder.path().join("leases.db")
    }

    /// A store with a timeout that no pause of a busy machine reaches.
    pub(super) async fn store(&self) -> SqlStore {
        connect(config(&self.path())).await
    }

    pub(super) async fn line(&self) -> SqliteConnection {
        line(&self.path()).await
    }
}

pub(super) fn config(path: &Path) -> SqlConfig {
    let path = path.to_str().expect("a path of plain letters");
    SqlConfig::new(format!("sqlite:{path}")).store_timeout(Duration::from_secs(30))
}

pub(super) async fn connect(config: SqlConfig) -> SqlStore {
    SqlStore::connect(config).await.expect("the file is opened")
}

/// A connection of somebody else's to the same file.
pub(super) async fn line(path: &Path) -> SqliteConnection {
    let options = SqliteConnectOptions::new().filename(path).busy_timeout(Duration::from_secs(30));
    SqliteConnection::connect_with(&options).await.expect("the file is opened")
}

/// The first column of the first row of the answer, as text.
pub(super) async fn ask(line: &mut SqliteConnection, text: &str) -> String {
    let row = sqlx::query(AssertSqlSafe(text)).fetch_one(line).await.expect("an answer");
    row.try_get_unchecked(0).expect("text")
}

/// The file has what SQLite itself finds in order.
pub(super) async fn assert_is_whole(path: &Path) {
    assert_eq!(ask(&mut line(path).await, "PRAGMA integrity_check").await, "ok");
}

pub(super) fn ttl(duration: Duration) -> Ttl {
    Ttl::new(duration).expect("a valid duration")
}

pub(super) fn long_terms() -> Terms {
    Terms::new(ttl(LONG))
}

pub(super) fn fresh_address() -> Address {
    address_of(&Attempt::random().to_bits().to_string())
}

pub(super) fn address_of(key: &str) -> Address {
    Digester::plain().address(&[key.as_bytes()])
}

pub(super) fn outcome(bytes: impl Into<Vec<u8>>) -> Outcome {
    Outcome::new(Bytes::from(bytes.into()))
}

#[track_caller]
pub(super) fn granted(answer: Result<Admission, AcquireError>) -> Lease {
    match answer {
        Ok(Admission::Granted(lease)) => lease,
        other => panic!("expected a grant, got {other:?}"),
    }
}

/// The error of an acquire that was refused since the store is unavailable.
#[track_caller]
pub(super) fn unavailable(answer: Result<Admission, AcquireError>) -> StoreError {
    match answer {
        Err(AcquireError::Unavailable(error)) => error,
        other => panic!("expected unavailable, got {other:?}"),
    }
}

/// Commits a key, and gives its address.
pub(super) async fn committed(store: &impl LeaseStore, body: impl Into<Vec<u8>>) -> Address {
    let address = fresh_address();
    let mut lease = granted(store.acquire(address, long_terms()).await);
    store.commit(&mut lease, Some(outcome(body)), ttl(LONG)).await.expect("committed");
    address
}

pub(super) async fn is_completed(store: &impl LeaseStore, address: Address) -> bool {
    let state = store.peek(address).await.expect("an answer");
    matches!(state, RecordState::Completed { replayable: true, .. })
}

/// A lease of a fresh key goes its whole way.
pub(super) async fn works(store: &impl LeaseStore) {
    let address = fresh_address();
    let mut lease = granted(store.acquire(address, long_terms()).await);
    store.renew(&mut lease, ttl(LONG)).await.expect("renewed");
    store.commit(&mut lease, Some(outcome("body")), ttl(LONG)).await.expect("committed");
    match store.acquire(address, long_terms()).await {
        Ok(Admission::Completed { outcome: Some(kept), .. }) => assert_eq!(kept, outcome("body")),
        other => panic!("expected completed, got {other:?}"),
    }
    assert!(store.forget(address).await.expect("an answer"));
}
