//! The background thread: reclaims what has expired, and keeps the coarse clock fresh.
//!
//! Nothing depends on it: without it expired places are reclaimed by later calls, and calls read
//! the clock precisely. It must never keep a store alive.

use std::io;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Weak};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use crate::clock::UPKEEP_PERIOD;
use crate::memory::MemoryStore;

/// A thread that serves a store until this is dropped, or the store is.
#[derive(Debug)]
#[must_use = "the thread ends when this is dropped"]
pub struct Sweeper {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Sweeper {
    /// Sweeps the store every `interval`; no thread if that is zero.
    ///
    /// # Errors
    ///
    /// The system's, if it gives no thread. The store works without one.
    pub fn start(store: &Arc<MemoryStore>, interval: Duration) -> io::Result<Option<Self>> {
        if interval.is_zero() {
            return Ok(None);
        }
        let sweep = |store: &MemoryStore| {
            store.sweep_all();
        };
        Self::every(store, "leasehold-sweep", interval, sweep).map(Some)
    }

    /// Keeps the store's coarse clock fresh, so that answers to duplicates need not read the clock:
    /// some 15 ns each, for a thread that wakes 62 times a second. A lease may then end up to 16 ms
    /// later on read, never earlier.
    ///
    /// # Errors
    ///
    /// The system's, if it gives no thread. The store works without one.
    pub fn upkeep(store: &Arc<MemoryStore>) -> io::Result<Self> {
        let clock = store.clock().clone();
        // First, or the coarse reading would be as old as the last call until the thread's first.
        clock.precise();
        clock.begin_upkeep();
        let ends = EndUpkeep(clock);
        Self::every(store, "leasehold-clock", UPKEEP_PERIOD, move |_| {
            ends.0.precise();
        })
    }

    fn every(
        store: &Arc<MemoryStore>,
        name: &str,
        period: Duration,
        work: impl Fn(&MemoryStore) + Send + 'static,
    ) -> io::Result<Self> {
        let (stop, stopped) = channel();
        let store: Weak<MemoryStore> = Arc::downgrade(store);
        let run = move || {
            while stopped.recv_timeout(period) == Err(RecvTimeoutError::Timeout) {
                let Some(store) = store.upgrade() else { return };
                work(&store);
            }
        };
        let thread = Builder::new().name(name.to_owned()).spawn(run)?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

/// Ends an upkeep however its thread ends, and if it never began.
struct EndUpkeep(crate::clock::Clock);

impl Drop for EndUpkeep {
    fn drop(&mut self) {
        self.0.end_upkeep();
    }
}

impl Drop for Sweeper {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // It ends after the pass that it is in. A panic there has been reported by its thread.
            let _ = thread.join();
        }
    }
}
