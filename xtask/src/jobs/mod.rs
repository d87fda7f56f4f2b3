//! The jobs: their table, how one runs, and how all of them run.

mod acceptance;
mod bench;
mod checks;
mod demo;
mod features;
mod gateway;
mod release;

use std::path::Path;
use std::process::ExitCode;

use crate::failure::Failure;
use crate::stopwatch::Stopwatch;
use crate::{tidy, workspace};

/// How a job ends when it does not fail.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Done {
    /// Everything that it checks holds.
    Passed,
    /// Nobody asked for it; why, in one line.
    NotAskedFor(String),
}

/// One job.
pub(crate) struct Job {
    /// What it is called by.
    pub(crate) name: &'static str,
    /// What it does, in one line.
    pub(crate) about: &'static str,
    /// Whether CI runs it.
    pub(crate) in_ci: bool,
    run: fn(&Path, &Options) -> Result<Done, Failure>,
}

/// Every job, in the order in which CI runs them: the quickest to fail first.
pub(crate) const JOBS: &[Job] = &[
    Job {
        name: "fmt",
        about: "the code is formatted",
        in_ci: true,
        run: |root, _| checks::fmt(root),
    },
    Job {
        name: "tidy",
        about: "the rules of the house that a program can check",
        in_ci: true,
        run: |root, _| tidy::run(root).map(|()| Done::Passed),
    },
    Job {
        name: "lint",
        about: "clippy on every target with all features, warnings are errors",
        in_ci: true,
        run: |root, _| checks::lint(root),
    },
    Job {
        name: "docs",
        about: "rustdoc, public and private, warnings are errors",
        in_ci: true,
        run: |root, _| checks::docs(root),
    },
    Job {
        name: "test",
        about: "all tests, those in the documentation included",
        in_ci: true,
        run: |root, _| checks::test(root),
    },
    Job {
        name: "features",
        about: "each crate builds with no feature, each alone, and all",
        in_ci: true,
        run: |root, _| features::check(root),
    },
    Job {
        name: "loom",
        about: "the engine's interleavings (LOOM_MAX_PREEMPTIONS, 2 unless set)",
        in_ci: true,
        run: |root, _| checks::loom(root),
    },
    Job {
        name: "soak",
        about: "ten million operations: the count is exact and memory does not grow",
        in_ci: true,
        run: |root, _| release::soak(root),
    },
    Job {
        name: "demo-check",
        about: "the demo answers the lines that it prints as printed",
        in_ci: true,
        run: |root, _| demo::check(root),
    },
    Job {
        name: "acceptance",
        about: "the black-box cases that ACCEPTANCE_DIR names, --times N",
        in_ci: true,
        run: acceptance::run,
    },
    Job {
        name: "bench",
        about: "all figures, target/bench/report.html and docs/bench.svg; half an hour",
        in_ci: false,
        run: |root, _| bench::run_all(root),
    },
];

/// What can be asked of a job besides its name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Options {
    /// How often the acceptance cases run, one after the other.
    times: u32,
}

impl Options {
    /// Reads `--times N`. Where `CI` is set three is the default, else one.
    pub(crate) fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, Failure> {
        let mut times = if std::env::var_os("CI").is_some() { 3 } else { 1 };
        while let Some(argument) = arguments.next() {
            if argument != "--times" {
                return Err(Failure::new(format!(
                    "`{argument}` is not understood; there is --times N"
                )));
            }
            let value = arguments.next().unwrap_or_default();
            times = value
                .parse()
                .ok()
                .filter(|times| *times > 0)
                .ok_or_else(|| Failure::new("--times needs a number above zero"))?;
        }
        Ok(Self { times })
    }
}

/// How one job ended.
struct Report {
    name: &'static str,
    seconds: f64,
    end: Result<Done, Failure>,
}

impl Report {
    fn word(&self) -> &'static str {
        match self.end {
            Ok(Done::Passed) => "ok",
            Ok(Done::NotAskedFor(_)) => "not asked for",
            Err(_) => "FAILED",
        }
    }

    fn reason(&self) -> String {
        match &self.end {
            Ok(Done::Passed) => String::new(),
            Ok(Done::NotAskedFor(why)) => why.clone(),
            Err(failure) => failure.to_string(),
        }
    }

    fn line(&self) -> String {
        let Self { name, seconds, .. } = self;
        format!("{name:<12}{seconds:>7.1} s  {:<14}{}", self.word(), self.reason())
            .trim_end()
            .to_owned()
    }
}

fn execute(job: &Job, options: &Options) -> Report {
    println!("\n== {}: {}", job.name, job.about);
    let stopwatch = Stopwatch::start();
    let end = (job.run)(&workspace::root(), options);
    let report = Report { name: job.name, seconds: stopwatch.elapsed().as_secs_f64(), end };
    println!("-- {}", report.line());
    report
}

/// Runs one job.
pub(crate) fn alone(job: &Job, options: &Options) -> ExitCode {
    exit_code(&[execute(job, options)])
}

/// Runs every job that CI runs, also after one has failed, so that one run shows all that is wrong;
/// and sums up.
pub(crate) fn ci(options: &Options) -> ExitCode {
    let stopwatch = Stopwatch::start();
    let reports: Vec<_> =
        JOBS.iter().filter(|job| job.in_ci).map(|job| execute(job, options)).collect();
    println!("\n== summary");
    for report in &reports {
        println!("{}", report.line());
    }
    println!("{}", summary(&reports, stopwatch.elapsed().as_secs_f64()));
    exit_code(&reports)
}

fn summary(reports: &[Report], seconds: f64) -> String {
    let count = |word: &str| reports.iter().filter(|report| report.word() == word).count();
    let (passed, failed, skipped) = (count("ok"), count("FAILED"), count("not asked for"));
    format!("ci: {passed} ok, {failed} failed, {skipped} not asked for, {seconds:.0} s in all")
}

fn exit_code(reports: &[Report]) -> ExitCode {
    if reports.iter().all(|report| report.end.is_ok()) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<Options, Failure> {
        Options::parse(arguments.iter().map(|argument| (*argument).to_owned()))
    }

    #[test]
    fn times_is_a_number_above_zero_and_nothing_else_is_taken() {
        assert_eq!(parse(&["--times", "5"]), Ok(Options { times: 5 }));
        for wrong in [&["--times"][..], &["--times", "0"], &["--times", "x"], &["--tmes", "1"]] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn one_failure_fails_the_whole() {
        let report = |end| Report { name: "x", seconds: 1.0, end };
        let good = report(Ok(Done::Passed));
        let skipped = report(Ok(Done::NotAskedFor("why".into())));
        let bad = report(Err(Failure::new("broken")));
        assert_eq!(bad.line(), "x               1.0 s  FAILED        broken");
        assert_eq!(exit_code(&[good, skipped]), ExitCode::SUCCESS);
        let all = [report(Ok(Done::Passed)), bad];
        assert_eq!(summary(&all, 2.0), "ci: 1 ok, 1 failed, 0 not asked for, 2 s in all");
        assert_eq!(exit_code(&all), ExitCode::FAILURE);
    }

    #[test]
    fn names_are_unique_and_ci_is_not_one() {
        let names: std::collections::BTreeSet<_> = JOBS.iter().map(|job| job.name).collect();
        assert_eq!(names.len(), JOBS.len());
        assert!(!names.contains("ci"));
    }
}
