//! Measures everything and draws it: minutes of work, so CI does not do it.
//!
//! The one job that writes a tracked file: the README's chart, and not when it is quick.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use super::Done;
use crate::command::{cargo, run};
use crate::failure::Failure;
use crate::stopwatch::Stopwatch;

/// Where the lines of the binaries and the page go, below the root.
const FOLDER: &str = "target/bench";

/// What is run, and how.
struct Course {
    /// Arguments of every criterion bench.
    criterion: &'static [&'static str],
    /// Each binary, and how it is asked.
    binaries: &'static [(&'static str, &'static [&'static str])],
    /// Where the README's chart goes.
    chart: &'static str,
    /// What one would type.
    command: &'static str,
}

/// At ten million keys only the three best rivals take part.
const WHOLE: Course = Course {
    criterion: &[],
    binaries: &[
        ("rivals", &["--live", "10000,100000,1000000,10000000", "--budget", "1200"]),
        ("latency", &[]),
        ("memory", &["--bound", "100000,1000000,10000000"]),
    ],
    chart: "docs/bench.svg",
    command: "cargo xtask bench",
};

/// A look at all of it: too few rounds for figures that are handed on.
const QUICK: Course = Course {
    criterion: &["--warm-up-time", "0.3", "--measurement-time", "1", "--sample-size", "10"],
    binaries: &[
        ("rivals", &["--live", "100000,1000000", "--budget", "90"]),
        ("latency", &["--quick"]),
        ("memory", &["--bound", "100000,1000000"]),
    ],
    chart: "target/bench/bench.svg",
    command: "cargo xtask bench --quick",
};

pub(super) fn run_all(root: &Path, is_quick: bool) -> Result<Done, Failure> {
    let course = if is_quick { QUICK } else { WHOLE };
    let folder = root.join(FOLDER);
    // The page must not show what an earlier run left.
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(cannot("empty", &folder))?;
    }
    fs::create_dir_all(&folder).map_err(cannot("make", &folder))?;
    let load_before = load();
    let bench = ["bench", "-p", "leasehold-benches", "--benches", "--"];
    let mut benches = cargo(root, bench);
    benches.args(course.criterion).env("CRITERION_HOME", folder.join("criterion"));
    timed("the criterion benches", &mut benches)?;
    for (name, arguments) in course.binaries {
        let lines = folder.join(format!("{name}.jsonl"));
        let file = File::create(&lines).map_err(cannot("write", &lines))?;
        timed(name, binary(root, name).args(*arguments).arg("--json").stdout(file))?;
    }
    let note = format!("`{}`, load {load_before} before, {} after", course.command, load());
    let drawn = ["--folder", FOLDER, "--svg", course.chart, "--note", &note];
    run(binary(root, "report").args(drawn))?;
    println!("the page is {FOLDER}/report.html");
    Ok(Done::Passed)
}

fn cannot<'a>(what: &'a str, path: &'a Path) -> impl Fn(std::io::Error) -> Failure + 'a {
    move |error| Failure::new(format!("cannot {what} {}: {error}", path.display()))
}

/// Runs a command and says how long it took, building included.
fn timed(name: &str, command: &mut Command) -> Result<(), Failure> {
    let stopwatch = Stopwatch::start();
    run(command)?;
    println!("{name} took {:.0} s", stopwatch.elapsed().as_secs_f64());
    Ok(())
}

/// The load of the last minute as the kernel counts it: above zero, others were at work.
pub(super) fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().unwrap_or("unknown").to_owned()
}

fn binary(root: &Path, name: &str) -> Command {
    cargo(root, ["run", "--release", "-q", "-p", "leasehold-benches", "--bin", name, "--"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quick_run_measures_the_same_and_writes_no_tracked_file() {
        let names = |course: &Course| course.binaries.iter().map(|(name, _)| *name).collect();
        let whole: Vec<_> = names(&WHOLE);
        assert_eq!(whole, names(&QUICK));
        assert!(QUICK.chart.starts_with(FOLDER));
    }
}
