//! Many threads on tiny stores, while the engine's accesses to its atomics pause now and then; and
//! a few at real speed, on stores as they ship.

use std::path::Path;
use std::process::Command;

use super::Done;
use crate::command::{cargo, run};
use crate::failure::Failure;

/// Acquires unless others are asked for: some 30 seconds on two cores.
const ACQUIRES: u64 = 10_000_000;

/// The same at real speed: some 10 seconds.
const ACQUIRES_REAL: u64 = 10_000_000;

/// In its own target folder, since its flags differ. What only jitter compiles is linted and tested
/// here.
pub(super) fn run_all(root: &Path, acquires: Option<u64>) -> Result<Done, Failure> {
    let folder = ["--target-dir", "target/stress"];
    let lint = ["clippy", "--release", "-p", "leasehold", "-p", "stress"];
    run(jittered(&mut cargo(root, [&lint[..], &folder, &["--", "-D", "warnings"]].concat())))?;
    let test = ["test", "--release", "-p", "leasehold", "--lib"];
    run(jittered(&mut cargo(root, [&test[..], &folder, &["sync::"]].concat())))?;
    let program = ["run", "--release", "-p", "stress"];
    let mut stress = cargo(root, [&program[..], &folder, &["--", "--acquires"]].concat());
    run(jittered(&mut stress).arg(acquires.unwrap_or(ACQUIRES).to_string()))?;
    let real = ["--real", "--threads", "4", "--acquires"];
    let mut stress = cargo(root, [&program[..], &["--"], &real].concat());
    run(stress.arg(acquires.unwrap_or(ACQUIRES_REAL).to_string()))?;
    Ok(Done::Passed)
}

/// A cargo command that builds with pauses. Link-time optimization is left out, as for loom.
pub(super) fn jittered(command: &mut Command) -> &mut Command {
    command.env("RUSTFLAGS", "--cfg lease_jitter").env("CARGO_PROFILE_RELEASE_LTO", "off")
}
