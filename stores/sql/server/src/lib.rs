//! Real PostgreSQL and MariaDB servers for tests and benches: each listens on a free port of the
//! loopback address, keeps its files in a temporary folder, and is gone, with its files, when its
//! handle or its process is.
//!
//! The servers' programs must be installed (Debian: the packages `postgresql` and
//! `mariadb-server`); without them every start panics and says so, since a test that is skipped
//! unseen protects nothing. Neither has to run already, and one that does is left alone. Root
//! starts them as the users `postgres` and `mysql`, which those packages make: PostgreSQL refuses
//! to run as root. This crate is for tests: nothing that ships may depend on it.
//!
//! ```
//! let server = leasehold_sql_server::Postgres::start(&["-c", "fsync=off"]);
//! assert_eq!(server.ask("SELECT 1"), "1");
//! ```

#![forbid(unsafe_code)]

mod account;
mod keeper;
mod mariadb;
mod port;
mod postgres;
mod program;
mod server;

pub use mariadb::MariaDb;
pub use postgres::Postgres;
pub use server::Server;
