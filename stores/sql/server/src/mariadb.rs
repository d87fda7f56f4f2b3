//! MariaDB: its files, its arguments, and who may connect.

use std::ffi::OsString;
use std::ops::Deref;
use std::path::PathBuf;

use crate::account::Account;
use crate::program::folder_of;
use crate::server::{Kind, Server, make_files};

const KIND: Kind = Kind {
    ready: "ready for connections",
    end: "TERM",
    last: "KILL",
    url: "mysql://root@127.0.0.1:{port}/test",
};

/// A MariaDB server of one's own.
#[derive(Debug)]
pub struct MariaDb(Server);

impl MariaDb {
    /// Starts a server with these arguments besides those that place it (`--name=value`), and
    /// waits until it takes connections.
    ///
    /// # Panics
    ///
    /// If MariaDB is not installed, or does not start.
    #[must_use]
    pub fn start(arguments: &[&str]) -> Self {
        Self::start_in_zone(arguments, "UTC0")
    }

    /// The same in a time zone, as the variable `TZ` names one; a rule like
    /// `CET-1CEST,M3.5.0,M10.5.0/3` needs no files of zones.
    ///
    /// # Panics
    ///
    /// If MariaDB is not installed, or does not start.
    #[must_use]
    pub fn start_in_zone(arguments: &[&str], zone: &str) -> Self {
        let program = |name: &str| {
            let folder = folder_of(name, &["/usr/local/sbin", "/usr/sbin"].map(PathBuf::from));
            folder.map(|folder| folder.join(name)).unwrap_or_else(|| {
                panic!(
                    "these tests need {name}, on the path or where Debian has it: install it \
                     (Debian: `mariadb-server`)"
                )
            })
        };
        let (server, install) = (program("mariadbd"), program("mariadb-install-db"));
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let account = Account::of("mysql", folder.path());
        let mut datadir = OsString::from("--datadir=");
        datadir.push(folder.path().join("data"));
        make_files(
            account
                .command(install)
                .args(["--no-defaults", "--skip-name-resolve"])
                .arg("--auth-root-authentication-method=normal")
                .arg(&datadir)
                .current_dir(folder.path()),
        );
        let command = |port: u16| {
            let zone = format!("TZ={zone}").into();
            let mut command: Vec<OsString> = vec!["env".into(), zone, server.clone().into()];
            command.extend(["--no-defaults".into(), datadir.clone()]);
            // No socket in the file system: its path might be too long for one.
            let placing = ["--bind-address=127.0.0.1", "--socket=", "--skip-name-resolve"];
            command.extend(placing.map(OsString::from));
            command.push(format!("--port={port}").into());
            command.extend(arguments.iter().map(OsString::from));
            command
        };
        let client = |port: u16| {
            let mut client: Vec<OsString> = vec![program("mariadb").into()];
            client.push("--no-defaults".into());
            client.push(format!("--port={port}").into());
            let arguments = ["--host=127.0.0.1", "--protocol=tcp", "--user=root", "--batch"];
            client.extend(arguments.map(OsString::from));
            client.extend(["--skip-column-names", "test", "--execute"].map(OsString::from));
            client
        };
        Self(Server::start(&KIND, account, folder, command, client))
    }
}

impl Deref for MariaDb {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.0
    }
}
