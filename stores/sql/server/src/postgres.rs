//! PostgreSQL: its files, its arguments, and who may connect.

use std::ffi::OsString;
use std::ops::Deref;
use std::path::Path;

use crate::account::Account;
use crate::program::{folder_of, numbered};
use crate::server::{Kind, Server, make_files};

const KIND: Kind = Kind {
    ready: "database system is ready to accept connections",
    end: "INT",
    last: "QUIT",
    url: "postgres://postgres@127.0.0.1:{port}/postgres",
};

/// The user `postgres` needs no password, everybody else does.
const ACCESS: &str = "host all postgres 127.0.0.1/32 trust\n\
                      host all all 127.0.0.1/32 scram-sha-256\n\
                      host replication all 127.0.0.1/32 trust\n";

/// A PostgreSQL server of one's own.
#[derive(Debug)]
pub struct Postgres(Server);

impl Postgres {
    /// Starts a server with these arguments besides those that place it (`-c name=value`), and
    /// waits until it takes connections. It writes to disk as a server must; what a test does not
    /// ask of it, `-c fsync=off` saves.
    ///
    /// # Panics
    ///
    /// If PostgreSQL is not installed, or does not start.
    #[must_use]
    pub fn start(arguments: &[&str]) -> Self {
        let programs = folder_of("initdb", &numbered(Path::new("/usr/lib/postgresql"))).expect(
            "these tests need initdb and postgres, on the path or where Debian has them: install \
             them (Debian: `postgresql`)",
        );
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let account = Account::of("postgres", folder.path());
        let data = folder.path().join("data");
        make_files(
            account
                .command(programs.join("initdb"))
                .args(["--no-sync", "--auth=trust", "--username=postgres"])
                .args(["--encoding=UTF8", "--locale=C", "--pgdata"])
                .arg(&data)
                .current_dir(folder.path()),
        );
        std::fs::write(data.join("pg_hba.conf"), ACCESS).expect("the files were made just now");
        let command = |port: u16| {
            let mut command: Vec<OsString> = vec![programs.join("postgres").into(), "-D".into()];
            command.push(data.clone().into());
            command.extend(["-p".into(), port.to_string().into()]);
            let placing = ["listen_addresses=127.0.0.1", "unix_socket_directories="];
            command.extend(placing.into_iter().flat_map(|one| ["-c".into(), one.into()]));
            command.extend(arguments.iter().map(OsString::from));
            command
        };
        let client = |port: u16| {
            let url = KIND.url.replace("{port}", &port.to_string());
            let arguments = ["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", &url, "-c"];
            let mut client: Vec<OsString> = vec![programs.join("psql").into()];
            client.extend(arguments.map(OsString::from));
            client
        };
        Self(Server::start(&KIND, account, folder, command, client))
    }
}

impl Deref for Postgres {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.0
    }
}
