//! MariaDB keeps every law of the contract, whatever its settings are.

use std::sync::OnceLock;

use leasehold_sql::SqlConfig;
use leasehold_sql_server::MariaDb;

use crate::keys::config;
use crate::mysql::shared;
use crate::subject::Shared;

/// Each law has a store of its own, all of them one table, which the first to come makes.
fn laws() -> SqlConfig {
    static CONFIG: OnceLock<SqlConfig> = OnceLock::new();
    CONFIG.get_or_init(|| config(shared().url())).clone()
}

/// A server whose settings turn around what statements mean: names in double quotes, assignments at
/// once, transactions that begin and go on by themselves and are undone whole by a lock, a clock
/// that stands still within a statement, another time.
fn strange() -> &'static MariaDb {
    static SERVER: OnceLock<MariaDb> = OnceLock::new();
    SERVER.get_or_init(|| {
        MariaDb::start(&[
            "--max-connections=1000",
            "--innodb-flush-log-at-trx-commit=0",
            "--sql-mode=ORACLE,ANSI_QUOTES,NO_BACKSLASH_ESCAPES,SIMULTANEOUS_ASSIGNMENT",
            "--autocommit=0",
            "--completion-type=CHAIN",
            "--transaction-isolation=SERIALIZABLE",
            "--innodb-rollback-on-timeout=ON",
            "--sysdate-is-now",
            "--default-time-zone=+05:30",
        ])
    })
}

fn strange_laws() -> SqlConfig {
    static CONFIG: OnceLock<SqlConfig> = OnceLock::new();
    CONFIG.get_or_init(|| config(strange().url())).clone()
}

mod usual_settings {
    use super::{Shared, laws};

    leasehold_conformance::laws_side_by_side!(Shared::new(laws()).await);
}

mod strange_settings {
    use super::{Shared, strange_laws};

    leasehold_conformance::laws_side_by_side!(Shared::new(strange_laws()).await);
}
