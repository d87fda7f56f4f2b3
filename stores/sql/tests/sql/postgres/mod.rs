//! Records in PostgreSQL.

mod access;
mod clocks;
mod conflicts;
mod conformance;
mod dropped;
mod faults;
mod locks;
mod migration;
#[cfg(feature = "tls")]
mod tls;
mod upkeep;

use std::sync::OnceLock;

use leasehold_sql_server::Postgres;

/// One server for all tests that do it no harm; each takes a table of its own.
fn shared() -> &'static Postgres {
    static SERVER: OnceLock<Postgres> = OnceLock::new();
    SERVER.get_or_init(|| Postgres::start(&["-c", "fsync=off", "-c", "max_connections=1000"]))
}

/// A server of one's own. Its processes may be killed, but not its machine: so it need not wait for
/// the disk.
fn server() -> Postgres {
    Postgres::start(&["-c", "fsync=off"])
}

/// The shared server's URL, with the name by which a test finds its own connections.
fn url_as(name: &str) -> String {
    format!("{}?application_name={name}", shared().url())
}
