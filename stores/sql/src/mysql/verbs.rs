//! The verbs, each with its statement and its rule.

use std::sync::Arc;

use bytes::Bytes;
use leasehold::RecordState;
use sqlx::mysql::MySqlConnection;
use sqlx::{MySql, Row};

use super::batch::{Batch, Deed, forget, one};
use super::error::{is_no_table, read};
use super::row::seen;
use super::statement::{Statements, query};
use crate::failure::Failure;
use crate::lines::{Lines, Repeat, Work};
use crate::record::{Ask, Digest};
use crate::records::Records;
use crate::rules::{self, Found, Settling};

/// The records of one table.
pub(super) struct MySqlRecords {
    pub(super) lines: Arc<Lines<MySql>>,
    pub(super) statements: Arc<Statements>,
    pub(super) namespace: Arc<str>,
    pub(super) late_grace: i64,
    pub(super) stuck_retention: i64,
}

impl MySqlRecords {
    /// Runs something over a connection that knows the statements.
    fn with<T, F>(&self, repeat: Repeat, work: F) -> Work<'_, T>
    where
        T: Send + 'static,
        F: for<'c> Fn(&'c mut MySqlConnection, Arc<Statements>) -> Work<'c, T>
            + Send
            + Sync
            + 'static,
    {
        let statements = Arc::clone(&self.statements);
        Box::pin(self.lines.call(repeat, move |line| work(line, Arc::clone(&statements))))
    }

    fn batch(&self, deed: Deed, limit: u32) -> Work<'_, Vec<Digest>> {
        self.with(Repeat::Never, move |line, statements| {
            let batch = Batch { statements, deed, limit };
            Box::pin(async move { batch.run(line).await })
        })
    }
}

impl Records for MySqlRecords {
    fn version(&self) -> Work<'_, u32> {
        self.with(Repeat::Harmless, |line, statements| {
            Box::pin(async move { version(line, &statements).await })
        })
    }

    fn acquire(&self, digest: Digest, ask: Ask) -> Work<'_, Found> {
        Box::pin(Self::acquire(self, digest, ask))
    }

    fn commit(
        &self,
        digest: Digest,
        token: u64,
        outcome: Option<Bytes>,
        ttl: i64,
    ) -> Work<'_, Settling> {
        self.settle(
            digest,
            Repeat::Harmless,
            move |statements| {
                query(&statements.commit)
                    .bind(outcome.as_deref())
                    .bind(ttl)
                    .bind(digest.as_slice())
                    .bind(token)
            },
            move |record, now| rules::commit(record, token, now),
        )
    }

    /// Not tried again: what the first try has attached would be told as too late.
    fn attach(&self, digest: Digest, token: u64, outcome: Bytes) -> Work<'_, Settling> {
        self.settle(
            digest,
            Repeat::Never,
            move |statements| {
                query(&statements.attach).bind(&*outcome).bind(digest.as_slice()).bind(token)
            },
            move |record, now| rules::attach(record, token, now),
        )
    }

    fn release(&self, digest: Digest, token: u64) -> Work<'_, Settling> {
        let late_grace = self.late_grace;
        self.settle(
            digest,
            Repeat::Harmless,
            move |statements| {
                query(&statements.release).bind(late_grace).bind(digest.as_slice()).bind(token)
            },
            move |record, now| rules::release(record, token, now),
        )
    }

    fn abandon(&self, digest: Digest, attempt: [u8; 16]) -> Work<'_, Settling> {
        let late_grace = self.late_grace;
        self.settle(
            digest,
            Repeat::Harmless,
            move |statements| {
                query(&statements.abandon)
                    .bind(late_grace)
                    .bind(digest.as_slice())
                    .bind(attempt.as_slice())
            },
            move |record, now| rules::abandon(record, &attempt, now),
        )
    }

    fn renew(&self, digest: Digest, token: u64, ttl: i64) -> Work<'_, Settling> {
        let late_grace = self.late_grace;
        self.settle(
            digest,
            Repeat::Harmless,
            move |statements| {
                query(&statements.renew)
                    .bind(ttl)
                    .bind(late_grace)
                    .bind(digest.as_slice())
                    .bind(token)
            },
            move |record, now| rules::renew(record, token, now),
        )
    }

    fn peek(&self, digest: Digest) -> Work<'_, RecordState> {
        self.with(Repeat::Harmless, move |line, statements| {
            Box::pin(async move {
                let seen = seen(line, &statements.look, &digest).await?;
                Ok(seen.map_or(RecordState::Free, |(record, now)| rules::peek(&record, now)))
            })
        })
    }

    fn forget(&self, digest: Digest) -> Work<'_, bool> {
        self.with(Repeat::Never, move |line, statements| {
            Box::pin(async move { forget(line, &statements, &digest).await })
        })
    }

    fn purge(&self, limit: u32) -> Work<'_, u32> {
        let batch = self.batch(Deed::Purge, limit);
        Box::pin(async { batch.await.map(|done| u32::try_from(done.len()).unwrap_or(u32::MAX)) })
    }

    fn mark_stuck(&self, limit: u32) -> Work<'_, Vec<Digest>> {
        self.batch(Deed::Mark { stuck_retention: self.stuck_retention }, limit)
    }

    fn count_stuck(&self) -> Work<'_, u64> {
        self.with(Repeat::Harmless, |line, statements| {
            Box::pin(async move {
                Ok(u64::try_from(one(line, &statements.count_stuck).await?).unwrap_or(0))
            })
        })
    }

    fn ping(&self) -> Work<'_, ()> {
        self.with(Repeat::Harmless, |line, statements| {
            Box::pin(async move { one(line, &statements.now).await.map(drop) })
        })
    }
}

/// The table's version; 0 if there is none of that name.
pub(super) async fn version(
    line: &mut MySqlConnection,
    statements: &Statements,
) -> Result<u32, Failure> {
    match query(&statements.version).fetch_one(line).await {
        Ok(row) => {
            let version: i64 = row.try_get(0).map_err(read)?;
            u32::try_from(version).map_err(|_| Failure::corrupt())
        }
        Err(error) if is_no_table(&error) => Ok(0),
        Err(error) => Err(read(error)),
    }
}
