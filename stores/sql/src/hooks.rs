//! A lease that follows a transaction which spans services, so that no single database can commit
//! the record with the work: the record is written after the transaction's end, by what is known of
//! that end.
//!
//! Nothing here knows a database, and nothing guesses: an end that is not known leaves the lease as
//! it is.

use std::error::Error as StdError;
use std::future::Future;

use leasehold::{CommitError, Lease, LeaseStore, Outcome, ReleaseError, Ttl};
use thiserror::Error;

/// How often the record's commit or release is sent to a store that does not answer. Arbitrary:
/// each try lasts as long as the store's own patience.
const TRIES: u32 = 3;

/// The caller's transaction manager, at the three moments that matter to a lease.
///
/// ```
/// # use std::convert::Infallible;
/// # use leasehold_sql::{CommitFailure, TransactionHooks};
/// struct Coordinator;
///
/// impl TransactionHooks for Coordinator {
///     type Error = Infallible;
///
///     async fn before(&self) -> Result<(), Infallible> {
///         Ok(()) // begin the transaction
///     }
///
///     async fn on_commit(&self) -> Result<(), CommitFailure<Infallible>> {
///         Ok(()) // commit it, and hear that it is committed
///     }
///
///     async fn on_rollback(&self) -> Result<(), Infallible> {
///         Ok(()) // roll it back, and hear that it is rolled back
///     }
/// }
/// ```
pub trait TransactionHooks: Sync {
    /// What the transaction manager fails with.
    type Error: Send;

    /// Begins the transaction. The lease is granted by then, so the record says `PROCESSING`.
    ///
    /// # Errors
    ///
    /// It did not begin, and the work must not run.
    fn before(&self) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Commits the transaction: the work has succeeded.
    ///
    /// # Errors
    ///
    /// [`CommitFailure`], which says whether it is known to be rolled back.
    fn on_commit(&self) -> impl Future<Output = Result<(), CommitFailure<Self::Error>>> + Send;

    /// Rolls the transaction back: the work has failed.
    ///
    /// # Errors
    ///
    /// Nobody knows how it ended.
    fn on_rollback(&self) -> impl Future<Output = Result<(), Self::Error>> + Send;
}

/// Why a transaction was not committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitFailure<E> {
    /// It was rolled back instead, for certain.
    RolledBack(E),
    /// Nobody knows how it ended.
    Unknown(E),
}

/// Why work with hooks gave nothing.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum HookError<T, E: StdError + 'static> {
    /// The transaction did not begin. The lease is released.
    #[error("the transaction did not begin")]
    NotBegun(#[source] E),
    /// The work failed, or the commit was refused; the transaction is rolled back and the lease
    /// released.
    #[error("the transaction was rolled back")]
    RolledBack(#[source] E),
    /// Nobody knows how the transaction ended. The lease is neither committed nor released: it ends
    /// by itself, unless somebody finds out before that and settles it.
    #[error("the end of the transaction is not known")]
    Unknown {
        /// Why the work failed, if it did.
        work: Option<E>,
        /// Why the end is not known.
        #[source]
        end: E,
    },
    /// The transaction is committed, and its record is not. After
    /// [`CommitError::Unavailable`] commit the lease again, as long as it takes: once the lease has
    /// ended the work could run twice.
    #[error("the transaction is committed, and its record is not")]
    Unrecorded {
        /// What the work gave.
        value: T,
        /// What it left.
        outcome: Option<Outcome>,
        /// Why it is not recorded.
        #[source]
        error: CommitError,
    },
}

/// Runs `work` within a transaction that `hooks` begin and end, and lets the lease's record follow
/// it: committed for `ttl` once the transaction is committed, released once it is rolled back.
///
/// The work gives a value and, perhaps, an outcome to keep for replays. It is not polled before the
/// transaction has begun. Nothing renews the lease here: grant it for longer than the transaction
/// manager lets a transaction run, or renew it by a task of its own that ends before this does.
///
/// # Errors
///
/// [`HookError`].
///
/// # Cancel safety
///
/// If this is dropped, or the work panics, no more hook is called and the lease is left as it is,
/// since nobody knows how the transaction ends: it ends by itself.
pub async fn run_with_hooks<S, H, T, W>(
    store: &S,
    lease: &mut Lease,
    ttl: Ttl,
    hooks: &H,
    work: W,
) -> Result<T, HookError<T, H::Error>>
where
    S: LeaseStore,
    H: TransactionHooks<Error: StdError + 'static>,
    W: Future<Output = Result<(T, Option<Outcome>), H::Error>> + Send,
{
    if let Err(error) = hooks.before().await {
        free(store, lease).await;
        return Err(HookError::NotBegun(error));
    }
    let (value, outcome) = match work.await {
        Ok(done) => done,
        Err(work) => {
            return Err(match hooks.on_rollback().await {
                Ok(()) => {
                    free(store, lease).await;
                    HookError::RolledBack(work)
                }
                Err(end) => HookError::Unknown { work: Some(work), end },
            });
        }
    };
    match hooks.on_commit().await {
        Ok(()) => {}
        Err(CommitFailure::RolledBack(error)) => {
            free(store, lease).await;
            return Err(HookError::RolledBack(error));
        }
        Err(CommitFailure::Unknown(end)) => return Err(HookError::Unknown { work: None, end }),
    }
    match keep(store, lease, &outcome, ttl).await {
        Ok(()) => Ok(value),
        Err(error) => Err(HookError::Unrecorded { value, outcome, error }),
    }
}

/// Commits the lease. A commit that landed unheard is not done twice.
async fn keep<S: LeaseStore>(
    store: &S,
    lease: &mut Lease,
    outcome: &Option<Outcome>,
    ttl: Ttl,
) -> Result<(), CommitError> {
    let mut tries = 1;
    // Ends: after so many tries, or with the first answer.
    loop {
        match store.commit(lease, outcome.clone(), ttl).await {
            Err(CommitError::Unavailable(_)) if tries < TRIES => tries += 1,
            answer => return answer,
        }
    }
}

/// Releases the lease. If the store does not answer, the lease ends by itself.
async fn free<S: LeaseStore>(store: &S, lease: &mut Lease) {
    for _ in 0..TRIES {
        match store.release(lease).await {
            Err(ReleaseError::Unavailable(_)) => {}
            _ => return,
        }
    }
    tracing::warn!("a lease was not released after its transaction: it ends by itself");
}

#[cfg(test)]
mod tests;
