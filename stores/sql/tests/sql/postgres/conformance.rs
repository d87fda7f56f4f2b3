//! PostgreSQL keeps every law of the contract.

use std::sync::OnceLock;

use leasehold_sql::SqlConfig;

use crate::keys::config;
use crate::postgres::shared;
use crate::subject::Shared;

/// Each law has a store of its own, all of them one table, which the first to come makes.
fn laws() -> SqlConfig {
    static CONFIG: OnceLock<SqlConfig> = OnceLock::new();
    CONFIG.get_or_init(|| config(shared().url())).clone()
}

leasehold_conformance::laws_side_by_side!(Shared::new(laws()).await);
