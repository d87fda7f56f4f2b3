//! One trial: the copy is built, and its killer runs until it has found something, passes, or takes
//! too long.
//!
//! A copy that does not build is a failure of this job and no find: a fault must be one that only a
//! check notices.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use super::super::checks::loom_flags;
use super::super::stress::jittered;
use super::killer::{Killer, Kind};
use super::sources::Sources;
use crate::command::{cargo, show};
use crate::failure::Failure;
use crate::stopwatch::Stopwatch;

/// Acquires within which the stress run must find a fault, and those of the run without one; and
/// the seconds after which no round begins.
const ACQUIRES: &str = "20000000";
const ACQUIRES_CLEAN: &str = "500000";
const SECONDS: &str = "240";

/// How long a killer may run, on a machine that has other things to do too. A check that no longer
/// ends has found the fault.
const TIME: Duration = Duration::from_secs(480);

/// From one look at a killer to the next.
const PERIOD: Duration = Duration::from_millis(50);

/// How a trial ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum End {
    Nothing,
    Found { by: String },
}

/// The copy of the sources, and where it is built.
pub(super) struct Bench {
    copy: PathBuf,
    target: PathBuf,
}

impl Bench {
    pub(super) fn new(folder: &Path) -> Self {
        Self { copy: folder.join("source"), target: folder.join("target") }
    }

    /// Makes the copy hold these sources.
    pub(super) fn write(&self, sources: &Sources) -> Result<(), Failure> {
        sources.write(&self.copy)
    }

    /// A trial of the sources without a fault.
    pub(super) fn try_clean(&self, killer: &Killer) -> Result<End, Failure> {
        self.run(killer, ACQUIRES_CLEAN)
    }

    /// A trial of a fault.
    pub(super) fn try_fault(&self, killer: &Killer) -> Result<End, Failure> {
        self.run(killer, ACQUIRES)
    }

    fn run(&self, killer: &Killer, acquires: &str) -> Result<End, Failure> {
        let program = self.build(killer)?;
        let mut command = Command::new(&program);
        command.current_dir(self.copy.join(killer.folder()));
        match killer.kind {
            Kind::Stress => command.args(["--acquires", acquires, "--seconds", SECONDS]),
            _ => command.arg(killer.filter()),
        };
        if killer.kind == Kind::Loom {
            command.env("LOOM_MAX_PREEMPTIONS", "2");
        }
        println!("$ {}", show(&command));
        let log = self.target.with_file_name("trial.log");
        let failed = |error: std::io::Error| {
            Failure::new(format!("cannot run {}: {error}", program.display()))
        };
        let output = File::create(&log).map_err(failed)?;
        let errors = output.try_clone().map_err(failed)?;
        let command = command.stdin(Stdio::null()).stdout(output).stderr(errors);
        let status = wait(command.spawn().map_err(failed)?).map_err(failed)?;
        let printed = String::from_utf8_lossy(&fs::read(&log).map_err(failed)?).into_owned();
        end_of(killer, status, &printed).ok_or_else(|| {
            let start = printed.char_indices().rev().nth(2_000).map_or(0, |(at, _)| at);
            Failure::new(format!("{killer} says nothing to judge by:\n{}", &printed[start..]))
        })
    }

    /// Builds a killer from the copy, and says where its program is.
    fn build(&self, killer: &Killer) -> Result<PathBuf, Failure> {
        let mut command = cargo(&self.copy, killer.build());
        // One folder for each choice of flags, so that a fault builds the engine and what uses it
        // again, and no more. What is built runs for seconds: it need not be the best.
        let folder = match killer.kind {
            Kind::Unit | Kind::Law | Kind::Property => "plain",
            Kind::Loom => "loom",
            Kind::Stress => "stress",
        };
        command.arg("--target-dir").arg(self.target.join(folder));
        command.env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16");
        command.env("CARGO_PROFILE_RELEASE_DEBUG", "false").env("CARGO_PROFILE_DEV_DEBUG", "false");
        match killer.kind {
            Kind::Unit | Kind::Law | Kind::Property => {}
            Kind::Loom => drop(loom_flags(&mut command)),
            Kind::Stress => drop(jittered(&mut command)),
        }
        let shown = show(&command);
        let failed = |what: String| Failure::new(format!("`{shown}`: {what}"));
        let built = command
            .stdin(Stdio::null())
            .output()
            .map_err(|error| failed(format!("cannot start: {error}")))?;
        let said = String::from_utf8_lossy(&built.stderr);
        if !built.status.success() {
            return Err(failed(format!("{}\n{said}", built.status)));
        }
        if killer.kind == Kind::Stress {
            let name = format!("stress{}", std::env::consts::EXE_SUFFIX);
            return Ok(self.target.join(folder).join("release").join(name));
        }
        let program = program_of(&said).ok_or_else(|| failed("it names no program".into()))?;
        Ok(self.copy.join(program))
    }
}

/// The one program that a build of tests names.
fn program_of(said: &str) -> Option<&str> {
    let line = said.lines().map(str::trim).find(|line| line.starts_with("Executable "))?;
    line.rsplit_once('(')?.1.strip_suffix(')')
}

/// Waits for a killer; nothing if it takes too long.
fn wait(mut child: Child) -> std::io::Result<Option<ExitStatus>> {
    let stopwatch = Stopwatch::start();
    // Ends: time passes.
    while stopwatch.elapsed() < TIME {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        thread::sleep(PERIOD);
    }
    child.kill()?;
    child.wait()?;
    Ok(None)
}

/// Reads how a trial ended; `None` if that cannot be told, as when no test ran.
fn end_of(killer: &Killer, status: Option<ExitStatus>, printed: &str) -> Option<End> {
    let found = |by: String| Some(End::Found { by });
    let Some(status) = status else {
        return found(format!("{killer}, which does not end"));
    };
    if killer.kind == Kind::Stress {
        if status.success() {
            return Some(End::Nothing);
        }
        let after = |label: &str| printed.lines().find_map(|line| line.strip_prefix(label));
        return found(format!("{}, after {}", after("violated: ")?, after("after: ")?));
    }
    let ran = printed
        .lines()
        .any(|line| line.strip_prefix("running ").is_some_and(|rest| !rest.starts_with("0 ")));
    if !ran {
        return None;
    }
    if status.success() {
        return Some(End::Nothing);
    }
    let failed = printed.lines().find_map(|line| {
        line.strip_prefix("test ").and_then(|line| line.strip_suffix(" ... FAILED"))
    });
    // A program that is aborted names no test.
    found(failed.map_or_else(|| format!("{}, aborted", killer.test), str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn killer(text: &str) -> Killer {
        Killer::parse(text).expect("it is whole")
    }

    fn status(success: bool) -> Option<ExitStatus> {
        let root = crate::workspace::root();
        let word = if success { "--version" } else { "no-such-command" };
        let mut command = cargo(&root, [word]);
        command.stdout(Stdio::null()).stderr(Stdio::null()).status().ok()
    }

    #[test]
    fn a_build_names_its_program() {
        let said = "   Compiling x\n  Executable unittests src/lib.rs (target/debug/deps/x-1)\n";
        assert_eq!(program_of(said), Some("target/debug/deps/x-1"));
        assert_eq!(program_of("   Compiling x\n"), None);
    }

    #[test]
    fn a_trial_without_a_test_proves_nothing() {
        let unit = killer("unit word::tests::x");
        assert_eq!(end_of(&unit, status(true), "running 0 tests\n"), None);
        assert_eq!(end_of(&unit, status(true), "running 1 test\n"), Some(End::Nothing));
        let printed = "running 1 test\ntest word::tests::x ... FAILED\n";
        let found = |by: &str| Some(End::Found { by: by.into() });
        assert_eq!(end_of(&unit, status(false), printed), found("word::tests::x"));
        let aborted = end_of(&unit, status(false), "running 1 test\n");
        assert_eq!(aborted, found("word::tests::x, aborted"));
        assert_eq!(end_of(&unit, None, ""), found("unit word::tests::x, which does not end"));
    }

    #[test]
    fn a_stress_run_that_fails_has_to_name_its_claim() {
        let stress = killer("stress");
        assert_eq!(end_of(&stress, status(true), "nothing found"), Some(End::Nothing));
        assert_eq!(end_of(&stress, status(false), "Killed"), None);
        let printed = "violated: one holder\nseen: x\nseed: 3\nafter: 70 acquires\n";
        let by = "one holder, after 70 acquires".to_owned();
        assert_eq!(end_of(&stress, status(false), printed), Some(End::Found { by }));
    }
}
