//! A database of one's own for a job: a server that the tests' crate starts, or a file.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use crate::command::{cargo, run, show};
use crate::failure::Failure;

/// The program that starts servers, and how it is built.
const PROGRAM: [&str; 5] = ["run", "--package", "leasehold-sql-server", "--example", "serve"];

/// A database. It goes with this value.
#[derive(Debug)]
pub(super) enum Database {
    Server(Server),
    File(File),
}

/// The program, which runs its server until its standard input ends.
#[derive(Debug)]
pub(super) struct Server {
    child: Child,
    input: Option<ChildStdin>,
    url: String,
}

/// A folder for a file of SQLite's, and what that writes beside it.
#[derive(Debug)]
pub(super) struct File {
    folder: PathBuf,
}

impl Database {
    /// A PostgreSQL server. What it holds need not survive the machine.
    pub(super) fn postgres(root: &Path) -> Result<Self, Failure> {
        Server::start(root, &["postgres", "-c", "fsync=off"]).map(Self::Server)
    }

    /// The same for MariaDB.
    pub(super) fn mariadb(root: &Path) -> Result<Self, Failure> {
        Server::start(root, &["mariadb"]).map(Self::Server)
    }

    /// A file of SQLite's.
    pub(super) fn sqlite() -> Result<Self, Failure> {
        let folder = std::env::temp_dir().join(format!("leasehold-sqlite-{}", std::process::id()));
        fs::create_dir_all(&folder)
            .map_err(|error| Failure::new(format!("cannot make {}: {error}", folder.display())))?;
        Ok(Self::File(File { folder }))
    }

    /// The URL of the store in it.
    pub(super) fn url(&self) -> String {
        match self {
            Self::Server(server) => server.url.clone(),
            Self::File(file) => format!("sqlite:{}", file.folder.join("keys.db").display()),
        }
    }

    /// Makes the table by the gateway's own means.
    pub(super) fn migrate(&self, gateway: &Path) -> Result<(), Failure> {
        run(Command::new(gateway).args(["migrate", "--store", &self.url()]))
    }
}

impl Server {
    /// Starts one, and waits until it takes connections.
    fn start(root: &Path, arguments: &[&str]) -> Result<Self, Failure> {
        let mut command = cargo(root, PROGRAM);
        command.arg("--").args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let shown = show(&command);
        println!("$ {shown}");
        let fails = |error| Failure::new(format!("cannot start `{shown}`: {error}"));
        let mut child = command.spawn().map_err(fails)?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let mut server = Self { child, input, url: String::new() };
        if let Some(output) = output {
            // Ends with the first line, or with the program.
            BufReader::new(output).read_line(&mut server.url).map_err(fails)?;
        }
        server.url.truncate(server.url.trim_end().len());
        if server.url.is_empty() {
            return Err(Failure::new(format!("`{shown}` has started no server")));
        }
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.input.take());
        // It may have ended by itself.
        let _ = self.child.wait();
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}
