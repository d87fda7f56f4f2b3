//! Builds the gateway as its users do, and says where it is.

use std::path::{Path, PathBuf};

use crate::command::{cargo, run};
use crate::failure::Failure;

/// Builds the release binary and gives its absolute path.
pub(super) fn build(root: &Path) -> Result<PathBuf, Failure> {
    let package = ["-p", "leasehold-http", "--bin", "leasehold"];
    run(cargo(root, ["build", "--release"]).args(package))?;
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    let name = format!("leasehold{}", std::env::consts::EXE_SUFFIX);
    absolute(&root.join(target).join("release").join(name))
}

/// A path that holds from every folder.
pub(super) fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    path.canonicalize()
        .map_err(|error| Failure::new(format!("cannot find {}: {error}", path.display())))
}
