//! The statements. A group of any size goes by a few prepared texts: each is for a power of two of
//! rows, and what is not bound is NULL and left out.
//!
//! Several statements stand in one text, since the driver takes each text to another thread and
//! back: it stops at the first that fails.

use std::sync::Arc;

use sqlx::AssertSqlSafe;

use super::row::{COLUMNS, WRITTEN};
use crate::table::Table;

/// Most verbs of one group. By measurement: twice as many are no faster.
pub(super) const GROUP: usize = 256;

/// SQLite's time, in microseconds, of whole milliseconds.
const NOW: &str = "CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000";

/// `?1` to `?6`: digest, attempt, fingerprint, time to live, late grace, namespace; the spans with
/// the clock's step.
const GRANT: &str = "INSERT INTO {table} \
    (digest, status, token, attempt, fingerprint, outcome, expires_us, purge_us, stuck_us, \
     biz_type, created_us, updated_us) \
    SELECT ?1, 'PROCESSING', now, ?2, ?3, NULL, now + ?4, now + ?4 + ?5, NULL, ?6, now, now \
    FROM (SELECT {now} AS now) WHERE true \
    ON CONFLICT (digest) DO UPDATE SET status = excluded.status, \
    token = max(token + 1, excluded.token), attempt = excluded.attempt, \
    fingerprint = excluded.fingerprint, outcome = NULL, expires_us = excluded.expires_us, \
    purge_us = excluded.purge_us, stuck_us = NULL, biz_type = excluded.biz_type, \
    created_us = excluded.created_us, updated_us = excluded.updated_us \
    WHERE status = 'FAILED' OR expires_us <= excluded.updated_us RETURNING token";

/// `?1` to `?4`: digest, token, outcome, time to live with the clock's step.
const KEEP: &str = "UPDATE {table} SET status = 'SUCCESS', outcome = ?3, \
    expires_us = {now} + ?4, purge_us = {now} + ?4, updated_us = {now} \
    WHERE digest = ?1 AND token = ?2 AND status = 'PROCESSING' AND stuck_us IS NULL \
    AND {now} < purge_us RETURNING token";

/// The rows that are due first, as many as a batch looks at.
const DUE: &str = "SELECT rowid AS due, status, token, stuck_us FROM {table} \
                   WHERE purge_us <= {now} ORDER BY purge_us LIMIT ?1";

/// A statement's text, made once.
#[derive(Clone, Debug)]
pub(super) struct Text(Arc<str>);

impl Text {
    pub(super) fn sql(&self) -> AssertSqlSafe<Arc<str>> {
        AssertSqlSafe(Arc::clone(&self.0))
    }
}

/// All of them, for one table.
#[derive(Debug)]
pub(super) struct Texts {
    /// One row by its digest, with the time before it.
    pub(super) read: Text,
    /// Grants one free address, and gives the token: [`crate::rules::acquire`]. No row if it is
    /// not free.
    pub(super) grant: Text,
    /// Commits one lease, and gives its token: [`crate::rules::commit`]. No row if it is not held.
    pub(super) keep: Text,
    begin: Vec<Text>,
    write: Vec<Text>,
    /// Deletes one row by its digest.
    pub(super) delete: Text,
    /// Begins a transaction that may write.
    pub(super) lock: Text,
    /// Ends a transaction.
    pub(super) commit: Text,
    /// Deletes up to `?1` rows, whose digests it gives, and commits.
    pub(super) purge: Text,
    /// Marks up to `?1` rows for `?2` microseconds, gives their digests, and commits.
    pub(super) mark: Text,
    pub(super) count_stuck: Text,
    pub(super) ping: Text,
    /// Whether there is a version table, and the version that the table is of.
    pub(super) has_version: Text,
    pub(super) version: Text,
    /// Deletes nothing, for which the file has to be writable.
    pub(super) probe: Text,
}

impl Texts {
    pub(super) fn new(table: &Table) -> Self {
        let text = |text: &str| Text(table.statement(&text.replace("{now}", NOW)).into());
        let sizes = || (0..=GROUP.ilog2()).map(|power| 1_usize << power);
        Self {
            read: text(&format!("SELECT {{now}}, {COLUMNS} FROM {{table}} WHERE digest = ?")),
            grant: text(GRANT),
            keep: text(KEEP),
            begin: sizes().map(|size| text(&begin(size))).collect(),
            write: sizes().map(|size| text(&write(size))).collect(),
            delete: text("DELETE FROM {table} WHERE digest = ?"),
            lock: text("BEGIN IMMEDIATE"),
            commit: text("COMMIT"),
            // Every later grant of the address gets a token of at least the time then, so the row
            // may go that has a lower one.
            purge: text(&format!(
                "DELETE FROM {{table}} WHERE rowid IN (SELECT due FROM ({DUE}) \
                 WHERE token < {{now}} AND (status <> 'PROCESSING' OR stuck_us IS NOT NULL)) \
                 RETURNING digest; COMMIT"
            )),
            mark: text(&format!(
                "UPDATE {{table}} SET stuck_us = {{now}}, updated_us = {{now}}, \
                 purge_us = {{now}} + ?2 WHERE rowid IN (SELECT due FROM ({DUE}) \
                 WHERE status = 'PROCESSING' AND stuck_us IS NULL) RETURNING digest; COMMIT"
            )),
            count_stuck: text("SELECT count(*) FROM {table} WHERE stuck_us IS NOT NULL"),
            ping: text("SELECT EXISTS (SELECT 1 FROM {table})"),
            has_version: text(
                "SELECT EXISTS (SELECT 1 FROM sqlite_schema \
                 WHERE type = 'table' AND name = '{version}')",
            ),
            version: text("SELECT max(version) FROM {version}"),
            probe: text("DELETE FROM {version} WHERE false"),
        }
    }

    /// Takes the lock and reads the time, then so many rows by their digests.
    pub(super) fn begin(&self, rows: usize) -> Option<&Text> {
        self.begin.get(power(rows))
    }

    /// Writes so many rows, and commits.
    pub(super) fn write(&self, rows: usize) -> Option<&Text> {
        self.write.get(power(rows))
    }
}

/// The power of two that has room for so many.
fn power(rows: usize) -> usize {
    rows.next_power_of_two().trailing_zeros() as usize
}

fn begin(rows: usize) -> String {
    let digests = vec!["?"; rows].join(", ");
    format!(
        "BEGIN IMMEDIATE; SELECT {{now}}; SELECT {COLUMNS} FROM {{table}} \
         WHERE digest IN ({digests})"
    )
}

fn write(rows: usize) -> String {
    let columns = WRITTEN.join(", ");
    let row = format!("({})", ["?"; WRITTEN.len()].join(", "));
    let rows = vec![row.as_str(); rows].join(", ");
    let changes: Vec<_> =
        WRITTEN.iter().skip(1).map(|column| format!("{column} = excluded.{column}")).collect();
    let changes = changes.join(", ");
    format!(
        "INSERT INTO {{table}} ({columns}) SELECT * FROM (VALUES {rows}) \
         WHERE column1 IS NOT NULL ON CONFLICT (digest) DO UPDATE SET {changes}; COMMIT"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_room_for_its_rows() {
        let texts = Texts::new(&Table::new("t").expect("a plain name"));
        for rows in [1, 2, 3, 5, 64, 65, 255, GROUP] {
            for text in [texts.begin(rows), texts.write(rows)] {
                let text = &text.expect("up to a whole group").0;
                let columns = if text.starts_with("BEGIN") { 1 } else { WRITTEN.len() };
                assert!(text.matches('?').count() >= rows * columns, "{rows}");
            }
        }
        assert!(texts.begin(GROUP + 1).is_none());
    }
}
