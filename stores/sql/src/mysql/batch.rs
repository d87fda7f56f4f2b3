//! Deleting and marking many rows, some at a time.
//!
//! What is locked is passed over, and what is locked here is so for one short transaction. Its
//! second statement repeats the conditions of the first: InnoDB can undo a transaction that would
//! deadlock without the server's telling before the commit, and the locks are gone then.

use std::sync::Arc;

use sqlx::Row;
use sqlx::mysql::{MySqlConnection, MySqlRow};

use super::error::read;
use super::row::seen;
use super::statement::{CHUNK, Statements, query};
use super::transaction::{begin, end};
use crate::failure::Failure;
use crate::record::{Digest, Status};

/// What is done to the rows of a batch.
#[derive(Clone, Copy)]
pub(super) enum Deed {
    /// Deletes all but leases that were left behind and are not marked yet.
    Purge,
    /// Marks those, and has them stay for so long.
    Mark { stuck_retention: i64 },
}

/// A batch.
#[derive(Clone)]
pub(super) struct Batch {
    pub(super) statements: Arc<Statements>,
    pub(super) deed: Deed,
    pub(super) limit: u32,
}

impl Batch {
    /// Gives the digests of what was deleted or marked.
    pub(super) async fn run(&self, line: &mut MySqlConnection) -> Result<Vec<Digest>, Failure> {
        let now: i64 = one(line, &self.statements.now).await?;
        let (mut done, mut left) = (Vec::new(), usize::try_from(self.limit).unwrap_or(usize::MAX));
        // Ends: `left` falls with every turn.
        while left > 0 {
            let most = left.min(CHUNK);
            begin(line).await?;
            let chunk = self.chunk(line, now, most).await;
            let (due, chunk) = match end(line, chunk).await {
                // What earlier chunks have done is told; the next round tries this one again.
                Err(Failure::Conflict(_)) if !done.is_empty() => break,
                chunk => chunk?,
            };
            // Rows that are due and stay would be found again by every further turn.
            let is_last = due < most || chunk.len() < due;
            done.extend(chunk);
            if is_last {
                break;
            }
            left -= most;
        }
        Ok(done)
    }

    /// Does up to `most` rows. Gives how many were due, and which are done.
    async fn chunk(
        &self,
        line: &mut MySqlConnection,
        now: i64,
        most: usize,
    ) -> Result<(usize, Vec<Digest>), Failure> {
        let limit = u64::try_from(most).unwrap_or(u64::MAX);
        let due = query(&self.statements.due).bind(now).bind(limit);
        let due = due.fetch_all(&mut *line).await.map_err(read)?;
        let digests: Result<Vec<_>, _> = due.iter().map(|row| self.concerned(row)).collect();
        let digests: Vec<Digest> = digests.map_err(read)?.into_iter().flatten().collect();
        // A full chunk is asked for, so that there is one text: the rest says the last one again.
        let Some(last) = digests.last() else { return Ok((due.len(), digests)) };
        let statement = match self.deed {
            Deed::Purge => query(&self.statements.delete_chunk),
            Deed::Mark { stuck_retention } => {
                query(&self.statements.mark_chunk).bind(stuck_retention)
            }
        };
        let filled = digests.iter().chain(std::iter::repeat(last)).take(CHUNK);
        let statement = filled.fold(statement.bind(now), |one, digest| one.bind(digest.to_vec()));
        let done = statement.execute(line).await.map_err(read)?;
        if done.rows_affected() != u64::try_from(digests.len()).unwrap_or(u64::MAX) {
            return Err(undone());
        }
        Ok((due.len(), digests))
    }

    /// The digest of a row that is due, if the deed concerns it.
    fn concerned(&self, row: &MySqlRow) -> Result<Option<Digest>, sqlx::Error> {
        let status: &str = row.try_get(1)?;
        let stuck: Option<i64> = row.try_get(2)?;
        let is_left_behind = status == Status::Processing.as_str() && stuck.is_none();
        let is_concerned = is_left_behind == matches!(self.deed, Deed::Mark { .. });
        let digest: &[u8] = row.try_get(0)?;
        // The column is as wide as a digest.
        Ok(digest.try_into().ok().filter(|_| is_concerned))
    }
}

/// Deletes the row of a digest. Gives whether it was live.
pub(super) async fn forget(
    line: &mut MySqlConnection,
    statements: &Statements,
    digest: &Digest,
) -> Result<bool, Failure> {
    begin(line).await?;
    let done = look_and_delete(line, statements, digest).await;
    end(line, done).await
}

async fn look_and_delete(
    line: &mut MySqlConnection,
    statements: &Statements,
    digest: &Digest,
) -> Result<bool, Failure> {
    let Some((record, now)) = seen(line, &statements.lock_and_look, digest).await? else {
        return Ok(false);
    };
    let delete = query(&statements.delete).bind(digest.as_slice()).bind(record.token);
    if delete.execute(line).await.map_err(read)?.rows_affected() == 0 {
        return Err(undone());
    }
    Ok(record.is_live(now))
}

/// The database has undone the transaction, locks and all, without a word. Its next statement may
/// then be its first.
fn undone() -> Failure {
    Failure::moved()
}

/// The one number that a statement gives.
pub(super) async fn one(
    line: &mut MySqlConnection,
    text: &super::statement::Text,
) -> Result<i64, Failure> {
    let rows = query(text).fetch_all(line).await.map_err(read)?;
    let row = rows.first().ok_or_else(Failure::corrupt)?;
    row.try_get(0).map_err(read)
}
