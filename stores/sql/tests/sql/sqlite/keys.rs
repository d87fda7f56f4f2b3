//! Files and what is in them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use leasehold::{AcquireError, Address, Admission, Digester, LeaseStore, RecordState, StoreError};
use leasehold_sql::{SqlConfig, SqlStore};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, Connection as _, Row as _};
use tempfile::TempDir;

pub(super) use crate::keys::{
    LONG, MOMENT, connect, fresh_address, granted, hex, long_terms, outcome, ttl, works,
};

/// The table that all processes and stores share. Each file has one.
const TABLE: &str = "idempotent_record";

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

    pub(super) fn into_folder(self) -> TempDir {
        self.folder
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
    crate::keys::config(format!("sqlite:{path}")).table(TABLE)
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

/// Waits until so many rows may be deleted or marked, by SQLite's clock.
pub(super) async fn until_over(line: &mut SqliteConnection, rows: usize) {
    let text = "SELECT CAST(count(*) AS TEXT) FROM idempotent_record \
                WHERE purge_us <= unixepoch('subsec') * 1000000";
    while ask(line, text).await != rows.to_string() {
        tokio::task::yield_now().await;
    }
}

/// The file has what SQLite itself finds in order.
pub(super) async fn assert_is_whole(path: &Path) {
    assert_eq!(ask(&mut line(path).await, "PRAGMA integrity_check").await, "ok");
}

pub(super) fn address_of(key: &str) -> Address {
    Digester::plain().address(&[key.as_bytes()])
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
