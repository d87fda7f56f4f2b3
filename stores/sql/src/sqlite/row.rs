//! A row as SQLite keeps it: read, changed by a verb, and bound to be written back.
//!
//! No I/O and no clock here: the row and the time are given.

use std::sync::Arc;

use bytes::Bytes;
use sqlx::Row as _;
use sqlx::sqlite::{SqliteArguments, SqliteRow};
use sqlx::Arguments as _;

use crate::record::{Ask, Digest, Record, Status};
use crate::rules::{self, Found, Settling};

/// What SQLite's clock may be ahead of itself, in microseconds: it tells whole milliseconds, cut
/// off. Deadlines get it added, so that nothing ends early.
const STEP: i64 = 1_000;

/// One row.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) record: Record,
    namespace: Arc<str>,
    created: i64,
}

/// What is settled once for all verbs.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) namespace: Arc<str>,
    /// Microseconds.
    pub(super) late_grace: i64,
}

/// The columns that [`Row::read`] wants, in its order, from the given one on.
pub(super) const COLUMNS: &str = "digest, status, token, attempt, fingerprint, outcome, \
                                  expires_us, purge_us, stuck_us, biz_type, created_us";

impl Row {
    /// Reads a row of [`COLUMNS`], whose first is at `from`. `None` for what this version does not
    /// write.
    pub(super) fn read(row: &SqliteRow, from: usize) -> Option<Self> {
        fn bytes<const N: usize>(row: &SqliteRow, index: usize) -> Option<[u8; N]> {
            row.try_get::<&[u8], _>(index).ok()?.try_into().ok()
        }
        let number = |index| row.try_get::<i64, _>(from + index).ok();
        let fingerprint = match row.try_get::<Option<&[u8]>, _>(from + 4).ok()? {
            None => None,
            Some(print) => Some(print.try_into().ok()?),
        };
        let outcome = row.try_get::<Option<&[u8]>, _>(from + 5).ok()?;
        Some(Self {
            record: Record {
                status: Status::parse(row.try_get(from + 1).ok()?)?,
                token: u64::try_from(number(2)?).ok()?,
                attempt: bytes(row, from + 3)?,
                fingerprint,
                outcome: outcome.map(Bytes::copy_from_slice),
                expires: number(6)?,
                purge: number(7)?,
                stuck: row.try_get(from + 8).ok()?,
            },
            namespace: row.try_get::<&str, _>(from + 9).ok()?.into(),
            created: number(10)?,
        })
    }

    /// Whose row it is, of a row of [`COLUMNS`].
    pub(super) fn digest(row: &SqliteRow, from: usize) -> Option<Digest> {
        row.try_get::<&[u8], _>(from).ok()?.try_into().ok()
    }
}

/// The row of an address within a transaction, and whether it has to be written.
#[derive(Debug, Default)]
pub(super) struct Slot {
    row: Option<Row>,
    is_changed: bool,
    is_corrupt: bool,
}

impl Slot {
    /// What was read; `None` for a row that this version does not write.
    pub(super) fn new(row: Option<Row>) -> Self {
        Self { is_corrupt: row.is_none(), row, is_changed: false }
    }

    /// No verb may touch what this version does not write.
    pub(super) const fn is_corrupt(&self) -> bool {
        self.is_corrupt
    }

    /// What has to be written; `Some(None)` if the row has to go.
    pub(super) fn change(&self) -> Option<Option<&Row>> {
        self.is_changed.then_some(self.row.as_ref())
    }

    fn record(&self) -> Option<&Record> {
        self.row.as_ref().map(|row| &row.record)
    }

    fn update(&mut self, settling: Settling, update: impl FnOnce(&mut Record)) -> Settling {
        match (settling, &mut self.row) {
            (Settling::Write, Some(row)) => {
                update(&mut row.record);
                self.is_changed = true;
                Settling::Done
            }
            (settling, _) => settling,
        }
    }

    pub(super) fn acquire(&mut self, ask: &Ask, settings: &Settings, now: i64) -> Found {
        let found = rules::acquire(self.record(), ask, now);
        if let Found::Free { token } = found {
            let expires = after(now, ask.lease_ttl);
            let record = Record {
                status: Status::Processing,
                token,
                attempt: ask.attempt,
                fingerprint: ask.fingerprint,
                outcome: None,
                expires,
                purge: expires.saturating_add(settings.late_grace),
                stuck: None,
            };
            let namespace = Arc::clone(&settings.namespace);
            self.row = Some(Row { record, namespace, created: now });
            self.is_changed = true;
        }
        found
    }

    pub(super) fn commit(
        &mut self,
        token: u64,
        outcome: Option<Bytes>,
        ttl: i64,
        now: i64,
    ) -> Settling {
        self.update(rules::commit(self.record(), token, now), |record| {
            record.status = Status::Success;
            record.outcome = outcome;
            record.expires = after(now, ttl);
            record.purge = record.expires;
        })
    }

    pub(super) fn attach(&mut self, token: u64, outcome: Bytes, now: i64) -> Settling {
        self.update(rules::attach(self.record(), token, now), |record| {
            record.outcome = Some(outcome);
        })
    }

    pub(super) fn release(&mut self, token: u64, settings: &Settings, now: i64) -> Settling {
        self.update(rules::release(self.record(), token, now), |record| {
            fail(record, settings, now);
        })
    }

    pub(super) fn abandon(
        &mut self,
        attempt: &[u8; 16],
        settings: &Settings,
        now: i64,
    ) -> Settling {
        self.update(rules::abandon(self.record(), attempt, now), |record| {
            fail(record, settings, now);
        })
    }

    pub(super) fn renew(
        &mut self,
        token: u64,
        ttl: i64,
        settings: &Settings,
        now: i64,
    ) -> Settling {
        self.update(rules::renew(self.record(), token, now), |record| {
            record.expires = after(now, ttl);
            record.purge = record.expires.saturating_add(settings.late_grace);
        })
    }

    /// Removes the row. One whose token is not past the clock stays as failed and empty, since the
    /// next grant's token has to be higher; a sweep deletes it a moment later.
    pub(super) fn forget(&mut self, now: i64) -> bool {
        let Some(row) = &mut self.row else { return false };
        let was_live = row.record.is_live(now);
        if i64::try_from(row.record.token).is_ok_and(|token| token < now) {
            self.row = None;
        } else {
            let record = &mut row.record;
            record.status = Status::Failed;
            record.fingerprint = None;
            record.outcome = None;
            record.stuck = None;
            (record.expires, record.purge) = (now, now);
        }
        self.is_changed = true;
        was_live
    }
}

fn after(now: i64, span: i64) -> i64 {
    now.saturating_add(span).saturating_add(STEP)
}

fn fail(record: &mut Record, settings: &Settings, now: i64) {
    record.status = Status::Failed;
    record.outcome = None;
    record.expires = now;
    record.purge = now.saturating_add(settings.late_grace);
}

/// The columns that [`bind`] gives, in its order.
pub(super) const WRITTEN: [&str; 12] = [
    "digest",
    "status",
    "token",
    "attempt",
    "fingerprint",
    "outcome",
    "expires_us",
    "purge_us",
    "stuck_us",
    "biz_type",
    "created_us",
    "updated_us",
];

/// Adds a row to what a statement is given.
pub(super) fn bind(
    arguments: &mut SqliteArguments,
    digest: &Digest,
    row: &Row,
    now: i64,
) -> Result<(), sqlx::Error> {
    let record = &row.record;
    let token = i64::try_from(record.token).unwrap_or(i64::MAX);
    let add = |arguments: &mut SqliteArguments| {
        arguments.add(digest.to_vec())?;
        arguments.add(record.status.as_str())?;
        arguments.add(token)?;
        arguments.add(record.attempt.to_vec())?;
        arguments.add(record.fingerprint.map(Vec::from))?;
        arguments.add(record.outcome.as_ref().map(|outcome| outcome.to_vec()))?;
        arguments.add(record.expires)?;
        arguments.add(record.purge)?;
        arguments.add(record.stuck)?;
        arguments.add(row.namespace.to_string())?;
        arguments.add(row.created)?;
        arguments.add(now)
    };
    add(arguments).map_err(sqlx::Error::Encode)
}
