//! Leases kept by a table of PostgreSQL, MySQL, MariaDB or SQLite: a record that survives restarts,
//! and whose unique index is the last word.
//!
//! [`SqlStore`] keeps the contract of [`leasehold::LeaseStore`]. No verb waits for a row's lock,
//! every decision is made under it by the database's clock, and every call ends within
//! [`SqlConfig::store_timeout`].
//!
//! Work that is rows of the same database is committed with its record, in the caller's own
//! transaction, by `SqlStore::guard_in` and `SqlStore::commit_in`. Where the work spans services,
//! [`run_with_hooks`] lets the record follow it.
//!
//! # Features
//!
//! | feature | adds | default |
//! |---|---|---|
//! | `postgres` | PostgreSQL | no |
//! | `mysql` | MySQL and MariaDB | no |
//! | `sqlite` | SQLite, which is compiled in | no |
//! | `tls` | connections by TLS, by rustls with the system's roots | yes |

#![forbid(unsafe_code)]
#![cfg_attr(
    not(any(feature = "postgres", feature = "mysql", feature = "sqlite")),
    expect(dead_code, reason = "without a database there is nobody to do it for")
)]

mod config;
mod failure;
mod hooks;
mod lines;
mod migration;
#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "postgres")]
mod postgres;
mod record;
mod records;
mod rules;
#[cfg(feature = "sqlite")]
mod sqlite;
mod store;
mod table;
#[cfg(any(feature = "postgres", feature = "mysql", feature = "sqlite"))]
mod transaction;
mod upkeep;

pub use config::{ConfigError, ConnectError, Dialect, SqlConfig};
pub use hooks::{CommitFailure, HookError, TransactionHooks, run_with_hooks};
pub use migration::{Migration, migrate, migrations};
pub use store::SqlStore;
pub use table::TableError;
#[cfg(any(feature = "postgres", feature = "mysql", feature = "sqlite"))]
pub use transaction::{CommitInError, Guard, GuardError, TransactionDatabase, is_conflict};
pub use upkeep::Upkeep;
