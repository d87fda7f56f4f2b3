//! The row of an address within a transaction, and what each verb makes of it: by [`crate::rules`],
//! as the transaction's earlier verbs have left it.
//!
//! No I/O and no clock here: the row and the time are given.

use std::sync::Arc;

use bytes::Bytes;

use super::row::{Row, STEP, Settings};
use crate::record::{Ask, Record, Status};
use crate::rules::{self, Found, Settling};

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

/// So long after, at least.
fn after(now: i64, span: i64) -> i64 {
    now.saturating_add(span).saturating_add(STEP)
}

fn fail(record: &mut Record, settings: &Settings, now: i64) {
    record.status = Status::Failed;
    record.outcome = None;
    record.expires = now;
    record.purge = now.saturating_add(settings.late_grace);
}
