//! Measures everything and draws it: minutes of work, so CI does not do it.
//!
//! The one job that writes a tracked file: the README's chart.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use super::Done;
use crate::command::{cargo, run};
use crate::failure::Failure;

/// Where the lines of the binaries and the page go, below the root.
const FOLDER: &str = "target/bench";

/// The README's chart.
const CHART: &str = "docs/bench.svg";

/// Each binary, and how it is asked. At ten million keys only the three best rivals take part.
const BINARIES: &[(&str, &[&str])] = &[
    ("rivals", &["--live", "10000,100000,1000000,10000000", "--budget", "1200"]),
    ("latency", &[]),
    ("memory", &["--bound", "100000,1000000,10000000"]),
];

pub(super) fn run_all(root: &Path) -> Result<Done, Failure> {
    run(&mut cargo(root, ["bench", "-p", "leasehold-benches"]))?;
    let folder = root.join(FOLDER);
    fs::create_dir_all(&folder)
        .map_err(|error| Failure::new(format!("cannot make {FOLDER}: {error}")))?;
    for (name, arguments) in BINARIES {
        let lines = folder.join(format!("{name}.jsonl"));
        let file = File::create(&lines)
            .map_err(|error| Failure::new(format!("cannot write {}: {error}", lines.display())))?;
        run(binary(root, name).args(*arguments).arg("--json").stdout(file))?;
    }
    run(binary(root, "report").args(["--folder", FOLDER, "--svg", CHART]))?;
    println!("the page is {FOLDER}/report.html");
    Ok(Done::Passed)
}

fn binary(root: &Path, name: &str) -> Command {
    cargo(root, ["run", "--release", "-q", "-p", "leasehold-benches", "--bin", name, "--"])
}
