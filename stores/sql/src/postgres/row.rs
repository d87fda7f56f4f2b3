//! Rows of PostgreSQL as records.

use bytes::Bytes;
use sqlx::Row as _;
use sqlx::postgres::PgRow;

use crate::failure::Failure;
use crate::postgres::failure::read;
use crate::record::{Digest, Record, Status};

/// A column, which is there by the statement's text.
pub(super) fn column<'r, T>(row: &'r PgRow, at: usize) -> Result<T, Failure>
where
    T: sqlx::Decode<'r, sqlx::Postgres> + sqlx::Type<sqlx::Postgres>,
{
    row.try_get(at).map_err(read)
}

/// The record in the first eight columns: status, token, attempt, fingerprint, outcome, end, purge,
/// stuck. None if there is no status.
pub(super) fn record(row: &PgRow) -> Result<Option<Record>, Failure> {
    let Some(status) = column::<Option<&str>>(row, 0)? else { return Ok(None) };
    let outcome = column::<Option<Vec<u8>>>(row, 4)?;
    Ok(Some(Record {
        status: Status::parse(status).ok_or_else(Failure::corrupt)?,
        token: token(column(row, 1)?)?,
        attempt: exactly(column(row, 2)?)?,
        fingerprint: column::<Option<&[u8]>>(row, 3)?.map(exactly).transpose()?,
        outcome: outcome.map(Bytes::from),
        expires: column(row, 5)?,
        purge: column(row, 6)?,
        stuck: column(row, 7)?,
    }))
}

/// A token, which no statement of ours makes zero or less.
pub(super) fn token(column: i64) -> Result<u64, Failure> {
    u64::try_from(column).ok().filter(|token| *token > 0).ok_or_else(Failure::corrupt)
}

/// A digest.
pub(super) fn digest(row: &PgRow) -> Result<Digest, Failure> {
    exactly(column(row, 0)?)
}

fn exactly<const N: usize>(column: &[u8]) -> Result<[u8; N], Failure> {
    column.try_into().map_err(|_| Failure::corrupt())
}
