//! Acquire: inserts a new key, reads what is there otherwise, and takes over only what it has seen
//! to be free.
//!
//! Most keys are new, and an insert that finds a row changes nothing. On MariaDB it waits for
//! nobody either, so there it comes first. MySQL's would wait behind an open transaction that has
//! the row, so there a key is read first.

use std::sync::Arc;

use sqlx::mysql::{MySqlConnection, MySqlQueryResult};
use tokio::time::sleep;

use super::batch::one;
use super::error::{is_duplicate, read};
use super::product::Product;
use super::row::seen;
use super::statement::{Statements, query};
use super::transaction::write;
use super::verbs::MySqlRecords;
use crate::failure::Failure;
use crate::lines::{LOCK_PAUSE, Repeat};
use crate::record::{Ask, Digest};
use crate::rules::{self, Found};

/// How often a key is looked at that is free, but locked or written by somebody else meanwhile. The
/// pauses between double, 75 ms in all: a row that a purge's batch holds is free before the last,
/// also on a busy machine, and a caller's open transaction is told as in flight after them.
/// Arbitrary within that.
const TURNS: u32 = 5;

impl MySqlRecords {
    pub(super) async fn acquire(&self, digest: Digest, ask: Ask) -> Result<Found, Failure> {
        let until = self.lines.deadline();
        let grant = Arc::new(Grant {
            statements: Arc::clone(&self.statements),
            namespace: Arc::clone(&self.namespace),
            late_grace: self.late_grace,
            digest,
            ask,
        });
        // A rival who was faster is seen by the next turn; a row that is locked through all of them
        // is somebody's who works with it. No connection is kept from others in the pauses.
        for turn in 0..TURNS {
            if turn > 0 {
                sleep(LOCK_PAUSE * (1 << (turn - 1))).await;
            }
            let grant = Arc::clone(&grant);
            let call = self.lines.call_until(until, Repeat::Harmless, move |line| {
                let grant = Arc::clone(&grant);
                Box::pin(async move { grant.turn(line).await })
            });
            if let Some(found) = call.await? {
                return Ok(found);
            }
        }
        // How long it stays locked is not known.
        Ok(Found::InFlight { remaining: ask.lease_ttl })
    }
}

/// What a turn needs to know.
struct Grant {
    statements: Arc<Statements>,
    namespace: Arc<str>,
    late_grace: i64,
    digest: Digest,
    ask: Ask,
}

impl Grant {
    /// Grants, or finds something live. `None` if a rival was faster, or has the row locked.
    async fn turn(&self, line: &mut MySqlConnection) -> Result<Option<Found>, Failure> {
        if self.statements.product == Product::MariaDb {
            match self.insert(line).await {
                Ok(Some(token)) => return Ok(Some(Found::Free { token })),
                // What is there, locked or not, can be read.
                Ok(None) | Err(Failure::Locked(_)) => {}
                Err(failure) => return Err(failure),
            }
        }
        let seen = seen(line, &self.statements.read, &self.digest).await?;
        let found = match &seen {
            Some((record, now)) => rules::acquire(Some(record), &self.ask, *now),
            None => rules::acquire(None, &self.ask, 0),
        };
        if !matches!(found, Found::Free { .. }) {
            return Ok(Some(found));
        }
        let written = match &seen {
            Some((record, _)) => self.take(line, record.token).await,
            None => self.insert(line).await,
        };
        match written {
            Ok(token) => Ok(token.map(|token| Found::Free { token })),
            Err(Failure::Locked(_)) => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// Writes a row where there was none. `None` if another was faster.
    async fn insert(&self, line: &mut MySqlConnection) -> Result<Option<u64>, Failure> {
        let insert = query(&self.statements.insert)
            .bind(self.digest.as_slice())
            .bind(&*self.namespace)
            .bind(self.ask.attempt.as_slice())
            .bind(self.ask.fingerprint.as_ref().map(<[u8; 32]>::as_slice))
            .bind(self.ask.lease_ttl)
            .bind(self.late_grace);
        match insert.execute(&mut *line).await {
            Ok(done) => self.token(line, &done).await,
            Err(error) if is_duplicate(&error) => Ok(None),
            Err(error) => Err(read(error)),
        }
    }

    /// Takes a row over whose last token was `last`. `None` if another was faster.
    async fn take(&self, line: &mut MySqlConnection, last: u64) -> Result<Option<u64>, Failure> {
        let grant = query(&self.statements.grant)
            .bind(&*self.namespace)
            .bind(self.ask.attempt.as_slice())
            .bind(self.ask.fingerprint.as_ref().map(<[u8; 32]>::as_slice))
            .bind(self.ask.lease_ttl)
            .bind(self.late_grace)
            .bind(self.digest.as_slice())
            .bind(last);
        let done = write(&mut *line, &self.statements, &self.digest, grant).await?;
        self.token(line, &done).await
    }

    /// The token that was written, if a row was.
    async fn token(
        &self,
        line: &mut MySqlConnection,
        done: &MySqlQueryResult,
    ) -> Result<Option<u64>, Failure> {
        if done.rows_affected() == 0 {
            return Ok(None);
        }
        if done.last_insert_id() != 0 {
            return Ok(Some(done.last_insert_id()));
        }
        let token = one(line, &self.statements.token).await?;
        u64::try_from(token).map(Some).map_err(|_| Failure::corrupt())
    }
}
