//! The connection that everybody uses, and its renewal.
//!
//! A connection that is known to be broken is replaced at once, by one dial whatever the number of
//! callers, which goes on when they are gone. The client library's own manager does not replace a
//! connection that has gone silent (a server that is stopped, a network that drops everything), so
//! this file does. It must never keep a caller longer than that caller waits.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared};
use redis::{ErrorKind, RedisError};
use tokio::time::Instant;

use crate::dial::{Connection, Dialer};

/// Shortest pause between a dial that failed and the next, during which calls fail at once.
/// Arbitrary: short beside what an operator notices, long beside what a dial costs.
const DIAL_PAUSE: Duration = Duration::from_millis(100);

/// A dial, under way or done.
type Dial = Shared<BoxFuture<'static, Result<Connection, RedisError>>>;

/// Which of the connections it is, counted from the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Generation(u64);

/// A connection that comes back. Clones share it.
#[derive(Clone)]
pub(crate) struct Link {
    shared: Arc<Line>,
}

struct Line {
    dialer: Arc<Dialer>,
    slot: Mutex<Slot>,
}

struct Slot {
    generation: Generation,
    dial: Dial,
    /// When the dial failed last, as far as somebody has seen it.
    failed: Option<Instant>,
    /// Whether a better connection to a cluster is being made beside this one.
    renewing: bool,
}

impl Link {
    /// Starts to connect.
    pub(crate) fn new(dialer: Arc<Dialer>) -> Self {
        let slot =
            Slot { generation: Generation(0), dial: start(&dialer), failed: None, renewing: false };
        Self { shared: Arc::new(Line { dialer, slot: Mutex::new(slot) }) }
    }

    /// The connection, once there is one.
    pub(crate) async fn connection(&self) -> Result<(Generation, Connection), RedisError> {
        let (generation, dial) = {
            let mut slot = self.slot();
            if slot.may_dial_again() {
                slot.replace(&self.shared.dialer);
            }
            (slot.generation, slot.dial.clone())
        };
        let answer = dial.await;
        if answer.is_err() {
            let mut slot = self.slot();
            if slot.generation == generation && slot.failed.is_none() {
                slot.failed = Some(Instant::now());
            }
        }
        Ok((generation, answer?))
    }

    /// Says that a connection is broken, or that it leads to the wrong server.
    pub(crate) fn broken(&self, generation: Generation, error: &RedisError) {
        let mut slot = self.slot();
        if slot.generation == generation {
            tracing::warn!(server = %self.shared.dialer.name, %error, "redis connection lost");
            slot.replace(&self.shared.dialer);
        }
    }

    /// Says that no answer came in so long. What is on its way over the old connection may still
    /// arrive; what is asked from now on takes a new one. Of a caller who had little time left, an
    /// answer was not to be expected.
    pub(crate) fn silent(&self, generation: Generation, connection: &Connection, since: Duration) {
        if since < self.shared.dialer.patience {
            return;
        }
        match connection {
            Connection::One(_) => {
                let mut slot = self.slot();
                if slot.generation == generation {
                    tracing::warn!(server = %self.shared.dialer.name, "redis does not answer");
                    slot.replace(&self.shared.dialer);
                }
            }
            Connection::Cluster(_) => self.renew_beside(generation),
        }
    }

    /// Has a cluster's connection made anew. The old one serves its other nodes meanwhile, so it
    /// stays until the new one is there.
    pub(crate) fn renew_beside(&self, generation: Generation) {
        let mut slot = self.slot();
        if slot.generation == generation && !slot.renewing {
            tracing::warn!(server = %self.shared.dialer.name, "a redis node does not answer");
            slot.renewing = true;
            tokio::spawn(self.clone().renew(generation));
        }
    }

    /// Makes a new connection, and takes it if the old one is still in use.
    async fn renew(self, generation: Generation) {
        let dial = start(&self.shared.dialer);
        let made = dial.clone().await.is_ok();
        let mut slot = self.slot();
        if slot.generation == generation {
            slot.renewing = false;
            if made {
                slot.take(dial);
            }
        }
    }

    fn slot(&self) -> MutexGuard<'_, Slot> {
        self.shared.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    fn may_dial_again(&self) -> bool {
        self.failed.is_some_and(|failed| failed.elapsed() >= DIAL_PAUSE)
    }

    fn replace(&mut self, dialer: &Arc<Dialer>) {
        self.take(start(dialer));
    }

    fn take(&mut self, dial: Dial) {
        let next = Generation(self.generation.0 + 1);
        *self = Self { generation: next, dial, failed: None, renewing: false };
    }
}

/// Dials in a task of its own, so that a caller who gives up does not end it.
fn start(dialer: &Arc<Dialer>) -> Dial {
    let dialer = Arc::clone(dialer);
    let dial = async move {
        let mut answer = dialer.dial().await;
        if answer.as_ref().is_err_and(is_cut) {
            answer = dialer.dial().await;
        }
        match &answer {
            Ok(_) => tracing::info!(server = %dialer.name, "connected to redis"),
            Err(error) => {
                tracing::warn!(server = %dialer.name, %error, "cannot connect to redis");
            }
        }
        answer
    };
    let dial = dial.boxed().shared();
    tokio::spawn(dial.clone());
    dial
}

/// Whether a connection ended while it said who it is: the server was there a moment ago.
fn is_cut(error: &RedisError) -> bool {
    error.kind() == ErrorKind::Parse
        || (error.is_connection_dropped() && !error.is_connection_refusal())
}
