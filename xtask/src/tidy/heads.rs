//! Every module says what it is for before anything else.

use super::Fault;
use super::tree::Tree;

/// Files below a `src` folder that do not open with `//!`.
pub(super) fn check(tree: &Tree) -> Vec<Fault> {
    tree.rust()
        .filter(|file| file.path.starts_with("src/") || file.path.contains("/src/"))
        .filter(|file| !file.text.starts_with("//!"))
        .map(|file| Fault::new(file, 1, "has no head: begin with `//!` and what it is for"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use super::*;

    #[test]
    fn a_module_without_a_head_is_a_fault() {
        for text in ["", "use x;\n//! late", "// plain", "/// of an item"] {
            assert_eq!(
                found(check, &[("engine/src/word.rs", text)]),
                ["engine/src/word.rs:1: has no head: begin with `//!` and what it is for"]
            );
        }
        assert!(found(check, &[("engine/src/word.rs", "//! The word.\n")]).is_empty());
    }
}
