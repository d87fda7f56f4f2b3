//! Where the workspace is, and who its members are. Reads only; never writes a file.

use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::manifest::Manifest;

/// The workspace's root folder.
///
/// Cargo names this crate's folder while it runs it; a binary that is started by hand falls back
/// to where it was built.
pub(crate) fn root() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    here.parent().map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}

/// The manifests of all members, in the order of the root manifest.
pub(crate) fn members(root: &Path) -> Result<Vec<Manifest>, Failure> {
    let read = |path: PathBuf| {
        fs::read_to_string(&path)
            .map_err(|error| Failure::new(format!("cannot read {}: {error}", path.display())))
    };
    let manifest = read(root.join("Cargo.toml"))?;
    Manifest::parse(&manifest)
        .members
        .iter()
        .map(|member| Ok(Manifest::parse(&read(root.join(member).join("Cargo.toml"))?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_crate_is_a_member() {
        let members = members(&root()).expect("the manifests can be read");
        assert!(members.iter().any(|member| member.package == "xtask"));
    }
}
