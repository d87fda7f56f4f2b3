//! MySQL's own statements, against MariaDB, which understands them: the laws of the contract hold
//! for them too. What a MySQL would answer otherwise, nothing here can tell.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use leasehold::Attempt;
use leasehold_conformance::Subject;
use leasehold_sql_server::MariaDb;
use tokio::time::Instant;

use super::connect::{options, records};
use super::product::Product;
use crate::config::{Dialect, SqlConfig};
use crate::store::SqlStore;

/// Far above the pauses of a busy machine, since a law must get its word in within it.
const LATE_GRACE: Duration = Duration::from_secs(4);

fn server() -> &'static MariaDb {
    static SERVER: OnceLock<MariaDb> = OnceLock::new();
    // A session of MySQL's waits for a lock where one of MariaDB's would not.
    SERVER.get_or_init(|| MariaDb::start(&["--max-connections=1000"]))
}

/// The store as it would be if the server were a MySQL.
fn as_mysql(config: &SqlConfig) -> Arc<SqlStore> {
    let (dialect, table) = config.check().expect("a valid configuration");
    assert_eq!(dialect, Dialect::MySql);
    let options = options(config, &table).expect("a valid URL");
    let records = Arc::new(records(options, config, &table, Product::MySql));
    Arc::new(SqlStore::over(records, dialect, table, config.cleanup_batch))
}

struct Shared {
    config: SqlConfig,
    store: Arc<SqlStore>,
    start: Instant,
}

impl Shared {
    async fn new() -> Self {
        let config = SqlConfig::new(server().url())
            .table(format!("r{:032x}", Attempt::random().to_bits()))
            .late_grace(LATE_GRACE)
            // Many laws at once on a busy machine.
            .store_timeout(Duration::from_secs(30));
        crate::migrate(&config).await.expect("the server answers");
        let store = as_mysql(&config);
        Self { config, store, start: Instant::now() }
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

    fn resolution(&self) -> Duration {
        Duration::from_millis(25)
    }

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

    async fn stranger(&self) -> Option<Arc<SqlStore>> {
        None
    }

    async fn restarted(&self) -> Arc<SqlStore> {
        as_mysql(&self.config)
    }
}

leasehold_conformance::laws_side_by_side!(Shared::new().await);
