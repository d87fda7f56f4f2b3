//! `cargo xtask <job>`: every check that CI runs, one name each.
//!
//! Without a job, or with `--help`, it lists them. This crate uses nothing but the standard
//! library, so that it builds within seconds. It must never change a tracked file; `bench` alone
//! does, and writes a chart.

#![forbid(unsafe_code)]

mod command;
mod failure;
mod jobs;
mod manifest;
mod retelling;
mod stopwatch;
mod tidy;
mod workspace;

use std::process::ExitCode;

use jobs::{JOBS, Job, Options};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(name) = arguments.next().filter(|name| name != "--help" && name != "-h") else {
        list();
        return ExitCode::SUCCESS;
    };
    let options = match Options::parse(arguments) {
        Ok(options) => options,
        Err(failure) => return refuse(&failure.to_string()),
    };
    if name == "ci" {
        return jobs::ci(options);
    }
    match JOBS.iter().find(|job| job.name == name) {
        Some(job) => jobs::alone(job, &options),
        None => refuse(&format!("there is no job `{name}`; `cargo xtask` lists them")),
    }
}

fn list() {
    println!("cargo xtask <job>");
    let line = |name: &str, about: &str| println!("  {name:<12}{about}");
    line("ci", "every job below that is marked *, and a summary");
    for Job { name, about, in_ci, .. } in JOBS {
        println!("{} {name:<12}{about}", if *in_ci { "*" } else { " " });
    }
}

/// Exit status 2: the job was not understood, so nothing ran.
fn refuse(why: &str) -> ExitCode {
    eprintln!("xtask: {why}");
    ExitCode::from(2)
}
