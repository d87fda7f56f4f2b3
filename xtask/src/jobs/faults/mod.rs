//! Plants one fault at a time into a copy of the sources and demands that the stress run finds it.
//!
//! A check that finds nothing proves little until it has been seen to find something. The faults
//! are the files of `xtask/faults/`; `fault` has their form. This job must never touch the sources
//! that it copies.

mod fault;
mod sources;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::stress::jittered;
use super::{Done, Options};
use crate::command::{self, cargo};
use crate::failure::Failure;
use fault::Fault;
use sources::Sources;

/// Where the copy and what is built from it go, below the root.
const FOLDER: &str = "target/faults";

/// Acquires within which a fault must be found, and seconds after which no round begins.
const ACQUIRES: &str = "20000000";
const SECONDS: &str = "240";

/// Acquires of the run without a fault.
const CLEAN_ACQUIRES: &str = "2000000";

/// How a stress run ended.
#[derive(Debug, PartialEq, Eq)]
enum End {
    Nothing,
    Found { claim: String, acquires: String },
}

pub(super) fn run_all(root: &Path, options: &Options) -> Result<Done, Failure> {
    let faults = fault::all(root)?;
    let asked = |fault: &&Fault| options.only.as_ref().is_none_or(|only| *only == fault.name);
    let chosen: Vec<_> = faults.iter().filter(asked).collect();
    if chosen.is_empty() {
        return Err(Failure::new("there is no such fault; see xtask/faults"));
    }
    let sources = Sources::read(root)?;
    // All of them first: a fault that no longer fits is told at once.
    let planted =
        chosen.iter().map(|fault| fault.plant(&sources)).collect::<Result<Vec<_>, _>>()?;
    let copy = root.join(FOLDER).join("source");
    sources.write(&copy)?;
    if let End::Found { claim, .. } = stress(&copy, CLEAN_ACQUIRES)? {
        return Err(Failure::new(format!("found without a fault: {claim}")));
    }
    let mut table = vec![row("fault", "found after", "by the claim")];
    let mut missed = Vec::new();
    for (fault, planted) in chosen.iter().zip(planted) {
        println!("\n-- {}: {}", fault.name, fault.breaks);
        planted.write(&copy)?;
        match stress(&copy, ACQUIRES)? {
            End::Found { claim, acquires } => table.push(row(&fault.name, &acquires, &claim)),
            End::Nothing => {
                table.push(row(&fault.name, "not found", ""));
                missed.push(fault.name.as_str());
            }
        }
    }
    sources.write(&copy)?;
    println!("\n{}", table.join("\n"));
    if missed.is_empty() {
        Ok(Done::Passed)
    } else {
        Err(Failure::new(format!("not found: {}", missed.join(", "))))
    }
}

fn row(name: &str, found: &str, claim: &str) -> String {
    format!("{name:<34}{found:>12}  {claim}").trim_end().to_owned()
}

/// Builds the stress program from the copy, and runs it.
fn stress(copy: &Path, acquires: &str) -> Result<End, Failure> {
    // One folder for all, so that a fault builds the engine and what uses it again, and no more.
    let target = copy.with_file_name("target");
    let build = ["build", "--release", "--quiet", "-p", "stress", "--target-dir"];
    command::run(jittered(&mut cargo(copy, build)).arg(&target))?;
    let name = format!("stress{}", std::env::consts::EXE_SUFFIX);
    let program: PathBuf = target.join("release").join(name);
    let mut command = Command::new(&program);
    command.args(["--acquires", acquires, "--seconds", SECONDS]);
    let output =
        command.stdin(Stdio::null()).stderr(Stdio::null()).output().map_err(|error| {
            Failure::new(format!("cannot start {}: {error}", program.display()))
        })?;
    let printed = String::from_utf8_lossy(&output.stdout);
    print!("{printed}");
    end_of(output.status.success(), &printed)
        .ok_or_else(|| Failure::new(format!("the run named no claim: {}", output.status)))
}

/// Reads how a run ended; `None` if it failed without naming a claim.
fn end_of(success: bool, printed: &str) -> Option<End> {
    if success {
        return Some(End::Nothing);
    }
    let after = |label: &str| printed.lines().find_map(|line| line.strip_prefix(label));
    let claim = after("violated: ")?.to_owned();
    let acquires = after("after: ")?.trim_end_matches(" acquires").to_owned();
    Some(End::Found { claim, acquires })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_fails_has_to_name_its_claim() {
        assert_eq!(end_of(true, "nothing found"), Some(End::Nothing));
        assert_eq!(end_of(false, "Killed"), None);
        let printed = "violated: one holder\nseen: x\nseed: 3\nafter: 70 acquires\n";
        let found = End::Found { claim: "one holder".into(), acquires: "70".into() };
        assert_eq!(end_of(false, printed), Some(found));
    }
}
