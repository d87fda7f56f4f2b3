//! A nightly toolchain with the sanitizers' runtimes, if there is one.
//!
//! Only `san` and `fuzz` need it; nothing that ships may be built with it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{Done, Options};
use crate::failure::Failure;

/// The toolchain that `rustup` calls nightly, and the target whose runtimes it has.
pub(super) struct Nightly {
    target: String,
}

impl Nightly {
    /// Looks for it.
    ///
    /// # Errors
    ///
    /// What is missing.
    pub(super) fn find() -> Result<Self, Failure> {
        let missing =
            || Failure::new("there is no nightly toolchain: `rustup toolchain install nightly`");
        let version = ask("rustc", &["-vV"]).ok_or_else(missing)?;
        let host = version.lines().find_map(|line| line.strip_prefix("host: "));
        let target = host.ok_or_else(missing)?.to_owned();
        let folder = ask("rustc", &["--print", "target-libdir"]).ok_or_else(missing)?;
        if ["asan", "lsan"].iter().all(|kind| has_runtime(Path::new(folder.trim()), kind)) {
            Ok(Self { target })
        } else {
            Err(Failure::new(format!("nightly has no sanitizers for {target}")))
        }
    }

    /// A cargo command of it, for its target: so that build scripts and macros stay as they are.
    pub(super) fn cargo<'a>(
        &self,
        folder: &Path,
        arguments: impl IntoIterator<Item = &'a str>,
    ) -> Command {
        let mut command = of_nightly("cargo");
        command.args(arguments).args(["--target", &self.target]).current_dir(folder);
        command
    }

    /// Where a build puts its programs.
    pub(super) fn programs(&self, target_folder: &Path) -> PathBuf {
        target_folder.join(&self.target).join("release")
    }
}

/// Runs a job that needs a nightly. CI goes on without one; who asks for the job by its name is
/// told that it did not run.
pub(super) fn with(
    options: &Options,
    job: impl FnOnce(&Nightly) -> Result<Done, Failure>,
) -> Result<Done, Failure> {
    match Nightly::find() {
        Ok(nightly) => job(&nightly),
        Err(missing) if options.is_ci => Ok(Done::NotAskedFor(missing.to_string())),
        Err(missing) => Err(missing),
    }
}

/// A program of the toolchain, without what the cargo that started this program has set for its
/// own.
fn of_nightly(program: &str) -> Command {
    let mut command = Command::new("rustup");
    command.args(["run", "nightly", program]);
    for variable in ["CARGO", "RUSTC", "RUSTDOC", "RUSTUP_TOOLCHAIN"] {
        command.env_remove(variable);
    }
    command
}

fn ask(program: &str, arguments: &[&str]) -> Option<String> {
    let mut command = of_nightly(program);
    let output = command.args(arguments).stdin(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Whether a folder of libraries has a sanitizer's runtime.
fn has_runtime(folder: &Path, kind: &str) -> bool {
    let end = format!("_rt.{kind}.a");
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    files.into_iter().any(|file| file.file_name().to_string_lossy().ends_with(&end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ci_goes_on_without_a_nightly() {
        let options = |is_ci| Options { is_ci, ..Options::none() };
        let ran = |is_ci| with(&options(is_ci), |_| Ok(Done::Passed));
        match Nightly::find() {
            Ok(_) => assert_eq!(ran(false), Ok(Done::Passed)),
            Err(_) => {
                assert!(ran(false).is_err());
                assert!(matches!(ran(true), Ok(Done::NotAskedFor(_))));
            }
        }
    }

    #[test]
    fn a_folder_without_runtimes_has_none() {
        assert!(!has_runtime(&crate::workspace::root().join("xtask"), "asan"));
        assert!(!has_runtime(Path::new("no-such-folder"), "asan"));
    }
}
