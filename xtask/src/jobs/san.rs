//! The stress run under the sanitizers: no use after free, no access out of bounds, no leak.

use std::path::Path;

use super::nightly::{self, Nightly};
use super::{Done, Options};
use crate::command::run;
use crate::failure::Failure;

/// Acquires of each run.
const ACQUIRES: &str = "1000000";

/// The stress run with pauses, whose tables are tiny, and at real speed, whose tables are as they
/// ship; and the engine's own tests, those of how outcomes are freed among them.
pub(super) fn run_all(root: &Path, options: &Options) -> Result<Done, Failure> {
    nightly::with(options, |nightly| {
        for (sanitizer, jitter) in [("address", true), ("address", false), ("leak", true)] {
            stress(root, nightly, sanitizer, jitter)?;
        }
        let test = ["test", "--release", "-p", "leasehold", "--lib", "--test", "outcome_room"];
        let mut command = nightly.cargo(root, test);
        let folder = "target/san-address";
        command.args(["--target-dir", folder]).env("RUSTFLAGS", flags("address", false));
        run(command.env("CARGO_PROFILE_RELEASE_LTO", "off"))?;
        Ok(Done::Passed)
    })
}

fn stress(root: &Path, nightly: &Nightly, sanitizer: &str, jitter: bool) -> Result<(), Failure> {
    let folder = format!("target/san-{sanitizer}{}", if jitter { "-jitter" } else { "" });
    let program = ["run", "--release", "-p", "stress", "--target-dir", &folder];
    let mut command = nightly.cargo(root, program);
    command.env("RUSTFLAGS", flags(sanitizer, jitter)).env("CARGO_PROFILE_RELEASE_LTO", "off");
    let real: &[&str] = if jitter { &[] } else { &["--real"] };
    run(command.args(["--", "--acquires", ACQUIRES]).args(real))
}

fn flags(sanitizer: &str, jitter: bool) -> String {
    let jitter = if jitter { " --cfg lease_jitter" } else { "" };
    format!("-Zsanitizer={sanitizer}{jitter}")
}
