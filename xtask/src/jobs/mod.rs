//! The jobs: their table, how one runs, and how all of them run.

mod acceptance;
mod bench;
mod bench_http;
mod bench_redis;
mod checks;
mod clients;
mod database;
mod demo;
mod features;
mod fuzz;
mod gateway;
mod mutants;
mod nightly;
mod redis;
mod release;
mod san;
mod stress;
mod test;
mod valkey;

use std::path::Path;
use std::process::ExitCode;
use std::str::FromStr;

use crate::failure::Failure;
use crate::stopwatch::Stopwatch;
use crate::{tidy, workspace};

/// How a job ends when it does not fail.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Done {
    /// Everything that it checks holds.
    Passed,
    /// The same, but for tests that failed at first; what they said.
    PassedAgain(Vec<String>),
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
        run: |root, _| test::run(root),
    },
    Job {
        name: "proptest",
        about: "the properties (PROPTEST_CASES, each its own number unless set); CI: in `test`",
        in_ci: false,
        run: |root, _| checks::proptest(root),
    },
    Job {
        name: "features",
        about: "each crate builds with no feature, each alone, and all",
        in_ci: true,
        run: |root, _| features::check(root),
    },
    Job {
        name: "loom",
        about: "the engine's interleavings (LOOM_MAX_PREEMPTIONS, 2 unless set; 3: 15 minutes)",
        in_ci: true,
        run: |root, _| checks::loom(root),
    },
    Job {
        name: "stress",
        about: "tiny stores while accesses pause; ten million acquires, or --acquires N",
        in_ci: true,
        run: |root, options| stress::run_all(root, options.acquires),
    },
    Job {
        name: "san",
        about: "the stress run under the address and leak sanitizers, on a nightly",
        in_ci: true,
        run: san::run_all,
    },
    Job {
        name: "fuzz",
        about: "each target of fuzz for 5 seconds, or SECONDS, on a nightly",
        in_ci: true,
        run: fuzz::run_all,
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
        about: "the black-box cases that ACCEPTANCE_DIR names, on each store, --times N",
        in_ci: true,
        run: acceptance::run,
    },
    Job {
        name: "clients",
        about: "stripe's and openai's libraries, cut off at bad moments, end with one run each",
        in_ci: true,
        run: |root, _| clients::check(root),
    },
    Job {
        name: "valkey",
        about: "the Redis store's tests on a Valkey server from PyPI, but for TLS: 2 minutes",
        in_ci: false,
        run: |root, _| valkey::check(root),
    },
    Job {
        name: "mutants",
        about: "each fault of xtask/faults is found by its killer; --only NAME or KIND; 20 minutes",
        in_ci: false,
        run: mutants::run_all,
    },
    Job {
        name: "bench",
        about: "all figures, target/bench/report.html and docs/bench.svg: 35 minutes; --quick: 8",
        in_ci: false,
        run: |root, options| bench::run_all(root, options.is_quick),
    },
    Job {
        name: "bench-http",
        about: "the layer and the gateway against others, target/bench/http.json: 4 minutes",
        in_ci: false,
        run: |root, options| bench_http::run_all(root, options.is_quick),
    },
    Job {
        name: "bench-redis",
        about: "acquire and commit on a Redis server against the raw client: 2 minutes",
        in_ci: false,
        run: |root, options| bench_redis::run_all(root, options.is_quick),
    },
];

/// What can be asked of a job besides its name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Options {
    /// How often the acceptance cases run, one after the other.
    times: u32,
    /// How many acquires the stress run makes, if not its own number.
    acquires: Option<u64>,
    /// The one fault to plant, or the kind of killer whose faults to plant.
    only: Option<String>,
    /// Whether the benches are to be short.
    is_quick: bool,
    /// How long each fuzz target runs, if not its own time.
    seconds: Option<u64>,
    /// Whether the job is one of all of CI's.
    is_ci: bool,
}

impl Options {
    /// Nothing is asked for.
    const fn none() -> Self {
        let (acquires, only, seconds) = (None, None, None);
        Self { times: 1, acquires, only, is_quick: false, seconds, is_ci: false }
    }

    /// Reads `--times N`, `--acquires N`, `--only NAME`, `--quick` and seconds. Where `CI` is set
    /// the cases run three times by default, else once.
    pub(crate) fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, Failure> {
        let times = if std::env::var_os("CI").is_some() { 3 } else { 1 };
        let mut options = Self { times, ..Self::none() };
        while let Some(argument) = arguments.next() {
            if argument == "--quick" {
                options.is_quick = true;
                continue;
            }
            if argument.starts_with(|first: char| first.is_ascii_digit()) {
                options.seconds = Some(above_zero("SECONDS", &argument)?);
                continue;
            }
            let value = arguments.next().unwrap_or_default();
            match argument.as_str() {
                "--times" => options.times = above_zero(&argument, &value)?,
                "--acquires" => options.acquires = Some(above_zero(&argument, &value)?),
                "--only" if !value.is_empty() => options.only = Some(value),
                _ => {
                    return Err(Failure::new(format!(
                        "`{argument}` is not understood; there are --times N, --acquires N, \
                         --only NAME, --quick and SECONDS"
                    )));
                }
            }
        }
        Ok(options)
    }
}

fn above_zero<T: FromStr + Default + PartialEq>(name: &str, value: &str) -> Result<T, Failure> {
    let number = value.parse().ok().filter(|number| *number != T::default());
    number.ok_or_else(|| Failure::new(format!("{name} needs a number above zero")))
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
            Ok(Done::Passed | Done::PassedAgain(_)) => "ok",
            Ok(Done::NotAskedFor(_)) => "not asked for",
            Err(_) => "FAILED",
        }
    }

    fn reason(&self) -> String {
        match &self.end {
            Ok(Done::Passed) => String::new(),
            Ok(Done::PassedAgain(_)) => "at the second try".to_owned(),
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

    /// Shows again what failed within the job, which by now stands far above.
    fn retell(&self) {
        let details = match &self.end {
            Ok(Done::PassedAgain(details)) => details,
            Ok(_) => &[][..],
            Err(failure) => failure.details(),
        };
        if !details.is_empty() {
            println!("\n== what failed in {}", self.name);
            details.iter().for_each(|line| println!("{line}"));
        }
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
pub(crate) fn ci(options: Options) -> ExitCode {
    let stopwatch = Stopwatch::start();
    let options = Options { is_ci: true, ..options };
    let reports: Vec<_> =
        JOBS.iter().filter(|job| job.in_ci).map(|job| execute(job, &options)).collect();
    for report in &reports {
        report.retell();
    }
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
    fn numbers_are_above_zero_and_nothing_else_is_taken() {
        let one = Options {
            times: 5,
            acquires: Some(7),
            only: Some("x".into()),
            is_quick: true,
            seconds: Some(60),
            is_ci: false,
        };
        let all = ["--times", "5", "--acquires", "7", "--quick", "60", "--only", "x"];
        assert_eq!(parse(&all), Ok(one));
        for wrong in [
            &["--times"][..],
            &["--times", "0"],
            &["--times", "-1"],
            &["--acquires", "x"],
            &["--only"],
            &["0"],
            &["6x"],
            &["--tmes", "1"],
        ] {
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
