//! From a row to a record.

use bytes::Bytes;
use sqlx::mysql::{MySqlConnection, MySqlRow};
use sqlx::{Error, Row};

use super::error::read;
use super::statement::{Text, query};
use crate::failure::Failure;
use crate::record::{Digest, Record, Status};

/// A record, and the time at which it was seen.
pub(super) type Seen = Option<(Record, i64)>;

/// Reads the row of a digest by one of the texts that give all of it.
pub(super) async fn seen(
    line: &mut MySqlConnection,
    text: &Text,
    digest: &Digest,
) -> Result<Seen, Failure> {
    // All of the answer is read, so that the connection is as good as before.
    let rows = query(text).bind(digest.as_slice()).fetch_all(line).await.map_err(read)?;
    rows.first().map(|row| record(row).map_err(read)?.ok_or_else(Failure::corrupt)).transpose()
}

/// `None` for what this version does not write.
fn record(row: &MySqlRow) -> Result<Option<(Record, i64)>, Error> {
    let status: &str = row.try_get(0)?;
    let token: i64 = row.try_get(1)?;
    let attempt: &[u8] = row.try_get(2)?;
    let fingerprint: Option<&[u8]> = row.try_get(3)?;
    let outcome: Option<Vec<u8>> = row.try_get(4)?;
    let parsed = (Status::parse(status), u64::try_from(token), attempt.try_into());
    let (Some(status), Ok(token), Ok(attempt)) = parsed else { return Ok(None) };
    let Ok(fingerprint) = fingerprint.map(TryInto::try_into).transpose() else { return Ok(None) };
    let record = Record {
        status,
        token,
        attempt,
        fingerprint,
        outcome: outcome.map(Bytes::from),
        expires: row.try_get(5)?,
        purge: row.try_get(6)?,
        stuck: row.try_get(7)?,
    };
    Ok(Some((record, row.try_get(8)?)))
}
