//! From checked keys to what an SQL store is built from.

use leasehold::Namespace;
use leasehold_sql::{Dialect, SqlConfig};

use super::error::ConfigError;
use super::secret::StoreKind;
use super::{Config, STORE, TABLE};

impl Config {
    /// The settings of an SQL store, if that is the store.
    pub(crate) fn sql(&self) -> Option<SqlConfig> {
        (self.store.store.kind() == Ok(StoreKind::Sql)).then(|| {
            let namespace = match self.policy.namespace.as_str() {
                "" => Namespace::default().as_str().to_owned(),
                name => name.to_owned(),
            };
            SqlConfig::new(self.store.store.reveal())
                .table(&self.store.table)
                .namespace(namespace)
                .late_grace(self.late_grace())
                .store_timeout(self.longest_store_timeout())
                .connections(self.store.connections)
                .auto_migrate(self.auto_migrate())
                .cleanup_batch(self.store.cleanup_batch)
                .stuck_retention(self.store.stuck_retention.0)
        })
    }

    /// Whether a start makes the table: unless it is said, only where the database is this
    /// gateway's own.
    fn auto_migrate(&self) -> bool {
        let is_own = || SqlConfig::new(self.store.store.reveal()).dialect() == Ok(Dialect::Sqlite);
        self.store.auto_migrate.unwrap_or_else(is_own)
    }
}

/// A refusal of the SQL store's settings, by the name of their key.
pub(crate) fn sql_refusal(error: &leasehold_sql::ConfigError) -> ConfigError {
    use leasehold_sql::ConfigError as Sql;
    let key = match error {
        Sql::Table(_) | Sql::Schema => TABLE,
        Sql::Namespace => "idempotency.namespace",
        Sql::LateGrace => "idempotency.late-grace",
        Sql::StoreTimeout => "idempotency.store-timeout",
        Sql::Connections => "idempotency.connections",
        Sql::CleanupBatch => "idempotency.cleanup-batch",
        Sql::StuckRetention => "idempotency.stuck-retention",
        _ => STORE,
    };
    ConfigError::new(key, error)
}
