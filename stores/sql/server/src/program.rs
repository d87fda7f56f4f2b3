//! Finds the programs of an installed server.

use std::path::{Path, PathBuf};

/// The first folder of the path that has the program, else the last of `others` that has it. Where
/// it is a link, the folder that it leads to: a program's companions lie there.
pub(crate) fn folder_of(program: &str, others: &[PathBuf]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let has_it = |folder: &PathBuf| folder.join(program).is_file();
    std::env::split_paths(&path)
        .find(has_it)
        .or_else(|| others.iter().rev().find(|folder| has_it(folder)).cloned())?
        .join(program)
        .canonicalize()
        .ok()?
        .parent()
        .map(Path::to_owned)
}

/// The folders `parent/N/bin`, by rising N: where Debian keeps one PostgreSQL beside the other.
pub(crate) fn numbered(parent: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
    let mut versions: Vec<u32> =
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    versions.sort_unstable();
    versions.iter().map(|version| parent.join(version.to_string()).join("bin")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_comes_last() {
        let parent = tempfile::tempdir().expect("a temporary folder can be made");
        for version in ["9", "15", "common"] {
            std::fs::create_dir(parent.path().join(version)).expect("it is empty");
        }
        let expected = ["9", "15"].map(|version| parent.path().join(version).join("bin"));
        assert_eq!(numbered(parent.path()), expected);
    }

    #[test]
    fn a_program_that_is_nowhere_is_not_found() {
        assert_eq!(folder_of("no-such-program-anywhere", &[PathBuf::from("/")]), None);
        assert!(folder_of("sh", &[]).is_some());
    }

    #[test]
    fn a_link_is_followed_to_a_programs_companions() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let (real, linked) = (folder.path().join("real"), folder.path().join("linked"));
        for folder in [&real, &linked] {
            std::fs::create_dir(folder).expect("it is empty");
        }
        std::fs::write(real.join("no-such-program"), "").expect("it is empty");
        std::os::unix::fs::symlink(real.join("no-such-program"), linked.join("no-such-program"))
            .expect("it is empty");
        let found = folder_of("no-such-program", &[linked]);
        assert_eq!(found, real.canonicalize().ok());
    }
}
