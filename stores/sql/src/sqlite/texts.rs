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
    begin: Vec<Text>,
    write: Vec<Text>,
    /// Deletes one row by its digest.
    pub(super) delete: Text,
    /// Ends a transaction.
    pub(super) commit: Text,
    /// A transaction that deletes up to `?1` rows, whose digests it gives.
    pub(super) purge: Text,
    /// A transaction that marks up to `?1` rows for `?2` microseconds, whose digests it gives.
    pub(super) mark: Text,
    pub(super) count_stuck: Text,
    pub(super) ping: Text,
    /// Whether there is a version table, and the version that the table is of.
    pub(super) has_version: Text,
    pub(super) version: Text,
}

impl Texts {
    pub(super) fn new(table: &Table) -> Self {
        let text = |text: &str| Text(table.statement(&text.replace("{now}", NOW)).into());
        let sizes = || (0..=GROUP.ilog2()).map(|power| 1_usize << power);
        Self {
            read: text(&format!("SELECT {{now}}, {COLUMNS} FROM {{table}} WHERE digest = ?")),
            begin: sizes().map(|size| text(&begin(size))).collect(),
            write: sizes().map(|size| text(&write(size))).collect(),
            delete: text("DELETE FROM {table} WHERE digest = ?"),
            commit: text("COMMIT"),
            // Every later grant of the address gets a token of at least the time then, so the row
            // may go that has a lower one.
            purge: text(&format!(
                "BEGIN IMMEDIATE; DELETE FROM {{table}} WHERE rowid IN (SELECT due FROM ({DUE}) \
                 WHERE token < {{now}} AND (status <> 'PROCESSING' OR stuck_us IS NOT NULL)) \
                 RETURNING digest; COMMIT"
            )),
            mark: text(&format!(
                "BEGIN IMMEDIATE; UPDATE {{table}} SET stuck_us = {{now}}, updated_us = {{now}}, \
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
