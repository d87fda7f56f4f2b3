//! The statements, as texts for one table. All that varies from call to call is bound.
//!
//! Each reads the clock as it stands then (`clock_timestamp()`, never the transaction's start), and
//! once for all that it writes into a row, so that a row's times agree. Whether an upsert may write
//! is read under the row's lock. A plain update reads its clock just before the lock, by
//! `lock_timeout` at most; a row that anybody has changed meanwhile is judged anew. So all that can
//! come of it is a grace that lasts a few milliseconds longer, for a holder whose lease nobody has
//! touched.

use std::sync::Arc;

use crate::table::Table;

/// Microseconds since 1970.
const CLOCK: &str = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint";

/// `$1` digest, `$2` namespace, `$3` attempt, `$4` fingerprint, `$5` ttl, `$6` late grace.
///
/// It writes if its snapshot shows no record, or a free one that nobody has locked; whether the row
/// is still free is read under its lock. A duplicate of a live record takes no lock and waits for
/// none. Nothing granted and nothing live seen: a rival was faster, or has the row locked.
///
/// The lease counts from the reading before the lock, since an insert has no other: that is after
/// the caller has asked, so it is not early for him.
const ACQUIRE: &str = "\
WITH seen AS MATERIALIZED (
    SELECT now, status, token, attempt, fingerprint, outcome, expires_us, purge_us, stuck_us
    FROM (SELECT {clock} AS now) AS clock LEFT JOIN {table} ON digest = $1
), granted AS (
    INSERT INTO {table} AS kept (
        digest, biz_type, status, token, attempt, fingerprint,
        expires_us, purge_us, created_us, updated_us
    )
    SELECT $1, $2, 'PROCESSING', greatest(now, 1), $3, $4, now + $5, now + $5 + $6, now, now
    FROM seen WHERE status IS NULL OR (status = 'FAILED' OR expires_us <= now) AND EXISTS (
        SELECT FROM {table} WHERE digest = $1 AND (status = 'FAILED' OR expires_us <= {clock})
        FOR NO KEY UPDATE SKIP LOCKED
    )
    ON CONFLICT (digest) DO UPDATE SET
        biz_type = excluded.biz_type, status = excluded.status,
        token = greatest(kept.token + 1, excluded.token), attempt = excluded.attempt,
        fingerprint = excluded.fingerprint, outcome = NULL,
        expires_us = excluded.expires_us, purge_us = excluded.purge_us, stuck_us = NULL,
        created_us = excluded.created_us, updated_us = excluded.updated_us
    WHERE kept.status = 'FAILED' OR kept.expires_us <= {clock}
    RETURNING token
)
SELECT status, seen.token, attempt, fingerprint, outcome, expires_us, purge_us, stuck_us,
    now, granted.token
FROM seen LEFT JOIN granted ON true";

/// `$1` digest, `$2` token, `$3` outcome, `$4` ttl.
const COMMIT: &str = "\
UPDATE {table}
SET status = 'SUCCESS', outcome = $3, expires_us = now + $4, purge_us = now + $4, updated_us = now
FROM (SELECT {clock} AS now) AS clock
WHERE digest = $1 AND token = $2 AND {held}";

/// `$1` digest, `$2` token, `$3` outcome.
const ATTACH: &str = "\
UPDATE {table} SET outcome = $3, updated_us = now
FROM (SELECT {clock} AS now) AS clock
WHERE digest = $1 AND token = $2 AND status = 'SUCCESS' AND outcome IS NULL AND now < expires_us";

/// `$1` digest, `$2` token, `$3` late grace.
///
/// It writes a lease of this token also past its grace, free as it is then. A transaction that has
/// guarded it may still commit, and a release is told *done* only once none can: so it has to meet
/// the row's lock, which a read would pass by.
const RELEASE: &str = "\
UPDATE {table} SET status = 'FAILED', expires_us = now, purge_us = now + $3, updated_us = now
FROM (SELECT {clock} AS now) AS clock
WHERE digest = $1 AND token = $2 AND status = 'PROCESSING' AND stuck_us IS NULL";

/// `$1` digest, `$2` attempt, `$3` late grace.
const ABANDON: &str = "\
UPDATE {table} SET status = 'FAILED', expires_us = now, purge_us = now + $3, updated_us = now
FROM (SELECT {clock} AS now) AS clock
WHERE digest = $1 AND attempt = $2 AND {held}";

/// `$1` digest, `$2` token, `$3` ttl, `$4` late grace.
const RENEW: &str = "\
UPDATE {table} SET expires_us = now + $3, purge_us = now + $3 + $4, updated_us = now
FROM (SELECT {clock} AS now) AS clock
WHERE digest = $1 AND token = $2 AND {held}";

/// The holder may still settle it.
const HELD: &str = "status = 'PROCESSING' AND stuck_us IS NULL AND now < purge_us";

/// `$1` digest. Of an outcome only that there is one.
const LOOK: &str = "\
SELECT status, token, attempt, NULL::bytea, CASE WHEN outcome IS NOT NULL THEN ''::bytea END,
    expires_us, purge_us, stuck_us, {clock}
FROM {table} WHERE digest = $1";

/// `$1` digest.
const FORGET: &str = "\
DELETE FROM {table} WHERE digest = $1
RETURNING status <> 'FAILED' AND {clock} < expires_us";

/// `$1` rows at most. It looks at no more than those that are due first, whatever they are, so that
/// a call costs the same however many there are. Whoever has one locked keeps it; the others are
/// judged as they are once they are locked.
const PURGE: &str = "\
WITH due AS MATERIALIZED (
    SELECT digest, status, stuck_us FROM {table}
    WHERE purge_us <= (SELECT {clock}) ORDER BY purge_us LIMIT $1
    FOR UPDATE SKIP LOCKED
)
DELETE FROM {table} WHERE digest IN (
    SELECT digest FROM due WHERE status <> 'PROCESSING' OR stuck_us IS NOT NULL
)";

/// `$1` rows at most, `$2` how long they stay. It looks at as many as a purge does, and locks those
/// alone that it will mark.
const MARK_STUCK: &str = "\
WITH due AS MATERIALIZED (
    SELECT digest, status, stuck_us FROM {table}
    WHERE purge_us <= (SELECT {clock}) ORDER BY purge_us LIMIT $1
), left_behind AS MATERIALIZED (
    SELECT digest FROM {table}
    WHERE digest IN (SELECT digest FROM due WHERE status = 'PROCESSING' AND stuck_us IS NULL)
        AND status = 'PROCESSING' AND stuck_us IS NULL AND purge_us <= (SELECT {clock})
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE {table} SET stuck_us = now, purge_us = now + $2, updated_us = now
FROM (SELECT {clock} AS now) AS clock
WHERE digest IN (SELECT digest FROM left_behind)
RETURNING digest";

const COUNT_STUCK: &str = "SELECT count(*) FROM {table} WHERE stuck_us IS NOT NULL";

pub(super) const VERSION: &str = "SELECT coalesce(max(version), 0) FROM {version}";

/// The statements for one table.
pub(super) struct Texts {
    pub(super) acquire: Arc<str>,
    pub(super) commit: Arc<str>,
    pub(super) attach: Arc<str>,
    pub(super) release: Arc<str>,
    pub(super) abandon: Arc<str>,
    pub(super) renew: Arc<str>,
    pub(super) look: Arc<str>,
    pub(super) forget: Arc<str>,
    pub(super) purge: Arc<str>,
    pub(super) mark_stuck: Arc<str>,
    pub(super) count_stuck: Arc<str>,
    pub(super) version: Arc<str>,
}

impl Texts {
    pub(super) fn new(table: &Table) -> Self {
        let of = |text: &str| {
            let text = text.replace("{held}", HELD).replace("{clock}", CLOCK);
            Arc::from(table.statement(&text))
        };
        Self {
            acquire: of(ACQUIRE),
            commit: of(COMMIT),
            attach: of(ATTACH),
            release: of(RELEASE),
            abandon: of(ABANDON),
            renew: of(RENEW),
            look: of(LOOK),
            forget: of(FORGET),
            purge: of(PURGE),
            mark_stuck: of(MARK_STUCK),
            count_stuck: of(COUNT_STUCK),
            version: of(VERSION),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_statement_reads_the_transactions_start() {
        for text in [
            ACQUIRE, COMMIT, ATTACH, RELEASE, ABANDON, RENEW, LOOK, FORGET, PURGE, MARK_STUCK,
            CLOCK,
        ] {
            let text = text.to_lowercase();
            for clock in ["now()", "current_timestamp", "statement_timestamp", "localtimestamp"] {
                assert!(!text.contains(clock), "{text}");
            }
        }
    }
}
