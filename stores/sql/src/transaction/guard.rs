//! The proof that a lease's row is locked by an open transaction. Data alone.

use std::fmt;

use leasehold::Lease;

use crate::config::Dialect;
use crate::table::Table;

/// A lease whose record the caller's transaction has locked, by
/// [`SqlStore::guard_in`](crate::SqlStore::guard_in).
///
/// It borrows the lease by `&mut`, so nothing renews, commits or releases the lease while the guard
/// lives:
///
/// ```compile_fail,E0499
/// # use leasehold::{Lease, LeaseStore as _, Ttl};
/// # async fn renewed<DB: leasehold_sql::TransactionDatabase>(
/// #     store: leasehold_sql::SqlStore,
/// #     mut tx: sqlx::Transaction<'_, DB>,
/// #     mut lease: Lease,
/// #     ttl: Ttl,
/// # ) {
/// let guard = store.guard_in(&mut tx, &mut lease).await.unwrap();
/// store.renew(&mut lease, ttl).await.unwrap(); // does not compile: the lease is the guard's
/// store.commit_in(&mut tx, guard, None, ttl).await.unwrap();
/// # }
/// ```
///
/// Dropping it changes nothing: the row stays locked until the transaction ends, and is then what
/// it was before.
#[must_use = "a guard that is dropped commits nothing"]
pub struct Guard<'l> {
    lease: &'l mut Lease,
    dialect: Dialect,
    table: Table,
    /// Which transaction it is, as far as the database tells.
    mark: i64,
}

impl<'l> Guard<'l> {
    pub(crate) const fn new(
        lease: &'l mut Lease,
        dialect: Dialect,
        table: Table,
        mark: i64,
    ) -> Self {
        Self { lease, dialect, table, mark }
    }

    /// The fencing token of the lease, for rows of the caller's that keep it.
    #[must_use]
    pub const fn token(&self) -> leasehold::Token {
        self.lease.token()
    }

    /// Whether it was made by a store of this table.
    pub(crate) fn is_of(&self, dialect: Dialect, table: &Table) -> bool {
        self.dialect == dialect && self.table == *table
    }

    /// The lease's address and token.
    pub(crate) const fn lease(&self) -> ([u8; 32], u64) {
        (self.lease.place().0, self.lease.token().get())
    }

    pub(crate) const fn mark(&self) -> i64 {
        self.mark
    }
}

impl fmt::Debug for Guard<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard").field("lease", &self.lease).field("table", &self.table).finish()
    }
}
