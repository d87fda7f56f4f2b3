//! SQLite keeps every law of the contract. The clock is the host's, so time has to pass.

use std::sync::Arc;
use std::time::Duration;

use leasehold_conformance::Subject;
use leasehold_sql::SqlStore;
use tokio::time::Instant;

use super::keys::{File, config, connect};

/// Far above the pauses of a busy machine, since a law must get its word in within it.
const LATE_GRACE: Duration = Duration::from_secs(4);

struct OneFile {
    file: File,
    store: Arc<SqlStore>,
    start: Instant,
}

impl OneFile {
    async fn new() -> Self {
        let file = File::new();
        let store = Self::open(&file).await;
        Self { file, store, start: Instant::now() }
    }

    async fn open(file: &File) -> Arc<SqlStore> {
        Arc::new(connect(config(&file.path()).late_grace(LATE_GRACE)).await)
    }
}

impl Subject for OneFile {
    type Store = SqlStore;

    const RECOGNISES_ATTEMPTS: bool = true;

    fn store(&self) -> &Arc<SqlStore> {
        &self.store
    }

    fn late_grace(&self) -> Duration {
        LATE_GRACE
    }

    /// SQLite's clock tells whole milliseconds, and deadlines get one more; two clocks' seconds
    /// differ a little.
    fn resolution(&self) -> Duration {
        Duration::from_millis(25)
    }

    /// Some laws have to ask once more before it is over.
    fn short_ttl(&self) -> Duration {
        Duration::from_millis(800)
    }

    fn max_entries(&self) -> Option<usize> {
        None
    }

    fn place_lag(&self, _: Duration) -> Duration {
        self.resolution()
    }

    fn max_outcome_bytes(&self) -> Option<usize> {
        None
    }

    fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    async fn advance(&self, by: Duration) {
        tokio::time::sleep(by).await;
    }

    /// One cannot be told: a token and an address say nothing of the file.
    async fn stranger(&self) -> Option<Arc<SqlStore>> {
        None
    }

    async fn restarted(&self) -> Arc<SqlStore> {
        Self::open(&self.file).await
    }
}

leasehold_conformance::laws_side_by_side!(OneFile::new().await);
