//! The verbs.

use std::sync::Arc;

use bytes::Bytes;
use leasehold::RecordState;
use sqlx::postgres::{PgArguments, PgConnection, PgRow};
use sqlx::{AssertSqlSafe, Postgres};
use tokio::time::{Instant, sleep};

use crate::failure::Failure;
use crate::lines::{LOCK_PAUSE, Lines, Repeat, Work};
use crate::postgres::failure::{is_locked_row, is_missing_table, read};
use crate::postgres::row::{column, digest, record, token};
use crate::postgres::texts::Texts;
use crate::record::{Ask, Digest, Record};
use crate::records::Records;
use crate::rules::{self, Found, Settling};

/// How often a settling verb looks again whose row was changed between its writing and its reading.
/// Arbitrary: each time somebody else has got what he wanted, so two are rarely needed.
const TURNS: u32 = 3;

/// How often an acquire looks again. With the pauses between them a row that a statement holds, a
/// purge's batch for instance, is free before the last; a caller's open transaction is told as in
/// flight some milliseconds later. Arbitrary within that.
const ACQUIRE_TURNS: u32 = 4;

/// The records of one table.
pub(super) struct PgRecords {
    pub(super) lines: Arc<Lines<Postgres>>,
    pub(super) texts: Arc<Texts>,
    pub(super) namespace: Arc<str>,
    pub(super) late_grace: i64,
    pub(super) stuck_retention: i64,
}

type Query = sqlx::query::Query<'static, Postgres, PgArguments>;

fn query(text: &Arc<str>) -> Query {
    sqlx::query(AssertSqlSafe(Arc::clone(text)))
}

/// What [`Records::acquire`] binds.
struct Request {
    texts: Arc<Texts>,
    namespace: Arc<str>,
    digest: Digest,
    ask: Ask,
    late_grace: i64,
}

impl Request {
    /// One try: granted, or something live was found; or a rival was faster, or has the row locked.
    async fn run(&self, line: &mut PgConnection) -> Result<Option<Found>, Failure> {
        let answer = query(&self.texts.acquire)
            .bind(self.digest)
            .bind(&*self.namespace)
            .bind(self.ask.attempt)
            .bind(self.ask.fingerprint)
            .bind(self.ask.lease_ttl)
            .bind(self.late_grace)
            .fetch_one(line)
            .await;
        let row = match answer {
            Ok(row) => row,
            Err(error) if is_locked_row(&error) => return Ok(None),
            Err(error) => return Err(read(error)),
        };
        if let Some(granted) = column::<Option<i64>>(&row, 9)? {
            return Ok(Some(Found::Free { token: token(granted)? }));
        }
        let seen = record(&row)?;
        match rules::acquire(seen.as_ref(), &self.ask, column(&row, 8)?) {
            Found::Free { .. } => Ok(None),
            found => Ok(Some(found)),
        }
    }
}

impl PgRecords {
    /// One try of an acquire, over a connection that is given back.
    fn try_acquire(&self, request: &Arc<Request>, until: Instant) -> Work<'_, Option<Found>> {
        let request = Arc::clone(request);
        Box::pin(self.lines.call_until(until, Repeat::Harmless, move |line| {
            let request = Arc::clone(&request);
            Box::pin(async move { request.run(line).await })
        }))
    }

    /// Changes the row by one update, or says by [`crate::rules`] why it did not.
    fn settle(
        &self,
        digest: Digest,
        repeat: Repeat,
        update: impl Fn(&Texts) -> Query + Send + Sync + 'static,
        judge: impl Fn(Option<&Record>, i64) -> Settling + Send + Sync + 'static,
    ) -> Work<'_, Settling> {
        let texts = Arc::clone(&self.texts);
        let verb = Arc::new((texts, update, judge));
        Box::pin(self.lines.call(repeat, move |line| {
            let verb = Arc::clone(&verb);
            Box::pin(async move {
                let (texts, update, judge) = &*verb;
                // Ends: after so many turns, in each of which somebody else has moved the row.
                for _ in 0..TURNS {
                    let done = update(texts).execute(&mut *line).await.map_err(read)?;
                    if done.rows_affected() > 0 {
                        return Ok(Settling::Done);
                    }
                    let row = look(&mut *line, texts, digest).await?;
                    let (record, now) = row.map_or((None, 0), |(record, now)| (Some(record), now));
                    match judge(record.as_ref(), now) {
                        Settling::Write => {}
                        settling => return Ok(settling),
                    }
                }
                Err(Failure::moved())
            })
        }))
    }

    /// A statement of its own, whose rows are all there is.
    fn rows<T: Send + 'static>(
        &self,
        repeat: Repeat,
        ask: impl Fn() -> Query + Send + Sync + 'static,
        answer: fn(Vec<PgRow>) -> Result<T, Failure>,
    ) -> Work<'_, T> {
        Box::pin(self.lines.call(repeat, move |line| {
            let ask = ask();
            Box::pin(async move { answer(ask.fetch_all(line).await.map_err(read)?) })
        }))
    }
}

/// The row as it is now, and the time; none if there is no row.
async fn look(
    line: &mut PgConnection,
    texts: &Texts,
    digest: Digest,
) -> Result<Option<(Record, i64)>, Failure> {
    let answer = query(&texts.look).bind(digest).fetch_optional(line).await;
    let Some(row) = answer.map_err(read)? else { return Ok(None) };
    let record = record(&row)?.ok_or_else(Failure::corrupt)?;
    Ok(Some((record, column(&row, 8)?)))
}

impl Records for PgRecords {
    fn version(&self) -> Work<'_, u32> {
        let text = Arc::clone(&self.texts.version);
        Box::pin(self.lines.call(Repeat::Harmless, move |line| {
            let query = query(&text);
            Box::pin(async move {
                match query.fetch_one(line).await {
                    Ok(row) => Ok(u32::try_from(column::<i32>(&row, 0)?).unwrap_or(0)),
                    Err(error) if is_missing_table(&error) => Ok(0),
                    Err(error) => Err(read(error)),
                }
            })
        }))
    }

    fn acquire(&self, digest: Digest, ask: Ask) -> Work<'_, Found> {
        let request = Arc::new(Request {
            texts: Arc::clone(&self.texts),
            namespace: Arc::clone(&self.namespace),
            digest,
            ask,
            late_grace: self.late_grace,
        });
        Box::pin(async move {
            let until = self.lines.deadline();
            // Ends: after so many turns. A rival who was faster is seen by the next one; a row that
            // is locked through all of them is somebody's who works with it. No connection is kept
            // from others in the pauses.
            for turn in 0..ACQUIRE_TURNS {
                if turn > 0 {
                    sleep(LOCK_PAUSE).await;
                }
                if let Some(found) = self.try_acquire(&request, until).await? {
                    return Ok(found);
                }
            }
            // How long it stays locked is not known.
            Ok(Found::InFlight { remaining: ask.lease_ttl })
        })
    }

    fn commit(
        &self,
        digest: Digest,
        token: u64,
        outcome: Option<Bytes>,
        ttl: i64,
    ) -> Work<'_, Settling> {
        let update = move |texts: &Texts| {
            query(&texts.commit)
                .bind(digest)
                .bind(column_of(token))
                .bind(outcome.as_deref())
                .bind(ttl)
        };
        self.settle(digest, Repeat::Harmless, update, move |record, now| {
            rules::commit(record, token, now)
        })
    }

    /// Not tried again: what the first try has attached would be told as too late.
    fn attach(&self, digest: Digest, token: u64, outcome: Bytes) -> Work<'_, Settling> {
        let update = move |texts: &Texts| {
            query(&texts.attach).bind(digest).bind(column_of(token)).bind(&*outcome)
        };
        self.settle(digest, Repeat::Never, update, move |record, now| {
            rules::attach(record, token, now)
        })
    }

    fn release(&self, digest: Digest, token: u64) -> Work<'_, Settling> {
        let late_grace = self.late_grace;
        let update = move |texts: &Texts| {
            query(&texts.release).bind(digest).bind(column_of(token)).bind(late_grace)
        };
        self.settle(digest, Repeat::Harmless, update, move |record, now| {
            rules::release(record, token, now)
        })
    }

    fn abandon(&self, digest: Digest, attempt: [u8; 16]) -> Work<'_, Settling> {
        let late_grace = self.late_grace;
        let update =
            move |texts: &Texts| query(&texts.abandon).bind(digest).bind(attempt).bind(late_grace);
        self.settle(digest, Repeat::Harmless, update, move |record, now| {
            rules::abandon(record, &attempt, now)
        })
    }

    fn renew(&self, digest: Digest, token: u64, ttl: i64) -> Work<'_, Settling> {
        let late_grace = self.late_grace;
        let update = move |texts: &Texts| {
            query(&texts.renew).bind(digest).bind(column_of(token)).bind(ttl).bind(late_grace)
        };
        self.settle(digest, Repeat::Harmless, update, move |record, now| {
            rules::renew(record, token, now)
        })
    }

    fn peek(&self, digest: Digest) -> Work<'_, RecordState> {
        let texts = Arc::clone(&self.texts);
        Box::pin(self.lines.call(Repeat::Harmless, move |line| {
            let texts = Arc::clone(&texts);
            Box::pin(async move {
                let row = look(line, &texts, digest).await?;
                Ok(row.map_or(RecordState::Free, |(record, now)| rules::peek(&record, now)))
            })
        }))
    }

    fn forget(&self, digest: Digest) -> Work<'_, bool> {
        let text = Arc::clone(&self.texts.forget);
        let ask = move || query(&text).bind(digest);
        self.rows(Repeat::Never, ask, |rows| match rows.first() {
            Some(row) => column(row, 0),
            None => Ok(false),
        })
    }

    fn purge(&self, limit: u32) -> Work<'_, u32> {
        let text = Arc::clone(&self.texts.purge);
        Box::pin(self.lines.call(Repeat::Never, move |line| {
            let query = query(&text).bind(i64::from(limit));
            Box::pin(async move {
                let done = query.execute(line).await.map_err(read)?;
                Ok(u32::try_from(done.rows_affected()).unwrap_or(u32::MAX))
            })
        }))
    }

    fn mark_stuck(&self, limit: u32) -> Work<'_, Vec<Digest>> {
        let (text, retention) = (Arc::clone(&self.texts.mark_stuck), self.stuck_retention);
        let ask = move || query(&text).bind(i64::from(limit)).bind(retention);
        self.rows(Repeat::Never, ask, |rows| rows.iter().map(digest).collect())
    }

    fn count_stuck(&self) -> Work<'_, u64> {
        let text = Arc::clone(&self.texts.count_stuck);
        self.rows(
            Repeat::Harmless,
            move || query(&text),
            |rows| {
                let row = rows.first().ok_or_else(Failure::corrupt)?;
                Ok(u64::try_from(column::<i64>(row, 0)?).unwrap_or(0))
            },
        )
    }

    fn ping(&self) -> Work<'_, ()> {
        self.rows(Repeat::Harmless, || sqlx::query("SELECT 1"), |_| Ok(()))
    }
}

/// Tokens are below 2^63; no row has another one.
fn column_of(token: u64) -> i64 {
    i64::try_from(token).unwrap_or(i64::MAX)
}
