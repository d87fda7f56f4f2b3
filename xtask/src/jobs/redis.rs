//! A Redis server of one's own for a job, at a socket in a temporary folder: there is no port that
//! another process could take first.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::failure::Failure;

/// What the server logs once it takes commands.
const READY: &str = "ready to accept connections";

/// How long it may take to log its next line before it counts as stuck. Arbitrary, and long: it
/// takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(30);

/// A running server. It ends, and its folder goes, with this value.
#[derive(Debug)]
pub(super) struct Redis {
    child: Child,
    folder: PathBuf,
}

impl Redis {
    /// Starts one that evicts nothing and writes nothing to disk, and waits until it is ready.
    pub(super) fn start() -> Result<Self, Failure> {
        // Not in the workspace: a socket's path has room for some hundred bytes only.
        let folder = std::env::temp_dir().join(format!("leasehold-{}", std::process::id()));
        std::fs::create_dir_all(&folder)
            .map_err(|error| Failure::new(format!("cannot make {}: {error}", folder.display())))?;
        let child = Command::new("redis-server")
            .args(["--port", "0", "--unixsocket"])
            .arg(folder.join("socket"))
            .arg("--dir")
            .arg(&folder)
            .args(["--save", "", "--appendonly", "no", "--maxmemory-policy", "noeviction"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn();
        let child = match child {
            Ok(child) => child,
            Err(error) => {
                let _ = std::fs::remove_dir_all(&folder);
                let why = format!("cannot start redis-server: {error}: install it");
                return Err(Failure::new(why));
            }
        };
        let mut redis = Self { child, folder };
        redis.wait()?;
        Ok(redis)
    }

    /// The URL of the store on it.
    pub(super) fn url(&self) -> String {
        format!("unix://{}", self.folder.join("socket").display())
    }

    /// Reads its log until it is ready, and then on, since a full pipe would stop it.
    fn wait(&mut self) -> Result<(), Failure> {
        let log = self.child.stdout.take().ok_or_else(|| Failure::new("redis-server is mute"))?;
        let (tell, told) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(log).lines().map_while(Result::ok) {
                let _ = tell.send(line);
            }
        });
        let mut seen = Vec::new();
        // Ends: with its log, or with the patience.
        while let Ok(line) = told.recv_timeout(PATIENCE) {
            if line.contains(READY) {
                return Ok(());
            }
            seen.push(line);
        }
        Err(Failure::new(format!("redis-server did not start:\n{}", seen.join("\n"))))
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing left to end.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_there_until_it_is_dropped() {
        let redis = Redis::start().expect("redis-server is installed");
        let url = redis.url();
        let socket = url.strip_prefix("unix://").expect("a socket").to_owned();
        assert!(std::os::unix::net::UnixStream::connect(&socket).is_ok());
        drop(redis);
        assert!(std::os::unix::net::UnixStream::connect(&socket).is_err());
    }
}
