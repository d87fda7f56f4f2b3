//! Verbs that count only once enough replicas have them.
//!
//! `WAIT` holds its connection until the replicas have answered, and speaks of what that same
//! connection has written. So these verbs have connections of their own, each for one call at a
//! time; they must never share the one that everybody uses.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

use crate::dial::Dialer;
use crate::failure::Failure;
use crate::reply::{Reply, Word};
use crate::session::{Call, Session};

/// Connections for acknowledged verbs.
pub(crate) struct Replicas {
    wanted: usize,
    free: Mutex<Vec<Session>>,
    /// As many permits as there are sessions: who has one finds one.
    permits: Semaphore,
}

impl Replicas {
    pub(crate) fn new(dialer: &Arc<Dialer>, wanted: usize, connections: usize) -> Self {
        let free = (0..connections).map(|_| Session::new(Arc::clone(dialer))).collect();
        Self { wanted, free: Mutex::new(free), permits: Semaphore::new(connections) }
    }

    /// Calls a script; if it has granted or done something, waits for the replicas.
    pub(crate) async fn call(&self, call: &Call<'_>, until: Instant) -> Result<Reply, Failure> {
        let _permit = match timeout_at(until, self.permits.acquire()).await {
            Ok(Ok(permit)) => permit,
            _ => return Err(Failure::unconnected()),
        };
        let session = Loan::new(self)?;
        let (reply, mut line) = session.get().call_on(call, until).await?;
        if matches!(reply.word, Word::Granted | Word::Done) {
            let left = until.saturating_duration_since(Instant::now());
            // The server gives up before the caller does, so that the reply still comes.
            let patience = left - left / 4;
            let acknowledged = line.wait(call.key, self.wanted, patience, until).await;
            // The server itself has it, whatever became of the waiting.
            let acknowledged = acknowledged.map_err(Failure::after_a_write)?;
            if acknowledged < self.wanted as u64 {
                return Err(Failure::unacknowledged(acknowledged, self.wanted));
            }
        }
        Ok(reply)
    }

    fn free(&self) -> std::sync::MutexGuard<'_, Vec<Session>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A session that goes back when its user is done, or dropped.
struct Loan<'a> {
    pool: &'a Replicas,
    session: Session,
}

impl<'a> Loan<'a> {
    fn new(pool: &'a Replicas) -> Result<Self, Failure> {
        let session = pool.free().pop().ok_or_else(Failure::unconnected)?;
        Ok(Self { pool, session })
    }

    const fn get(&self) -> &Session {
        &self.session
    }
}

impl Drop for Loan<'_> {
    fn drop(&mut self) {
        self.pool.free().push(self.session.clone());
    }
}
