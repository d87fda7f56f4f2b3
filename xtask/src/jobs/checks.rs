//! The checks that cargo makes by itself.
//!
//! Warnings become errors through each tool's own arguments, never through `RUSTFLAGS`: a change of
//! those would build every dependency again.

use std::path::Path;
use std::process::Command;

use super::Done;
use crate::command::{cargo, run};
use crate::failure::Failure;
use crate::retelling::run_tests;

/// Preemptions that loom explores in each model unless the environment says otherwise. More find
/// more and take much longer.
const LOOM_PREEMPTIONS: &str = "2";

pub(super) fn fmt(root: &Path) -> Result<Done, Failure> {
    run(&mut cargo(root, ["fmt", "--all", "--check"]))?;
    // A workspace of its own.
    run(&mut cargo(root, ["fmt", "--manifest-path", "fuzz/Cargo.toml", "--check"]))?;
    Ok(Done::Passed)
}

pub(super) fn lint(root: &Path) -> Result<Done, Failure> {
    let arguments = ["clippy", "--workspace", "--all-targets", "--all-features"];
    run(cargo(root, arguments).args(["--", "-D", "warnings"]))?;
    Ok(Done::Passed)
}

/// Twice: what is public may not link to what is private, and that too has links to check.
pub(super) fn docs(root: &Path) -> Result<Done, Failure> {
    let public = ["doc", "--workspace", "--no-deps", "--all-features"];
    for more in [None, Some("--document-private-items")] {
        run(cargo(root, public).args(more).env("RUSTDOCFLAGS", "-D warnings"))?;
    }
    Ok(Done::Passed)
}

/// Part of the tests: for who has changed the engine, and for more cases than they run.
pub(super) fn proptest(root: &Path) -> Result<Done, Failure> {
    run_tests(&mut cargo(root, ["test", "-p", "proptests"]))?;
    Ok(Done::Passed)
}

/// The scenarios of the whole store, then those of its parts, which stand beside them. In its own
/// target folder, since its flags differ. Link-time optimization is left out: it takes longer than
/// it saves. What only loom compiles is linted here.
pub(super) fn loom(root: &Path) -> Result<Done, Failure> {
    let folder = ["--target-dir", "target/loom"];
    let package = [&["-p", "loom-tests"][..], &folder].concat();
    let parts = [&["-p", "leasehold", "--lib"][..], &folder, &["loom_tests"]].concat();
    let lint = ["clippy", "-p", "leasehold", "--lib", "--tests"];
    run(loom_flags(&mut cargo(root, [&lint[..], &package, &["--", "-D", "warnings"]].concat())))?;
    for scenarios in [package, parts] {
        let mut explore = cargo(root, [&["test", "--release"][..], &scenarios].concat());
        if std::env::var_os("LOOM_MAX_PREEMPTIONS").is_none() {
            explore.env("LOOM_MAX_PREEMPTIONS", LOOM_PREEMPTIONS);
        }
        run_tests(loom_flags(&mut explore))?;
    }
    Ok(Done::Passed)
}

/// A cargo command that builds for loom.
pub(super) fn loom_flags(command: &mut Command) -> &mut Command {
    command.env("RUSTFLAGS", "--cfg lease_loom").env("CARGO_PROFILE_RELEASE_LTO", "off")
}
