//! The statements, and the texts that all of them share.
//!
//! Assignments are made from left to right, so that one reading of the clock serves a whole row;
//! the session's mode keeps MariaDB from doing otherwise. `LAST_INSERT_ID(…)` has the answer carry
//! the token that was written, unless the table has triggers, after which it has to be asked for.
//!
//! The number of matched rows tells whether a condition held: the driver asks for those, not for
//! the number of changed ones.

use std::sync::Arc;

use sqlx::mysql::MySqlArguments;
use sqlx::query::Query;
use sqlx::{AssertSqlSafe, MySql};

use super::product::Product;
use crate::table::Table;
use crate::upkeep::FULL_ROUND;

/// Microseconds since 1970 as they stand when a row is looked at. The session's time zone is UTC.
const NOW: &str = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6))";

/// A lease that its holder may still settle: `Record::is_held`.
const HELD: &str = "status = 'PROCESSING' AND stuck_us IS NULL AND {now} < purge_us";

const VERSION: &str = "SELECT COALESCE(MAX(version), 0) FROM {version}";

const READ: &str = "SELECT status, token, attempt, fingerprint, {outcome} AS outcome, expires_us, \
                    purge_us, stuck_us, {now} AS now_us FROM {table} WHERE digest = ?";

/// Of an outcome, whether there is one.
const WHETHER: &str = "LEFT(outcome, 0)";

const INSERT: &str = "INSERT INTO {table} (digest, biz_type, status, attempt, fingerprint, \
                      updated_us, created_us, token, expires_us, purge_us) \
                      VALUES (?, ?, 'PROCESSING', ?, ?, {now}, updated_us, \
                      LAST_INSERT_ID(updated_us), updated_us + ?, expires_us + ?)";

const GRANT: &str = "UPDATE {table} SET biz_type = ?, status = 'PROCESSING', attempt = ?, \
                     fingerprint = ?, outcome = NULL, updated_us = {now}, \
                     created_us = updated_us, \
                     token = LAST_INSERT_ID(GREATEST(token + 1, updated_us)), \
                     expires_us = updated_us + ?, purge_us = expires_us + ?, stuck_us = NULL \
                     WHERE digest = ? AND token = ? AND (status = 'FAILED' OR expires_us <= {now})";

const TOKEN: &str = "SELECT CAST(LAST_INSERT_ID() AS SIGNED)";

const LOCK: &str = "SELECT 1 FROM {table} WHERE digest = ? FOR UPDATE NOWAIT";

const COMMIT: &str = "UPDATE {table} SET updated_us = {now}, status = 'SUCCESS', outcome = ?, \
                      expires_us = updated_us + ?, purge_us = expires_us \
                      WHERE digest = ? AND token = ? AND {held}";

const ATTACH: &str = "UPDATE {table} SET updated_us = {now}, outcome = ? \
                      WHERE digest = ? AND token = ? AND status = 'SUCCESS' AND outcome IS NULL \
                      AND {now} < expires_us";

/// Releases by `{whose}`.
const RELEASE: &str = "UPDATE {table} SET updated_us = {now}, status = 'FAILED', \
                       expires_us = updated_us, purge_us = updated_us + ? \
                       WHERE digest = ? AND {whose} = ? AND {held}";

const RENEW: &str = "UPDATE {table} SET updated_us = {now}, expires_us = updated_us + ?, \
                     purge_us = expires_us + ? WHERE digest = ? AND token = ? AND {held}";

const DELETE: &str = "DELETE FROM {table} WHERE digest = ? AND token = ?";

const DUE: &str = "SELECT digest, status, stuck_us FROM {table} FORCE INDEX ({index}) \
                   WHERE purge_us <= ? ORDER BY purge_us LIMIT ? FOR UPDATE SKIP LOCKED";

/// MariaDB takes a session that waits for nothing to fail where it should pass a row over.
const MARIADB_DUE: &str = "SET STATEMENT innodb_lock_wait_timeout = 1 FOR ";

const DELETE_CHUNK: &str = "DELETE r FROM {table} AS r FORCE INDEX (PRIMARY) \
                            WHERE r.purge_us <= ? \
                            AND (r.status <> 'PROCESSING' OR r.stuck_us IS NOT NULL) \
                            AND r.digest IN ({chunk})";

const MARK_CHUNK: &str = "UPDATE {table} AS r FORCE INDEX (PRIMARY) SET r.stuck_us = {now}, \
                          r.updated_us = r.stuck_us, r.purge_us = r.stuck_us + ? \
                          WHERE r.purge_us <= ? AND r.status = 'PROCESSING' \
                          AND r.stuck_us IS NULL AND r.digest IN ({chunk})";

const COUNT_STUCK: &str = "SELECT COUNT(*) FROM {table} WHERE stuck_us IS NOT NULL";

/// A statement's text, prepared once on each connection.
pub(super) type Text = Arc<str>;

/// Rows that one statement deletes or marks. Arbitrary: their locks are held for some
/// milliseconds, and a key that is asked for meanwhile is locked.
pub(super) const CHUNK: usize = FULL_ROUND as usize;

/// All statements of a table.
pub(super) struct Statements {
    pub(super) product: Product,
    pub(super) now: Text,
    pub(super) version: Text,
    pub(super) read: Text,
    /// The same, with nothing of an outcome but whether there is one.
    pub(super) look: Text,
    pub(super) insert: Text,
    pub(super) grant: Text,
    /// The token that was written, where the answer did not carry it.
    pub(super) token: Text,
    /// Locks a row without waiting.
    pub(super) lock: Text,
    pub(super) commit: Text,
    pub(super) attach: Text,
    pub(super) release: Text,
    pub(super) abandon: Text,
    pub(super) renew: Text,
    /// Locks a row without waiting, and looks at it.
    pub(super) lock_and_look: Text,
    pub(super) delete: Text,
    /// Locks the rows that are due first, but those that are locked.
    pub(super) due: Text,
    pub(super) delete_chunk: Text,
    pub(super) mark_chunk: Text,
    pub(super) count_stuck: Text,
}

impl Statements {
    pub(super) fn new(table: &Table, product: Product) -> Self {
        let chunk = vec!["?"; CHUNK].join(", ");
        let text = |text: &str| -> Text {
            let text = text.replace("{held}", HELD).replace("{now}", NOW);
            table.statement(&text).replace("{chunk}", &chunk).into()
        };
        let look = READ.replace("{outcome}", WHETHER);
        let due = match product {
            Product::MariaDb => format!("{MARIADB_DUE}{DUE}"),
            Product::MySql => DUE.to_owned(),
        };
        Self {
            product,
            now: text("SELECT {now}"),
            version: text(VERSION),
            read: text(&READ.replace("{outcome}", "outcome")),
            look: text(&look),
            insert: text(INSERT),
            grant: text(GRANT),
            token: text(TOKEN),
            lock: text(LOCK),
            commit: text(COMMIT),
            attach: text(ATTACH),
            release: text(&RELEASE.replace("{whose}", "token")),
            abandon: text(&RELEASE.replace("{whose}", "attempt")),
            renew: text(RENEW),
            lock_and_look: text(&format!("{look} FOR UPDATE NOWAIT")),
            delete: text(DELETE),
            due: text(&due),
            delete_chunk: text(DELETE_CHUNK),
            mark_chunk: text(MARK_CHUNK),
            count_stuck: text(COUNT_STUCK),
        }
    }
}

/// A query of a prepared text. Nothing but the table's checked name was ever put into it.
pub(super) fn query(text: &Text) -> Query<'static, MySql, MySqlArguments> {
    sqlx::query(AssertSqlSafe(Arc::clone(text)))
}
