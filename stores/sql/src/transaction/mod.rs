//! A lease that is committed by the caller's own transaction: what the work has written and the
//! record of its success become visible at once, or not at all.
//!
//! Nothing here begins or ends a transaction, waits for a row's lock, or lets a statement fail
//! where another answers the same question: on PostgreSQL a failed statement would end the
//! caller's transaction.

mod conflict;
mod error;
mod guard;
#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "sqlite")]
mod sqlite;
mod steps;

use leasehold::{Lease, Outcome, Ttl};
use sqlx::Transaction;
use tokio::time::sleep;

use crate::lines::LOCK_PAUSE;
use crate::record::micros;
use crate::rules::{self, Settling};
use crate::store::SqlStore;

pub use conflict::is_conflict;
pub use error::{CommitInError, GuardError};
pub use guard::Guard;
pub(crate) use steps::Texts;
pub use steps::TransactionDatabase;
use steps::{Look, Row, Settle};

/// Looks at a row that another transaction has locked. Arbitrary: whoever looks at the row or takes
/// it over holds it for one statement, and the caller's transaction should not stay open for more.
const LOCK_TRIES: u32 = 40;

impl SqlStore {
    /// Locks the lease's record for the rest of the caller's transaction, so that nobody takes it
    /// over meanwhile, and makes sure that it is still this lease's. It should be the first
    /// statement of the transaction, and outside of any savepoint.
    ///
    /// While the guard lives nothing else can be done with the lease, since it borrows it: a task
    /// that renews it has given it back. From here on its time no longer matters: others are told
    /// *in flight* until the transaction ends, however long it takes.
    ///
    /// The row's lock is taken at once or not at all; another transaction that has it is waited for
    /// by looking again, for about 200 ms. On SQLite, where one transaction writes at a time
    /// whatever it writes, this one becomes the one that does, within its connection's own
    /// `busy_timeout`.
    ///
    /// The transaction must be of the database in which the store keeps its table; a transaction
    /// on another database of the same kind cannot be told apart, and finds the lease superseded or
    /// no table.
    ///
    /// ```no_run
    /// # use leasehold::{Lease, Outcome, Ttl};
    /// # use leasehold_sql::{SqlStore, TransactionDatabase};
    /// # use sqlx::{Pool, Transaction};
    /// # async fn insert_order<DB: TransactionDatabase>(_: &mut Transaction<'_, DB>)
    /// # -> Result<Outcome, sqlx::Error> {
    /// #     unimplemented!()
    /// # }
    /// # async fn book<DB: TransactionDatabase>(
    /// #     store: &SqlStore,
    /// #     pool: &Pool<DB>,
    /// #     mut lease: Lease,
    /// #     kept: Ttl,
    /// # ) -> Result<(), Box<dyn std::error::Error>> {
    /// // `lease` was granted by the store. An error drops `tx`, which rolls it back.
    /// let mut tx = pool.begin().await?;
    /// let guard = store.guard_in(&mut tx, &mut lease).await?;
    /// let outcome = insert_order(&mut tx).await?;
    /// store.commit_in(&mut tx, guard, Some(outcome), kept).await?;
    /// tx.commit().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// After any of them roll back. Nothing was written.
    ///
    /// - [`GuardError::Superseded`]: do not do the work; the key is another's.
    /// - [`GuardError::Committed`]: do not do the work; this lease's earlier transaction did land.
    /// - [`GuardError::Locked`], [`GuardError::Conflict`]: begin again with the same lease.
    /// - [`GuardError::OtherDatabase`]: a mistake in the program; nothing was sent.
    /// - [`GuardError::Unavailable`]: begin again once the database answers.
    ///
    /// # Cancel safety
    ///
    /// What a dropped future has locked stays locked until the transaction ends. On MySQL and
    /// MariaDB drop no future of the driver's, this one included, on a connection that is used
    /// again: the driver loses its place in what the server says. Run the transaction in a task of
    /// its own if its caller may go away.
    pub async fn guard_in<'l, DB: TransactionDatabase>(
        &self,
        transaction: &mut Transaction<'_, DB>,
        lease: &'l mut Lease,
    ) -> Result<Guard<'l>, GuardError> {
        if DB::DIALECT != self.dialect {
            let (store, transaction) = (self.dialect, DB::DIALECT);
            return Err(GuardError::OtherDatabase { store, transaction });
        }
        let (digest, token) = (lease.place().0, lease.token().get());
        // Ends: after so many looks at a row that somebody else has locked.
        for _ in 0..LOCK_TRIES {
            let look = DB::lock(transaction, &self.texts, &digest).await;
            let (row, is_locked) = match look.map_err(DB::read)? {
                Look::Locked(row) => (row, true),
                Look::Seen(row) => (Some(row), false),
                Look::Nothing => {
                    sleep(LOCK_PAUSE).await;
                    continue;
                }
            };
            let (now, mark) = row.as_ref().map_or((0, 0), |row| (row.now, row.mark));
            let record = row.map(Row::into_record).transpose()?;
            match rules::commit(record.as_ref(), token, now) {
                Settling::Write if is_locked => {
                    return Ok(Guard::new(lease, self.dialect, self.table.clone(), mark));
                }
                Settling::Write => sleep(LOCK_PAUSE).await,
                Settling::Done => return Err(GuardError::Committed),
                Settling::Superseded => return Err(GuardError::Superseded),
            }
        }
        Err(GuardError::Locked)
    }

    /// Commits the guard's lease within the caller's transaction, with what the run left: the key
    /// is kept for `ttl`, counted from this statement. Others see it when the transaction is
    /// committed, together with all that it has written; they see neither if it is not.
    ///
    /// If the transaction is rolled back, or its connection lost, the record is what it was before
    /// the guard: the lease may be released, renewed, or guarded in another transaction. **When its
    /// end is unknown** (the connection broke during `COMMIT`), release the lease: *done* means
    /// that it was rolled back; [`Superseded`](leasehold::ReleaseError::Superseded) that it was
    /// committed, or that the lease had ended and another has the key since, which the next acquire
    /// tells. Nothing is done before the server has ended the transaction.
    ///
    /// # Errors
    ///
    /// After any of them roll back: nothing of this transaction may be committed without its
    /// record.
    ///
    /// - [`CommitInError::Superseded`]: the row's lock was given up, by a rollback to a savepoint
    ///   before the guard, or because the transaction ended; the key is another's or was removed.
    /// - [`CommitInError::OtherStore`], [`CommitInError::OtherTransaction`]: a mistake in the
    ///   program; nothing was written.
    /// - [`CommitInError::Conflict`]: begin again with the same lease.
    /// - [`CommitInError::Unavailable`]: begin again once the database answers.
    pub async fn commit_in<DB: TransactionDatabase>(
        &self,
        transaction: &mut Transaction<'_, DB>,
        guard: Guard<'_>,
        outcome: Option<Outcome>,
        ttl: Ttl,
    ) -> Result<(), CommitInError> {
        if DB::DIALECT != self.dialect || !guard.is_of(self.dialect, &self.table) {
            return Err(CommitInError::OtherStore);
        }
        let (digest, token) = guard.lease();
        let outcome = outcome.map(Outcome::into_bytes);
        let settle = Settle { digest, token, outcome, ttl: micros(ttl.get()), mark: guard.mark() };
        if DB::commit(transaction, &self.texts, &settle).await.map_err(DB::read)? {
            Ok(())
        } else if DB::mark(transaction).await.map_err(DB::read)? == settle.mark {
            Err(CommitInError::Superseded)
        } else {
            Err(CommitInError::OtherTransaction)
        }
    }
}
