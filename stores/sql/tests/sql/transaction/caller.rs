//! A service with orders in a table of its own beside the store's, and words for what its tests do.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use leasehold::{
    Address, Admission, Attempt, Lease, LeaseStore as _, Outcome, RecordState, Terms, Ttl,
};
use leasehold_sql::{CommitInError, Guard, SqlConfig, SqlStore};
use sqlx::{Pool, Transaction};

use super::kinds::Kind;

/// A lease, or a kept key, that no test sees the end of.
pub(super) const LONG: Duration = Duration::from_secs(600);

/// A lease that ends at once, almost.
pub(super) const SHORT: Duration = Duration::from_millis(1);

pub(super) fn ttl(duration: Duration) -> Ttl {
    Ttl::new(duration).expect("a valid time")
}

pub(super) fn outcome() -> Outcome {
    Outcome::new(Bytes::from_static(b"made"))
}

/// A name that no other test has.
fn fresh_name(kind: &str) -> String {
    format!("{kind}_{:032x}", Attempt::random().to_bits())
}

/// An address that no other test has.
pub(super) fn fresh_address() -> Address {
    let mut digest = [0; 32];
    digest[..16].copy_from_slice(&Attempt::random().to_bits().to_be_bytes());
    Address::from_bytes(digest)
}

/// A store and the pool of a caller's own, on one database.
pub(super) struct Caller<DB: Kind> {
    pub(super) store: Arc<SqlStore>,
    pub(super) pool: Pool<DB>,
    /// The table of the caller's orders.
    pub(super) orders: String,
    /// The store's.
    pub(super) records: String,
}

impl<DB: Kind> Caller<DB> {
    /// Connects to a database, with fresh tables. Each connection of the caller's begins with
    /// `first`.
    pub(super) async fn new(url: &str, first: &str) -> Self {
        let (orders, records) = (fresh_name("orders"), fresh_name("record"));
        let config = SqlConfig::new(url).table(records.as_str()).auto_migrate(true);
        // Two connections, so that duplicates that waited would take them all.
        let config = config.connections(2).store_timeout(Duration::from_secs(5));
        let store = Arc::new(SqlStore::connect(config).await.expect("the database is there"));
        let pool = DB::pool(url, first).await;
        let caller = Self { store, pool, orders, records };
        let mut tx = caller.begin().await;
        let create = format!("CREATE TABLE {} (name VARCHAR(40) NOT NULL)", caller.orders);
        DB::run(&mut tx, &create).await.expect("a table can be made");
        tx.commit().await.expect("a table can be made");
        caller
    }

    pub(super) async fn begin(&self) -> Transaction<'static, DB> {
        self.pool.begin().await.expect("a transaction begins")
    }

    /// Acquires what nobody else has.
    pub(super) async fn granted(&self, address: Address, lease: Duration) -> Lease {
        match self.acquire(address, lease).await {
            Admission::Granted(lease) => lease,
            other => panic!("{other:?}"),
        }
    }

    pub(super) async fn acquire(&self, address: Address, lease: Duration) -> Admission {
        self.store.acquire(address, Terms::new(ttl(lease))).await.expect("the store answers")
    }

    /// A lease whose time is over, and whose grace is not.
    pub(super) async fn late(&self, address: Address) -> Lease {
        let lease = self.granted(address, SHORT).await;
        // Ends: with the lease, by the database's clock.
        while self.peek(address).await != RecordState::Free {}
        lease
    }

    pub(super) async fn peek(&self, address: Address) -> RecordState {
        self.store.peek(address).await.expect("the store answers")
    }

    pub(super) async fn is_in_flight(&self, address: Address) -> bool {
        matches!(self.acquire(address, LONG).await, Admission::InFlight { .. })
    }

    pub(super) async fn is_completed(&self, address: Address) -> bool {
        match self.acquire(address, LONG).await {
            Admission::Completed { outcome: kept, remaining } => {
                assert_eq!(kept, Some(outcome()));
                // Counted from the commit, whatever the session's time zone.
                assert!(remaining > LONG / 2 && remaining <= LONG + SHORT, "{remaining:?}");
                true
            }
            _ => false,
        }
    }

    /// Guards in a transaction that begins with it.
    pub(super) async fn guard<'l>(
        &self,
        tx: &mut Transaction<'_, DB>,
        lease: &'l mut Lease,
    ) -> Guard<'l> {
        self.store.guard_in(tx, lease).await.expect("the lease is guarded")
    }

    pub(super) async fn commit(
        &self,
        tx: &mut Transaction<'_, DB>,
        guard: Guard<'_>,
    ) -> Result<(), CommitInError> {
        self.store.commit_in(tx, guard, Some(outcome()), ttl(LONG)).await
    }

    /// Writes an order in a transaction.
    pub(super) async fn order(&self, tx: &mut Transaction<'_, DB>, name: &str) {
        let insert = format!("INSERT INTO {} VALUES ('{name}')", self.orders);
        DB::run(tx, &insert).await.expect("an order is written");
    }

    /// All that a service does with a lease, to the end.
    pub(super) async fn book(&self, lease: &mut Lease, name: &str) {
        let mut tx = self.begin().await;
        let guard = self.guard(&mut tx, lease).await;
        self.order(&mut tx, name).await;
        self.commit(&mut tx, guard).await.expect("the lease is committed");
        tx.commit().await.expect("the transaction is committed");
    }

    /// How many orders others see.
    pub(super) async fn orders(&self) -> i64 {
        DB::number(&self.pool, &format!("SELECT count(*) FROM {}", self.orders)).await
    }
}
