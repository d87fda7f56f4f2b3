//! The verbs: which read, which write, and what each needs of a row.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use leasehold::RecordState;
use sqlx::{Row as _, Sqlite};
use tokio::time::Instant;

use super::failure::read;
use super::row::{Row, Settings};
use super::texts::Texts;
use super::writer::Writer;
use super::{migration, path};
use crate::config::{ConnectError, SqlConfig};
use crate::failure::Failure;
use crate::lines::{Lines, Repeat, Work};
use crate::record::{Ask, Digest, Status, micros, span};
use crate::records::Records;
use crate::rules::{self, Found, Settling};
use crate::table::Table;

/// The records of a table in a file.
struct SqliteRecords {
    readers: Arc<Lines<Sqlite>>,
    writer: Writer,
    texts: Arc<Texts>,
    settings: Settings,
    patience: Duration,
    stuck_retention: i64,
}

/// Opens the file, and makes an empty one if it may be migrated.
pub(crate) async fn open(
    config: &SqlConfig,
    table: &Table,
) -> Result<Box<dyn Records>, ConnectError> {
    let options = path::options(&config.url)?;
    path::check(&options).await?;
    if config.auto_migrate.unwrap_or(true) {
        path::make(&options, config.store_timeout).await?;
    }
    let texts = Arc::new(Texts::new(table));
    let patience = config.store_timeout;
    let writer = Writer::start(options.clone(), Arc::clone(&texts), patience);
    Ok(Box::new(SqliteRecords {
        readers: Arc::new(Lines::new(options, read, config.connections, patience)),
        writer,
        texts,
        settings: Settings {
            namespace: config.namespace.as_str().into(),
            late_grace: micros(config.late_grace),
        },
        patience,
        stuck_retention: micros(config.stuck_retention),
    }))
}

impl SqliteRecords {
    fn until(&self) -> Instant {
        Instant::now() + self.patience
    }

    /// The last committed row of an address, and the time.
    async fn look(&self, digest: Digest) -> Result<Option<(Row, i64)>, Failure> {
        let text = self.texts.read.clone();
        self.readers.call(Repeat::Harmless, move |line| {
            let query = sqlx::query(text.sql()).bind(digest.to_vec());
            Box::pin(async move {
                let Some(row) = query.fetch_optional(line).await.map_err(read)? else {
                    return Ok(None);
                };
                let now: i64 = row.try_get(0).map_err(read)?;
                Ok(Some((Row::read(&row, 1).ok_or_else(Failure::corrupt)?, now)))
            })
        })
        .await
    }
}

impl Records for SqliteRecords {
    fn version(&self) -> Work<'_, u32> {
        let texts = Arc::clone(&self.texts);
        Box::pin(self.readers.call(Repeat::Harmless, move |line| {
            let texts = Arc::clone(&texts);
            Box::pin(async move { migration::version(line, &texts).await.map_err(read) })
        }))
    }

    fn acquire(&self, digest: Digest, ask: Ask) -> Work<'_, Found> {
        Box::pin(async move {
            let until = self.until();
            if let Some((row, now)) = self.look(digest).await? {
                let found = rules::acquire(Some(&row.record), &ask, now);
                if !matches!(found, Found::Free { .. }) {
                    return Ok(found);
                }
            }
            let settings = self.settings.clone();
            let rule = move |slot: &mut super::row::Slot, now| slot.acquire(&ask, &settings, now);
            self.writer.decide(until, digest, 0, rule).await
        })
    }

    fn commit(
        &self,
        digest: Digest,
        token: u64,
        outcome: Option<Bytes>,
        ttl: i64,
    ) -> Work<'_, Settling> {
        let weight = outcome.as_ref().map_or(0, Bytes::len);
        Box::pin(self.writer.decide(self.until(), digest, weight, move |slot, now| {
            slot.commit(token, outcome, ttl, now)
        }))
    }

    fn attach(&self, digest: Digest, token: u64, outcome: Bytes) -> Work<'_, Settling> {
        let weight = outcome.len();
        Box::pin(self.writer.decide(self.until(), digest, weight, move |slot, now| {
            slot.attach(token, outcome, now)
        }))
    }

    fn release(&self, digest: Digest, token: u64) -> Work<'_, Settling> {
        let settings = self.settings.clone();
        Box::pin(self.writer.decide(self.until(), digest, 0, move |slot, now| {
            slot.release(token, &settings, now)
        }))
    }

    fn abandon(&self, digest: Digest, attempt: [u8; 16]) -> Work<'_, Settling> {
        let settings = self.settings.clone();
        Box::pin(self.writer.decide(self.until(), digest, 0, move |slot, now| {
            slot.abandon(&attempt, &settings, now)
        }))
    }

    fn renew(&self, digest: Digest, token: u64, ttl: i64) -> Work<'_, Settling> {
        let settings = self.settings.clone();
        Box::pin(self.writer.decide(self.until(), digest, 0, move |slot, now| {
            slot.renew(token, ttl, &settings, now)
        }))
    }

    fn peek(&self, digest: Digest) -> Work<'_, RecordState> {
        Box::pin(async move {
            let Some((Row { record, .. }, now)) = self.look(digest).await? else {
                return Ok(RecordState::Free);
            };
            let remaining = span(record.expires.saturating_sub(now));
            Ok(match record.status {
                _ if !record.is_live(now) => RecordState::Free,
                Status::Success => {
                    RecordState::Completed { remaining, replayable: record.outcome.is_some() }
                }
                _ => RecordState::InFlight { remaining },
            })
        })
    }

    fn forget(&self, digest: Digest) -> Work<'_, bool> {
        Box::pin(self.writer.decide(self.until(), digest, 0, |slot, now| slot.forget(now)))
    }

    fn purge(&self, limit: u32) -> Work<'_, u32> {
        Box::pin(async move {
            let purged = self.writer.batch(&self.texts.purge, limit, 0).await?;
            Ok(u32::try_from(purged.len()).unwrap_or(u32::MAX))
        })
    }

    fn mark_stuck(&self, limit: u32) -> Work<'_, Vec<Digest>> {
        Box::pin(self.writer.batch(&self.texts.mark, limit, self.stuck_retention))
    }

    fn count_stuck(&self) -> Work<'_, u64> {
        let text = self.texts.count_stuck.clone();
        Box::pin(self.readers.call(Repeat::Harmless, move |line| {
            let query = sqlx::query_scalar::<_, i64>(text.sql());
            Box::pin(async move {
                let count = query.fetch_one(line).await.map_err(read)?;
                Ok(u64::try_from(count).unwrap_or(0))
            })
        }))
    }

    fn ping(&self) -> Work<'_, ()> {
        let text = self.texts.ping.clone();
        Box::pin(self.readers.call(Repeat::Harmless, move |line| {
            let query = sqlx::query(text.sql());
            Box::pin(async move {
                query.execute(line).await.map_err(read)?;
                Ok(())
            })
        }))
    }
}
