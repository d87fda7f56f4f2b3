//! The long run of the engine, on a release build.

use std::path::Path;

use super::Done;
use crate::command::{cargo, run};
use crate::failure::Failure;

pub(super) fn soak(root: &Path) -> Result<Done, Failure> {
    run(&mut cargo(root, ["run", "--release", "-p", "leasehold", "--example", "soak"]))?;
    Ok(Done::Passed)
}
