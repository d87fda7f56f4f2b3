//! The fuzz targets of `fuzz/`, for some seconds each, under AddressSanitizer.
//!
//! Builds with the flags that libFuzzer needs, so that nothing has to be installed but a nightly
//! and a C++ compiler. `cargo fuzz` finds the same folder, for who has it. What was found to be
//! interesting stays in `target/fuzz/corpus`, and the next run begins with it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::nightly::{self, Nightly};
use super::{Done, Options};
use crate::command::{is_there, run};
use crate::failure::Failure;

/// Seconds of each target unless others are asked for: for CI, which runs them on every change.
const SECONDS: u64 = 5;

/// Coverage for libFuzzer, and AddressSanitizer, by which it notices what is wrong.
const FLAGS: &[&str] = &[
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Zsanitizer=address",
    "--cfg=fuzzing",
    "-Cdebug-assertions",
    "-Coverflow-checks",
];

/// Longest input, in bytes. Longer ones are slower and say little more.
const LENGTH_MAX: &str = "-max_len=2048";

pub(super) fn run_all(root: &Path, options: &Options) -> Result<Done, Failure> {
    nightly::with(options, |nightly| {
        if !["c++", "g++", "clang++"].into_iter().any(is_there) {
            return Err(Failure::new("there is no C++ compiler for libFuzzer's runtime"));
        }
        build(root, nightly)?;
        let programs = nightly.programs(&root.join("target/fuzz"));
        for target in targets(root)? {
            fuzz(root, &programs, &target, options.seconds.unwrap_or(SECONDS))?;
        }
        Ok(Done::Passed)
    })
}

fn build(root: &Path, nightly: &Nightly) -> Result<(), Failure> {
    let mut command = nightly.cargo(&root.join("fuzz"), ["build", "--release", "--bins"]);
    command.arg("--target-dir").arg(root.join("target/fuzz"));
    run(command.env("RUSTFLAGS", FLAGS.join(" ")))
}

/// The names of the targets: each file is one.
fn targets(root: &Path) -> Result<Vec<String>, Failure> {
    let failed = |error: std::io::Error| Failure::new(format!("cannot read fuzz: {error}"));
    let mut targets = Vec::new();
    for file in fs::read_dir(root.join("fuzz/fuzz_targets")).map_err(failed)? {
        let name = file.map_err(failed)?.file_name().to_string_lossy().into_owned();
        targets.extend(name.strip_suffix(".rs").map(str::to_owned));
    }
    targets.sort();
    Ok(targets)
}

fn fuzz(root: &Path, programs: &Path, target: &str, seconds: u64) -> Result<(), Failure> {
    let found: PathBuf = root.join("target/fuzz/found").join(target);
    let corpus = root.join("target/fuzz/corpus").join(target);
    for folder in [&found, &corpus] {
        fs::create_dir_all(folder)
            .map_err(|error| Failure::new(format!("cannot make {}: {error}", folder.display())))?;
    }
    let mut command = Command::new(programs.join(target));
    command.arg(&corpus);
    // What is committed was found before, or shows the form; it is only read.
    let seeds = root.join("fuzz/seeds").join(target);
    if seeds.is_dir() {
        command.arg(seeds);
    }
    command.arg(format!("-max_total_time={seconds}")).arg(LENGTH_MAX);
    command.arg(format!("-artifact_prefix={}/", found.display())).arg("-print_final_stats=1");
    run(&mut command)
        .map_err(|failure| Failure::new(format!("{failure}; the input is in {}", found.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_is_a_program_of_its_own() {
        let root = crate::workspace::root();
        let targets = targets(&root).expect("the folder can be read");
        let manifest = fs::read_to_string(root.join("fuzz/Cargo.toml")).expect("it can be read");
        assert!(targets.len() >= 4, "{targets:?}");
        for target in targets {
            assert!(manifest.contains(&format!("name = \"{target}\"")), "{target}");
        }
    }
}
