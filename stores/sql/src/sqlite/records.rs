//! The verbs: which read, which write, and what each needs of a row.

use std::sync::Arc;

use bytes::Bytes;
use leasehold::RecordState;
use sqlx::sqlite::SqliteArguments;
use sqlx::{Arguments as _, Row as _, Sqlite};
use tokio::time::Instant;

use super::failure::read;
use super::row::{self, Row, Settings};
use super::slot::Slot;
use super::texts::{Text, Texts};
use super::writer::{Lock, Writer};
use super::{migration, path};
use crate::config::{ConnectError, Dialect, SqlConfig};
use crate::failure::Failure;
use crate::lines::{Lines, Repeat, Work};
use crate::migration::judge;
use crate::record::{Ask, Digest, micros};
use crate::records::Records;
use crate::rules::{self, Found, Settling};
use crate::table::Table;

/// The records of a table in a file.
struct SqliteRecords {
    readers: Arc<Lines<Sqlite>>,
    writer: Writer,
    texts: Arc<Texts>,
    settings: Settings,
    stuck_retention: i64,
}

/// Opens the file, and makes an empty one if it may be migrated.
pub(crate) async fn open(
    config: &SqlConfig,
    table: &Table,
) -> Result<Box<dyn Records>, ConnectError> {
    let options = path::options(&config.url)?;
    path::check(&options).await?;
    let texts = Arc::new(Texts::new(table));
    let may_make = config.auto_migrate.unwrap_or(true);
    if may_make || path::exists(&options).await {
        let options = options.clone().create_if_missing(may_make);
        path::probe(&options, &texts, config.store_timeout).await?;
    } else {
        // No file is as good as an empty one.
        judge(Dialect::Sqlite, 0)?;
    }
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
        stuck_retention: micros(config.stuck_retention),
    }))
}

impl SqliteRecords {
    fn until(&self) -> Instant {
        self.readers.deadline()
    }

    /// The last committed row of an address, and the time.
    async fn look(&self, until: Instant, digest: Digest) -> Result<Option<(Row, i64)>, Failure> {
        let text = self.texts.read.clone();
        self.readers
            .call_until(until, Repeat::Harmless, move |line| {
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

    /// Has one of the texts run that change many rows. Gives their digests.
    async fn batch(&self, text: &Text, limit: u32, span: i64) -> Result<Vec<Digest>, Failure> {
        let mut arguments = SqliteArguments::default();
        for number in [i64::from(limit), span] {
            arguments.add(number).map_err(|error| read(sqlx::Error::Encode(error)))?;
        }
        let rows = self.writer.run(self.until(), Lock::Wait, text, arguments).await?;
        Ok(rows.iter().filter_map(|row| Row::digest(row, 0)).collect())
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
            if self.writer.is_idle() {
                let arguments = row::grant(&digest, &ask, &self.settings).map_err(read)?;
                let rows =
                    self.writer.run(until, Lock::IfFree, &self.texts.grant, arguments).await?;
                if let Some(row) = rows.first() {
                    let token: i64 = row.try_get(0).map_err(read)?;
                    let token = u64::try_from(token).map_err(|_| Failure::corrupt())?;
                    return Ok(Found::Free { token });
                }
            }
            if let Some((row, now)) = self.look(until, digest).await? {
                let found = rules::acquire(Some(&row.record), &ask, now);
                if !matches!(found, Found::Free { .. }) {
                    return Ok(found);
                }
            }
            let settings = self.settings.clone();
            let rule = move |slot: &mut Slot, now| slot.acquire(&ask, &settings, now);
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
        Box::pin(async move {
            let until = self.until();
            if self.writer.is_idle() {
                let arguments = row::keep(&digest, token, outcome.as_ref(), ttl).map_err(read)?;
                let rows =
                    self.writer.run(until, Lock::IfFree, &self.texts.keep, arguments).await?;
                if !rows.is_empty() {
                    return Ok(Settling::Done);
                }
            }
            let weight = outcome.as_ref().map_or(0, Bytes::len);
            let rule = move |slot: &mut Slot, now| slot.commit(token, outcome, ttl, now);
            self.writer.decide(until, digest, weight, rule).await
        })
    }

    fn attach(&self, digest: Digest, token: u64, outcome: Bytes) -> Work<'_, Settling> {
        let weight = outcome.len();
        Box::pin(self.writer.decide(self.until(), digest, weight, move |slot, now| {
            slot.attach(token, outcome, now)
        }))
    }

    fn release(&self, digest: Digest, token: u64) -> Work<'_, Settling> {
        let settings = self.settings.clone();
        Box::pin(
            self.writer.decide(self.until(), digest, 0, move |slot, now| {
                slot.release(token, &settings, now)
            }),
        )
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
            let seen = self.look(self.until(), digest).await?;
            Ok(seen.map_or(RecordState::Free, |(row, now)| rules::peek(&row.record, now)))
        })
    }

    fn forget(&self, digest: Digest) -> Work<'_, bool> {
        Box::pin(self.writer.decide(self.until(), digest, 0, |slot, now| slot.forget(now)))
    }

    fn purge(&self, limit: u32) -> Work<'_, u32> {
        Box::pin(async move {
            let purged = self.batch(&self.texts.purge, limit, 0).await?;
            Ok(u32::try_from(purged.len()).unwrap_or(u32::MAX))
        })
    }

    fn mark_stuck(&self, limit: u32) -> Work<'_, Vec<Digest>> {
        Box::pin(self.batch(&self.texts.mark, limit, self.stuck_retention))
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
