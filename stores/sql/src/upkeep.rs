//! What has to be done to a table once in a while: marking leases that were left behind, for an
//! operator's eyes, and deleting what is over, in batches.
//!
//! No answer of any verb depends on it: whether a record is over is decided when it is read. It
//! must never touch a live record, nor wait for one that is locked. Several processes may do it to
//! one table at once: each row is marked, and deleted, by one of them.

use std::convert::Infallible;
use std::fmt::Write as _;
use std::time::Duration;

use leasehold::StoreError;
use tokio::time::sleep;

use crate::record::Digest;
use crate::store::SqlStore;

/// By how much the pause grows when pass after pass fails. Arbitrary: an hour's outage is noticed
/// within some minutes of its end by a store that looks every half minute.
const MOST_PAUSES: u32 = 8;

/// A round that has done fewer rows is small: it may have met rows that others clean, or keys that
/// have ended since the pass began. Arbitrary: no database takes fewer at a time, unless a batch is
/// smaller.
pub(crate) const FULL_ROUND: u32 = 256;

/// Small rounds after which a pass ends though there is still something to do, since keys that end
/// all the time would keep it going for ever. Arbitrary; the next pass goes on.
const SMALL_ROUNDS: u32 = 16;

/// What a pass has done, and what it has left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Upkeep {
    /// Records that were deleted, since they were over.
    pub purged: u64,
    /// Leases that were marked as left behind: past their grace, and neither settled nor taken
    /// over.
    pub marked: u64,
    /// Leases that are marked in all, by this pass or an earlier one, and not taken over since.
    pub stuck: u64,
}

impl SqlStore {
    /// Marks what was left behind, and deletes what is over, in batches of
    /// [`SqlConfig::cleanup_batch`](crate::SqlConfig::cleanup_batch) rows until nothing is due,
    /// or so little that it is only what has ended meanwhile.
    ///
    /// Marked leases are logged: their number as a warning, their digests for debugging. Each stays
    /// for [`SqlConfig::stuck_retention`](crate::SqlConfig::stuck_retention), unless a request for
    /// its key takes it over before.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when the database does not answer; what was done until then is done.
    pub async fn upkeep_once(&self) -> Result<Upkeep, StoreError> {
        let mut done = Upkeep::default();
        let full = u64::from(self.cleanup_batch.min(FULL_ROUND));
        let mut small = 0;
        // Ends: full rounds mark and delete what was due, each row once, and small ones are few.
        while small < SMALL_ROUNDS {
            let marked = self.mark(self.cleanup_batch).await?;
            let purged = self.records.purge(self.cleanup_batch).await?;
            done.marked += marked;
            done.purged += u64::from(purged);
            match marked + u64::from(purged) {
                0 => break,
                did if did < full => small += 1,
                _ => {}
            }
        }
        done.stuck = self.stuck().await?;
        Ok(done)
    }

    /// Does [`upkeep_once`](Self::upkeep_once) now and after every `interval`, for ever; `report`
    /// is told each time. While the database does not answer, the pauses grow to eight intervals.
    ///
    /// # Cancel safety
    ///
    /// It is meant to be dropped, or its task aborted: a statement that is under way is left to
    /// itself then, and is as good as done or not done.
    pub async fn upkeep(
        &self,
        interval: Duration,
        mut report: impl FnMut(&Result<Upkeep, StoreError>) + Send,
    ) -> Infallible {
        let mut pauses = 1;
        // Runs until it is dropped.
        loop {
            let done = self.upkeep_once().await;
            match &done {
                Ok(_) => pauses = 1,
                Err(error) if pauses == 1 => {
                    tracing::warn!(table = ?self.table, %error, "the table could not be cleaned");
                    pauses = 2;
                }
                Err(_) => pauses = MOST_PAUSES.min(pauses * 2),
            }
            report(&done);
            sleep(interval.saturating_mul(pauses)).await;
        }
    }

    /// How many leases are marked as left behind.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when the database does not answer.
    pub async fn stuck(&self) -> Result<u64, StoreError> {
        Ok(self.records.count_stuck().await?)
    }

    /// Marks up to `limit` leases that were left behind, and says so.
    pub(crate) async fn mark(&self, limit: u32) -> Result<u64, StoreError> {
        let marked = self.records.mark_stuck(limit).await?;
        if marked.is_empty() {
            return Ok(0);
        }
        let (table, count) = (&self.table, marked.len());
        tracing::warn!(?table, count, "leases were left behind by their holders");
        for digest in &marked {
            tracing::debug!(?table, digest = hex(digest), "this lease was left behind");
        }
        Ok(u64::try_from(count).unwrap_or(u64::MAX))
    }
}

fn hex(digest: &Digest) -> String {
    digest.iter().fold(String::with_capacity(64), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use bytes::Bytes;
    use leasehold::RecordState;

    use super::*;
    use crate::config::Dialect;
    use crate::failure::Failure;
    use crate::lines::Work;
    use crate::record::Ask;
    use crate::records::Records;
    use crate::rules::{Found, Settling};
    use crate::table::Table;

    /// A table with so many rows that are over, and one more after each batch: keys end all the
    /// time.
    struct Busy {
        over: Mutex<u32>,
        batches: Mutex<u32>,
    }

    /// Far above what any case needs.
    const MOST_BATCHES: u32 = 1_000;

    fn none<T>() -> Work<'static, T> {
        Box::pin(async { Err(Failure::corrupt()) })
    }

    impl Records for Busy {
        fn version(&self) -> Work<'_, u32> {
            none()
        }

        fn acquire(&self, _: Digest, _: Ask) -> Work<'_, Found> {
            none()
        }

        fn commit(&self, _: Digest, _: u64, _: Option<Bytes>, _: i64) -> Work<'_, Settling> {
            none()
        }

        fn attach(&self, _: Digest, _: u64, _: Bytes) -> Work<'_, Settling> {
            none()
        }

        fn release(&self, _: Digest, _: u64) -> Work<'_, Settling> {
            none()
        }

        fn abandon(&self, _: Digest, _: [u8; 16]) -> Work<'_, Settling> {
            none()
        }

        fn renew(&self, _: Digest, _: u64, _: i64) -> Work<'_, Settling> {
            none()
        }

        fn peek(&self, _: Digest) -> Work<'_, RecordState> {
            none()
        }

        fn forget(&self, _: Digest) -> Work<'_, bool> {
            none()
        }

        fn purge(&self, limit: u32) -> Work<'_, u32> {
            let mut batches = self.batches.lock().expect("unpoisoned");
            *batches += 1;
            assert!(*batches < MOST_BATCHES, "there is no end to it");
            let mut over = self.over.lock().expect("unpoisoned");
            let purged = limit.min(*over);
            *over = *over - purged + 1;
            Box::pin(async move { Ok(purged) })
        }

        fn mark_stuck(&self, _: u32) -> Work<'_, Vec<Digest>> {
            Box::pin(async { Ok(Vec::new()) })
        }

        fn count_stuck(&self) -> Work<'_, u64> {
            Box::pin(async { Ok(0) })
        }

        fn ping(&self) -> Work<'_, ()> {
            none()
        }
    }

    #[tokio::test]
    async fn a_pass_ends_while_keys_end_all_the_time_and_leaves_no_batch_behind() {
        for (over, batch) in [(1, 1_000), (100_000, 1_000), (1_000, 300), (1_000, 10)] {
            let records = Arc::new(Busy { over: Mutex::new(over), batches: Mutex::new(0) });
            let table = Table::new("orders").expect("a plain name");
            let store =
                SqlStore::over(Arc::<Busy>::clone(&records), Dialect::Postgres, table, batch);
            let done = store.upkeep_once().await.expect("it answers");
            assert!(done.purged >= u64::from(over), "{done:?}");
            assert_eq!(*records.over.lock().expect("unpoisoned"), 1);
        }
    }

    #[test]
    fn digests_are_told_in_hex() {
        let mut digest = [0; 32];
        digest[0] = 0xab;
        digest[31] = 1;
        assert_eq!(hex(&digest), format!("ab{}01", "0".repeat(60)));
    }
}
