//! One server, which can be frozen, killed and started again on the same port.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::TempDir;

use crate::keeper::Keeper;
use crate::port::free_port;
use crate::program::assert_is_installed;
use crate::wire;

/// Ports that are tried: another process may take a free one first, which is rare.
const TRIES: usize = 10;

/// A Redis server of one's own. Dropping it kills it and removes its files.
#[derive(Debug)]
pub struct Server {
    port: u16,
    arguments: Vec<String>,
    keeper: Mutex<Option<Keeper>>,
    folder: TempDir,
}

impl Server {
    /// Starts a server with these arguments besides those that place it, and waits until it takes
    /// commands.
    ///
    /// # Panics
    ///
    /// If there is no `redis-server`, or it does not start.
    #[must_use]
    pub fn start(arguments: &[&str]) -> Self {
        Self::start_with(|_, _| arguments.iter().map(|one| (*one).to_owned()).collect())
    }

    /// The same, with arguments that depend on the port and on the server's folder. The first may
    /// be a configuration file.
    ///
    /// # Panics
    ///
    /// If there is no `redis-server`, or it does not start.
    #[must_use]
    pub fn start_with(arguments: impl Fn(u16, &Path) -> Vec<String>) -> Self {
        assert_is_installed();
        first_start(|| {
            let folder = tempfile::tempdir().expect("a temporary folder can be made");
            let port = free_port();
            let mut all = arguments(port, folder.path());
            // The name of a configuration file comes before everything else.
            let at = usize::from(all.first().is_some_and(|first| !first.starts_with("--")));
            all.splice(at..at, placing(port, folder.path()));
            let keeper = Mutex::new(Some(Keeper::start(&all)?));
            Ok(Self { port, arguments: all, keeper, folder })
        })
    }

    /// The port on the loopback address.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// The folder of its files.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Its URL, without user or database.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Sends one command on a connection of its own, and gives the reply as text.
    ///
    /// # Panics
    ///
    /// If the server does not answer.
    pub fn ask(&self, command: &[&str]) -> String {
        self.try_ask(command)
            .unwrap_or_else(|error| panic!("{command:?} was not answered: {error}"))
    }

    /// The same, of a server that may be down or close its connections just now.
    ///
    /// # Errors
    ///
    /// What the connection ended with.
    pub fn try_ask(&self, command: &[&str]) -> std::io::Result<String> {
        wire::ask(self.port, command)
    }

    /// Stops the server's process where it is, as a debugger would; its sockets stay open.
    ///
    /// # Panics
    ///
    /// If the server was killed.
    pub fn freeze(&self) {
        self.signal("STOP");
    }

    /// Lets a frozen server go on.
    ///
    /// # Panics
    ///
    /// If the server was killed.
    pub fn thaw(&self) {
        self.signal("CONT");
    }

    /// Kills the server without a word; what it has not written is lost.
    ///
    /// # Panics
    ///
    /// If the server was killed before.
    pub fn kill(&self) {
        self.signal("KILL");
        drop(self.keeper().take());
    }

    /// Starts a killed server again, on the same port and with the same files.
    ///
    /// # Panics
    ///
    /// If it does not start.
    pub fn start_again(&self) {
        let keeper = first_start(|| Keeper::start(&self.arguments));
        *self.keeper() = Some(keeper);
    }

    fn signal(&self, name: &str) {
        self.keeper().as_mut().expect("the server runs").signal(name);
    }

    fn keeper(&self) -> MutexGuard<'_, Option<Keeper>> {
        self.keeper.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the first start gives that succeeds.
///
/// # Panics
///
/// If none does, with what all of them have logged.
fn first_start<T>(mut start: impl FnMut() -> Result<T, String>) -> T {
    let mut refusals = Vec::new();
    for _ in 0..TRIES {
        match start() {
            Ok(started) => return started,
            Err(log) => refusals.push(log),
        }
    }
    panic!("redis-server does not start:\n{}", refusals.join("\n"));
}

/// Where it listens, and where its files go. Nothing is written to disk unless arguments say so.
fn placing(port: u16, folder: &Path) -> Vec<String> {
    let port = port.to_string();
    let folder = folder.display().to_string();
    let pairs = [
        ("--port", port.as_str()),
        ("--bind", "127.0.0.1"),
        ("--dir", folder.as_str()),
        ("--save", ""),
        ("--appendonly", "no"),
        ("--daemonize", "no"),
        ("--loglevel", "notice"),
        // A replica is not to wait for others that might come.
        ("--repl-diskless-sync-delay", "0"),
    ];
    pairs.iter().flat_map(|(name, value)| [(*name).to_owned(), (*value).to_owned()]).collect()
}
