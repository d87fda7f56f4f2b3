//! Stores, tables and addresses for tests, and answers that must be grants.

use std::time::Duration;

use bytes::Bytes;
use leasehold::{
    AcquireError, Address, Admission, Attempt, Digester, Lease, LeaseStore, Outcome, Terms, Ttl,
};
use leasehold_sql::{SqlConfig, SqlStore};

/// Far above what any test takes.
pub(crate) const LONG: Duration = Duration::from_secs(60 * 60);

/// The shortest time to live there is.
pub(crate) const MOMENT: Duration = Duration::from_nanos(1);

/// A store of that URL with a table of its own, and a timeout that no pause of a busy machine
/// reaches.
pub(crate) fn config(url: impl Into<String>) -> SqlConfig {
    SqlConfig::new(url)
        .table(fresh_table())
        .auto_migrate(true)
        .connections(4)
        .store_timeout(Duration::from_secs(30))
}

pub(crate) async fn connect(config: SqlConfig) -> SqlStore {
    SqlStore::connect(config).await.expect("the database answers")
}

pub(crate) fn fresh_table() -> String {
    format!("t_{:032x}", Attempt::random().to_bits())
}

pub(crate) fn ttl(duration: Duration) -> Ttl {
    Ttl::new(duration).expect("a valid duration")
}

pub(crate) fn long_terms() -> Terms {
    Terms::new(ttl(LONG))
}

pub(crate) fn fresh_address() -> Address {
    Digester::plain().address(&[&Attempt::random().to_bits().to_le_bytes()])
}

pub(crate) fn hex(address: &Address) -> String {
    address.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn outcome(bytes: impl Into<Vec<u8>>) -> Outcome {
    Outcome::new(Bytes::from(bytes.into()))
}

#[track_caller]
pub(crate) fn granted(answer: Result<Admission, AcquireError>) -> Lease {
    match answer {
        Ok(Admission::Granted(lease)) => lease,
        other => panic!("expected a grant, got {other:?}"),
    }
}

/// A lease of a fresh key goes its whole way.
pub(crate) async fn works(store: &impl LeaseStore) {
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

/// Tries until a store answers again.
///
/// # Panics
///
/// If it does not within half a minute.
#[cfg_attr(
    not(any(feature = "postgres", feature = "mysql")),
    expect(dead_code, reason = "a file is never away")
)]
pub(crate) async fn recovered(store: &impl LeaseStore) {
    let recovery = async {
        while store.peek(fresh_address()).await.is_err() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let patience = Duration::from_secs(30);
    tokio::time::timeout(patience, recovery).await.expect("the store answers again");
}
