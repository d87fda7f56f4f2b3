//! The memory store keeps every law of the contract, in each of its shapes.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use leasehold::{Clock, ManualClock, MemoryConfig, MemoryStore};
use leasehold_conformance::Subject;

const LATE_GRACE: Duration = Duration::from_secs(30);

/// A memory store whose clock is moved by hand.
struct Memory {
    config: MemoryConfig,
    store: Arc<MemoryStore>,
    clock: ManualClock,
    elapsed: Mutex<Duration>,
}

impl Memory {
    /// A store of a few entries, so that laws about the bound fill it quickly.
    fn new() -> Self {
        Self::with(|config| config)
    }

    fn with(change: impl FnOnce(MemoryConfig) -> MemoryConfig) -> Self {
        let few =
            MemoryConfig::default().max_entries(9).late_grace(LATE_GRACE).max_outcome_bytes(4096);
        Self::of(change(few))
    }

    fn of(config: MemoryConfig) -> Self {
        let (clock, hand) = Clock::manual();
        let store = MemoryStore::with_clock(config.clone(), clock).expect("a valid configuration");
        Self { config, store: Arc::new(store), clock: hand, elapsed: Mutex::default() }
    }
}

impl Subject for Memory {
    type Store = MemoryStore;

    /// It loses no replies.
    const RECOGNISES_ATTEMPTS: bool = false;

    fn store(&self) -> &Arc<MemoryStore> {
        &self.store
    }

    fn late_grace(&self) -> Duration {
        self.config.late_grace
    }

    fn resolution(&self) -> Duration {
        Duration::from_millis(64)
    }

    fn short_ttl(&self) -> Duration {
        Duration::from_secs(10)
    }

    fn max_entries(&self) -> Option<usize> {
        Some(self.config.max_entries)
    }

    /// Due records are found by buckets, which hold a place a second or a thousandth longer.
    fn place_lag(&self, ttl: Duration) -> Duration {
        Duration::from_secs(1).max(ttl / 1000) + self.resolution()
    }

    fn max_outcome_bytes(&self) -> Option<usize> {
        Some(self.config.max_outcome_bytes)
    }

    fn elapsed(&self) -> Duration {
        *self.elapsed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn advance(&self, by: Duration) {
        *self.elapsed.lock().unwrap_or_else(PoisonError::into_inner) += by;
        self.clock.advance(by);
    }

    async fn stranger(&self) -> Option<Arc<MemoryStore>> {
        Some(Self::of(self.config.clone()).store)
    }

    /// A new store, which knows nothing of the old but by the wall clock: no process restarts
    /// within the few milliseconds that its tokens are seeded by.
    async fn restarted(&self) -> Arc<MemoryStore> {
        tokio::time::sleep(Duration::from_millis(5)).await;
        Self::of(self.config.clone()).store
    }
}

mod few_entries {
    use super::Memory;

    leasehold_conformance::laws!(Memory::new());
}

mod one_entry {
    use super::Memory;

    leasehold_conformance::laws!(Memory::with(|config| config.max_entries(1)));
}

mod many_entries {
    use super::Memory;

    leasehold_conformance::laws!(Memory::with(|config| config.max_entries(1000)));
}

mod no_outcomes {
    use super::Memory;

    leasehold_conformance::laws!(Memory::with(|config| config.max_outcome_bytes(0)));
}

mod no_grace {
    use super::Memory;

    leasehold_conformance::laws!(Memory::with(
        |config| config.late_grace(std::time::Duration::ZERO)
    ));
}
