//! The load: wrk over kept connections, with a script that gives each request its key.

use std::cell::Cell;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::children::{Child, Folder};

/// What wrk runs.
const SCRIPT: &str = include_str!("load.lua");

/// Keys that come back again and again.
const KEPT: u32 = 1_000;

/// Which keys are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keys {
    /// Each request has one of its own.
    Fresh,
    /// A thousand, which the server has kept.
    Kept,
}

/// What wrk counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) requests: u64,
    pub(crate) took: Duration,
    /// Answers with a status of 400 and above.
    refused: u64,
    /// Requests without an answer.
    broken: u64,
}

/// Fails unless what is not built here is installed.
pub(crate) fn check_installed() -> Result<(), String> {
    for program in ["wrk", "nginx"] {
        let mut command = Command::new(program);
        command.arg("-v").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if command.status().is_err() {
            return Err(format!(
                "`{program}` cannot be started; on Debian: apt-get install wrk nginx-light"
            ));
        }
    }
    Ok(())
}

/// Loads servers.
#[derive(Debug)]
pub(crate) struct Load {
    script: PathBuf,
    seconds: u16,
    connections: u16,
    /// Runs so far: each has keys that no other has.
    runs: Cell<u32>,
}

impl Load {
    pub(crate) fn new(folder: &Folder, seconds: u16, connections: u16) -> Result<Self, String> {
        let script = folder.path("load.lua");
        fs::write(&script, SCRIPT).map_err(|error| format!("cannot write the script: {error}"))?;
        Ok(Self { script, seconds, connections, runs: Cell::new(0) })
    }

    /// Loads a server once without a look at what it answers.
    pub(crate) fn warm_up(&self, child: &Child, path: &str, keys: Keys) -> Result<(), String> {
        self.wrk(child, path, keys, 1).map(|_| ())
    }

    /// Loads a server, and checks that it answered all of it as it should.
    pub(crate) fn run(&self, child: &Child, path: &str, keys: Keys) -> Result<Found, String> {
        let found = self.wrk(child, path, keys, self.seconds)?;
        let refused = if keys == Keys::Kept { found.requests } else { 0 };
        if found.requests == 0 || found.refused != refused || found.broken != 0 {
            return Err(format!("not every request was answered as it should be: {found:?}"));
        }
        Ok(found)
    }

    fn wrk(&self, child: &Child, path: &str, keys: Keys, seconds: u16) -> Result<Found, String> {
        self.runs.set(self.runs.get() + 1);
        let (prefix, distinct) = match keys {
            Keys::Fresh => (format!("bench-fresh-{:07}-", self.runs.get()), 0),
            Keys::Kept => (format!("bench-kept--{:07}-", 0), KEPT),
        };
        let mut wrk = Command::new("wrk");
        wrk.args(["-t1", &format!("-c{}", self.connections), &format!("-d{seconds}s"), "-s"]);
        wrk.arg(&self.script).arg(format!("http://{}", child.address()));
        wrk.args(["--", &prefix, path, &distinct.to_string()]).stdin(Stdio::null());
        let output = wrk.output().map_err(|error| format!("cannot start wrk: {error}"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        parse(&text).ok_or_else(|| {
            format!("wrk said: {text}{}", String::from_utf8_lossy(&output.stderr).trim())
        })
    }
}

/// The line that the script prints at its end.
fn parse(text: &str) -> Option<Found> {
    let line = text.lines().find_map(|line| line.strip_prefix("found "))?;
    let numbers: Vec<u64> = line.split(' ').map(|word| word.parse().ok()).collect::<Option<_>>()?;
    let [requests, micros, refused, broken] = numbers[..] else {
        return None;
    };
    Some(Found { requests, took: Duration::from_micros(micros), refused, broken })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scripts_line_is_found_among_wrks_own() {
        let found =
            Found { requests: 9, took: Duration::from_micros(1_500), refused: 2, broken: 1 };
        assert_eq!(parse("Running 1s test\n  x\nfound 9 1500 2 1\n"), Some(found));
        assert_eq!(parse("found 9 1500 2\n"), None);
        assert_eq!(parse("unable to connect\n"), None);
    }
}
