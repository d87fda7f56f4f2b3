//! A file is named after the one thing that it holds.

use super::Fault;
use super::tree::Tree;

/// Names that say nothing of what is inside.
const EMPTY_NAMES: &[&str] = &["utils", "util", "common", "misc", "helpers", "helper"];

/// Rust files and folders with a name that says nothing.
pub(super) fn check(tree: &Tree) -> Vec<Fault> {
    tree.rust()
        .filter_map(|file| {
            let mut parts = file.path.split('/').map(|part| part.trim_end_matches(".rs"));
            let name = parts.find(|part| EMPTY_NAMES.contains(part))?;
            let what = format!("`{name}` names nothing: name the file after what it holds");
            Some(Fault::new(file, 1, what))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use super::*;

    #[test]
    fn a_name_that_says_nothing_is_a_fault() {
        for path in ["engine/src/utils.rs", "engine/src/misc/mod.rs", "stores/sql/tests/common.rs"]
        {
            assert_eq!(found(check, &[(path, "")]).len(), 1, "{path}");
        }
        assert!(found(check, &[("engine/src/common_prefix.rs", "")]).is_empty());
    }
}
