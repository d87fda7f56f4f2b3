//! The stress run under the sanitizers: no use after free, no access out of bounds, no leak.

use std::path::Path;

use super::nightly::{self, Nightly};
use super::{Done, Options};
use crate::command::run;
use crate::failure::Failure;

/// Sanitizers, and the acquires of each run: they slow it down by different factors.
const RUNS: [(&str, &str); 2] = [("address", "1500000"), ("leak", "3000000")];

/// The stress run with pauses, whose tables are tiny, and without, whose tables are as they ship;
/// and the engine's own tests, those of how outcomes are freed among them.
pub(super) fn run_all(root: &Path, options: &Options) -> Result<Done, Failure> {
    nightly::with(options, |nightly| {
        for (sanitizer, acquires) in RUNS {
            for jitter in [true, false] {
                stress(root, nightly, sanitizer, jitter, acquires)?;
            }
        }
        let test = ["test", "--release", "-p", "leasehold", "--lib", "--test", "outcome_room"];
        let mut command = nightly.cargo(root, test);
        let folder = "target/san-address";
        command.args(["--target-dir", folder]).env("RUSTFLAGS", flags("address", false));
        run(command.env("CARGO_PROFILE_RELEASE_LTO", "off"))?;
        Ok(Done::Passed)
    })
}

fn stress(
    root: &Path,
    nightly: &Nightly,
    sanitizer: &str,
    jitter: bool,
    acquires: &str,
) -> Result<(), Failure> {
    let folder = format!("target/san-{sanitizer}{}", if jitter { "-jitter" } else { "" });
    let program = ["run", "--release", "-p", "stress", "--target-dir", &folder];
    let mut command = nightly.cargo(root, program);
    command.env("RUSTFLAGS", flags(sanitizer, jitter)).env("CARGO_PROFILE_RELEASE_LTO", "off");
    run(command.args(["--", "--acquires", acquires]))
}

fn flags(sanitizer: &str, jitter: bool) -> String {
    let jitter = if jitter { " --cfg lease_jitter" } else { "" };
    format!("-Zsanitizer={sanitizer}{jitter}")
}
