//! The databases that a case runs on, one after the other, each with a table of the case's own.

use std::path::PathBuf;
use std::sync::OnceLock;

use leasehold_sql_server::{MariaDb, Postgres, Server};

use super::next_number;
use super::shared::on;

/// A table of a database that nobody else uses. Its server is everybody's, so it is left alone.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) url: String,
    pub(super) name: String,
    server: Option<&'static Server>,
    file: Option<PathBuf>,
}

impl Table {
    /// One on each database.
    pub(super) fn each() -> [Self; 3] {
        [Self::of(postgres()), Self::of(mariadb()), Self::sqlite()]
    }

    /// One on each server.
    pub(super) fn each_on_a_server() -> [Self; 2] {
        [Self::of(postgres()), Self::of(mariadb())]
    }

    fn of(server: &'static Server) -> Self {
        Self { url: server.url(), name: new_name(), server: Some(server), file: None }
    }

    fn sqlite() -> Self {
        let name = format!("gateway-{}-{}.db", std::process::id(), next_number());
        let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        let url = format!("sqlite:{}", file.display());
        Self { url, name: new_name(), server: None, file: Some(file) }
    }

    /// The server, if it is on one.
    pub(super) fn server(&self) -> &'static Server {
        self.server.expect("a table on a server")
    }

    /// The file, if it is in one.
    pub(super) fn file(&self) -> Option<&PathBuf> {
        self.file.as_ref()
    }

    /// Lines of settings for a gateway that makes the table. The time limit is long: a busy machine
    /// is no fault.
    pub(super) fn settings(&self, more: &str) -> String {
        self.bare_settings(&format!("auto-migrate = true\nstore-timeout = \"10s\"\n{more}"))
    }

    /// The same for one that is told nothing of migrations.
    pub(super) fn bare_settings(&self, more: &str) -> String {
        on(&self.url, &format!("table = \"{}\"\n{more}", self.name))
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        let Some(file) = &self.file else {
            return;
        };
        for suffix in ["", "-wal", "-shm"] {
            let mut file = file.clone().into_os_string();
            file.push(suffix);
            // Which of them there are is the database's business.
            let _absent = std::fs::remove_file(file);
        }
    }
}

fn new_name() -> String {
    format!("records_{}", next_number())
}

fn postgres() -> &'static Server {
    static SERVER: OnceLock<Postgres> = OnceLock::new();
    SERVER.get_or_init(|| Postgres::start(&["-c", "fsync=off"]))
}

fn mariadb() -> &'static Server {
    static SERVER: OnceLock<MariaDb> = OnceLock::new();
    SERVER.get_or_init(|| MariaDb::start(&["--innodb-flush-log-at-trx-commit=0"]))
}
