//! Black-box cases against the gateway's binary, kept outside of this repository.
//!
//! The cases are an executable `run` in the folder that `ACCEPTANCE_DIR` names. Where nobody names
//! one there is nothing to run; where one is named, whatever is missing is a failure.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::database::Database;
use super::gateway::{self, absolute};
use super::redis::Redis;
use super::{Done, Options};
use crate::command::is_there;
use crate::failure::Failure;
use crate::retelling::run_tests;

/// The variable that names the folder; a relative path counts from the workspace's root.
const VARIABLE: &str = "ACCEPTANCE_DIR";

/// The cases' own variable for the URL of a store; without it they take the gateway's default.
const STORE: &str = "ACCEPTANCE_STORE";

pub(super) fn run(root: &Path, options: &Options) -> Result<Done, Failure> {
    let Some(folder) = std::env::var_os(VARIABLE).filter(|folder| !folder.is_empty()) else {
        return Ok(Done::NotAskedFor(format!("{VARIABLE} is not set")));
    };
    let cases = find(&root.join(folder))?;
    if !is_there("python3") {
        return Err(Failure::new(format!(
            "{VARIABLE} is set, but there is no python3: install it"
        )));
    }
    let binary = gateway::build(root)?;
    let command = || {
        let mut command = Command::new(&cases);
        command.env("LEASEHOLD_BIN", &binary).env_remove(STORE);
        command
    };
    for time in 1..=options.times {
        println!("time {time} of {}", options.times);
        run_tests(&mut command())?;
        let redis = Redis::start()?;
        run_tests(command().env(STORE, redis.url()))?;
    }
    let on = |database: Database| {
        database.migrate(&binary)?;
        run_tests(command().env(STORE, database.url()))
    };
    // One at a time: a server that does nothing takes memory all the same.
    on(Database::postgres(root)?)?;
    on(Database::mariadb(root)?)?;
    on(Database::sqlite()?)?;
    Ok(Done::Passed)
}

/// The folder's program.
fn find(folder: &Path) -> Result<PathBuf, Failure> {
    let program = folder.join("run");
    if program.is_file() {
        absolute(&program)
    } else {
        let why = format!("{VARIABLE} is set, but {} is not there", program.display());
        Err(Failure::new(why))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_its_program_is_a_failure() {
        let folder = crate::workspace::root().join("no-such-folder");
        let failure = find(&folder).expect_err("there is no such folder");
        assert!(failure.to_string().starts_with("ACCEPTANCE_DIR is set, but "));
    }
}
