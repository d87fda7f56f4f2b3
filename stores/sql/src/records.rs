//! What a database has to do for the store: one method a verb. What is answered to whom is
//! `store`'s; how the statements are made is each database's own.

use bytes::Bytes;
use leasehold::RecordState;

use crate::lines::Work;
use crate::record::{Ask, Digest};
use crate::rules::{Found, Settling};

/// The records of one table, verb by verb. Every method ends within the store's timeout, whatever
/// the database does, and a future that is dropped leaves no connection behind in a half-read
/// state.
///
/// All decisions are made under the row's lock, by the database's clock as it stands then.
pub(crate) trait Records: Send + Sync {
    /// The version of the table: the highest in its version table, 0 if there is none of that name.
    fn version(&self) -> Work<'_, u32>;

    /// Grants, or tells what is there: [`crate::rules::acquire`]. [`Found::Free`] means that the
    /// lease is written, with that token.
    fn acquire(&self, digest: Digest, ask: Ask) -> Work<'_, Found>;

    /// Commits for `ttl`: [`crate::rules::commit`]. [`Settling::Write`] is never answered here or
    /// below: it is *done* then.
    fn commit(
        &self,
        digest: Digest,
        token: u64,
        outcome: Option<Bytes>,
        ttl: i64,
    ) -> Work<'_, Settling>;

    /// Adds an outcome: [`crate::rules::attach`].
    fn attach(&self, digest: Digest, token: u64, outcome: Bytes) -> Work<'_, Settling>;

    /// Marks the row as failed: [`crate::rules::release`].
    fn release(&self, digest: Digest, token: u64) -> Work<'_, Settling>;

    /// The same by attempt: [`crate::rules::abandon`].
    fn abandon(&self, digest: Digest, attempt: [u8; 16]) -> Work<'_, Settling>;

    /// Moves the lease's end to `ttl` from now: [`crate::rules::renew`].
    fn renew(&self, digest: Digest, token: u64, ttl: i64) -> Work<'_, Settling>;

    /// What an acquire would meet.
    fn peek(&self, digest: Digest) -> Work<'_, RecordState>;

    /// Deletes the row; whether it was live.
    fn forget(&self, digest: Digest) -> Work<'_, bool>;

    /// Deletes up to `limit` rows whose time is over, in one batch, and none that is locked or is
    /// left behind and not marked yet. Gives their number: zero if there are none, or if none of
    /// the `limit` rows that are due first may go.
    fn purge(&self, limit: u32) -> Work<'_, u32>;

    /// Marks up to `limit` leases whose grace is over without anybody having settled them or taken
    /// them over, so that they stay for `stuck_retention`. Gives their digests: none if there are
    /// none, or if none of the `limit` rows that are due first is one.
    fn mark_stuck(&self, limit: u32) -> Work<'_, Vec<Digest>>;

    /// How many rows are marked as left behind.
    fn count_stuck(&self) -> Work<'_, u64>;

    /// Runs one statement that changes nothing, to see whether the database answers.
    fn ping(&self) -> Work<'_, ()>;
}
