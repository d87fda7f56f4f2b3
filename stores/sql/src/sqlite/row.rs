//! A row as SQLite keeps it: read from an answer, and bound to a statement. What becomes of it is
//! decided elsewhere.

use std::sync::Arc;

use bytes::Bytes;
use sqlx::Arguments as _;
use sqlx::Row as _;
use sqlx::sqlite::{SqliteArguments, SqliteRow};

use crate::record::{Ask, Digest, Record, Status};

/// What SQLite's clock may be ahead of itself, in microseconds: it tells whole milliseconds, cut
/// off. Deadlines get it added, so that nothing ends early.
pub(super) const STEP: i64 = 1_000;

/// One row.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) record: Record,
    pub(super) namespace: Arc<str>,
    /// When it was granted.
    pub(super) created: i64,
}

/// What is settled once for all verbs.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) namespace: Arc<str>,
    /// Microseconds.
    pub(super) late_grace: i64,
}

/// What the text `grant` is given.
pub(super) fn grant(
    digest: &Digest,
    ask: &Ask,
    settings: &Settings,
) -> Result<SqliteArguments, sqlx::Error> {
    let mut arguments = SqliteArguments::default();
    let mut add = || {
        arguments.add(digest.to_vec())?;
        arguments.add(ask.attempt.to_vec())?;
        arguments.add(ask.fingerprint.map(Vec::from))?;
        arguments.add(ask.lease_ttl.saturating_add(STEP))?;
        arguments.add(settings.late_grace)?;
        arguments.add(settings.namespace.to_string())
    };
    add().map_err(sqlx::Error::Encode)?;
    Ok(arguments)
}

/// What the text `keep` is given.
pub(super) fn keep(
    digest: &Digest,
    token: u64,
    outcome: Option<&Bytes>,
    ttl: i64,
) -> Result<SqliteArguments, sqlx::Error> {
    let mut arguments = SqliteArguments::default();
    let mut add = || {
        arguments.add(digest.to_vec())?;
        arguments.add(i64::try_from(token).unwrap_or(i64::MAX))?;
        arguments.add(outcome.map(|outcome| outcome.to_vec()))?;
        arguments.add(ttl.saturating_add(STEP))
    };
    add().map_err(sqlx::Error::Encode)?;
    Ok(arguments)
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
