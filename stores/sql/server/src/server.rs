//! One server of either kind, which can be paused, stopped, killed and started again on the same
//! port and with the same files.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

use crate::account::Account;
use crate::keeper::Keeper;
use crate::port::free_port;

/// Starts that are tried: another process may take a free port first, which is rare; and the
/// processes of a server that was killed may hold its memory for a moment.
const TRIES: usize = 10;

/// Pause before a killed server is started once more. Arbitrary.
const PAUSE: Duration = Duration::from_millis(50);

/// What the kinds of servers differ in.
#[derive(Debug)]
pub(crate) struct Kind {
    /// What it logs when it takes connections.
    pub(crate) ready: &'static str,
    /// The signal that lets it end in order, without waiting for clients.
    pub(crate) end: &'static str,
    /// The signal that ends it at once and all of its processes with it.
    pub(crate) last: &'static str,
    /// The URL, with `{port}`.
    pub(crate) url: &'static str,
}

/// An SQL server of one's own. Dropping it kills it and removes its files.
#[derive(Debug)]
pub struct Server {
    kind: &'static Kind,
    port: u16,
    account: Account,
    command: Vec<OsString>,
    /// The command-line client with what it takes before a statement.
    client: Vec<OsString>,
    keeper: Mutex<Option<Keeper>>,
    folder: TempDir,
}

impl Server {
    /// Starts one whose files are made already. `command` and `client` are told the port.
    pub(crate) fn start(
        kind: &'static Kind,
        account: Account,
        folder: TempDir,
        command: impl Fn(u16) -> Vec<OsString>,
        client: impl Fn(u16) -> Vec<OsString>,
    ) -> Self {
        let mut refusals = Vec::new();
        for _ in 0..TRIES {
            let port = free_port();
            let command = command(port);
            match Keeper::start(account, folder.path(), &command, kind) {
                Ok(keeper) => {
                    let (client, keeper) = (client(port), Mutex::new(Some(keeper)));
                    return Self { kind, port, account, command, client, keeper, folder };
                }
                Err(log) => refusals.push(log),
            }
        }
        panic!("the server does not start:\n{}", refusals.join("\n"));
    }

    /// The port on the loopback address.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Its URL, with a user who may do everything and has no password, and with an empty database.
    #[must_use]
    pub fn url(&self) -> String {
        self.kind.url.replace("{port}", &self.port.to_string())
    }

    /// The folder of its files.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Runs statements by the server's own client, and gives its output: a line a row, the columns
    /// apart by `|` (PostgreSQL) or a tab (MariaDB).
    ///
    /// # Panics
    ///
    /// If the server does not answer, or refuses one.
    pub fn ask(&self, statements: &str) -> String {
        let (program, arguments) = self.client.split_first().expect("a client has a name");
        let output = Command::new(program)
            .args(arguments)
            .arg(statements)
            .output()
            .unwrap_or_else(|error| panic!("{} does not start: {error}", program.display()));
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{statements}: {errors}");
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    /// Stops all of the server's processes where they are, as a debugger would, and returns once
    /// they stand still; its sockets stay open.
    ///
    /// # Panics
    ///
    /// If the server does not run.
    pub fn pause(&self) {
        self.running().as_mut().expect("the server runs").order("PAUSE");
    }

    /// Lets a paused server go on.
    ///
    /// # Panics
    ///
    /// If the server does not run.
    pub fn resume(&self) {
        self.running().as_mut().expect("the server runs").order("RESUME");
    }

    /// Kills all of the server's processes without a word.
    ///
    /// # Panics
    ///
    /// If the server does not run.
    pub fn kill(&self) {
        self.running().take().expect("the server runs").order("KILL");
    }

    /// Ends the server in order: it says goodbye to its clients and writes everything down.
    ///
    /// # Panics
    ///
    /// If the server does not run.
    pub fn stop(&self) {
        self.running().take().expect("the server runs").order(self.kind.end);
    }

    /// Starts a server again that was killed or stopped, on the same port and with the same files,
    /// and waits until it takes connections.
    ///
    /// # Panics
    ///
    /// If it does not start.
    pub fn start_again(&self) {
        let mut refusals = Vec::new();
        for _ in 0..TRIES {
            match Keeper::start(self.account, self.folder.path(), &self.command, self.kind) {
                Ok(keeper) => {
                    *self.running() = Some(keeper);
                    return;
                }
                Err(log) => refusals.push(log),
            }
            thread::sleep(PAUSE);
        }
        panic!("the server does not start again:\n{}", refusals.join("\n"));
    }

    fn running(&self) -> MutexGuard<'_, Option<Keeper>> {
        self.keeper.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs a program that makes a server's files.
///
/// # Panics
///
/// If it fails, with what it says.
pub(crate) fn make_files(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let told = [&output.stdout[..], &output.stderr[..]].map(String::from_utf8_lossy).concat();
    assert!(output.status.success(), "{command:?}: {told}");
}
