//! A store for the laws. The clock is the database's, so time has to pass.

use std::sync::Arc;
use std::time::Duration;

use leasehold_conformance::Subject;
use leasehold_sql::{SqlConfig, SqlStore};
use tokio::time::Instant;

use crate::keys::connect;

/// Far above the pauses of a busy machine, since a law must get its word in within it.
const LATE_GRACE: Duration = Duration::from_secs(4);

/// One table for all laws, each of which picks addresses of its own.
pub(crate) struct Shared {
    config: SqlConfig,
    store: Arc<SqlStore>,
    start: Instant,
    /// The database's own files, if it has some.
    #[cfg(feature = "sqlite")]
    _files: Option<tempfile::TempDir>,
}

impl Shared {
    pub(crate) async fn new(config: SqlConfig) -> Self {
        let config = config.late_grace(LATE_GRACE);
        let store = Arc::new(connect(config.clone()).await);
        Self {
            config,
            store,
            start: Instant::now(),
            #[cfg(feature = "sqlite")]
            _files: None,
        }
    }

    /// Keeps a folder for as long as the law runs.
    #[cfg(feature = "sqlite")]
    pub(crate) fn keeping(mut self, files: tempfile::TempDir) -> Self {
        self._files = Some(files);
        self
    }
}

impl Subject for Shared {
    type Store = SqlStore;

    const RECOGNISES_ATTEMPTS: bool = true;

    fn store(&self) -> &Arc<SqlStore> {
        &self.store
    }

    fn late_grace(&self) -> Duration {
        LATE_GRACE
    }

    /// Two clocks' seconds differ a little, and SQLite's tells whole milliseconds.
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

    /// One cannot be told: a token and an address say nothing of the database.
    async fn stranger(&self) -> Option<Arc<SqlStore>> {
        None
    }

    async fn restarted(&self) -> Arc<SqlStore> {
        Arc::new(connect(self.config.clone()).await)
    }
}
