//! Atomics have one door, `engine/src/sync.rs`, so that loom explores the code that ships.

use super::tree::Tree;
use super::{Fault, lexer};

/// The module that may name them.
const DOOR: &str = "engine/src/sync.rs";
const BEHIND: &str = "engine/src/sync";

/// Other sources of atomics. A module called `atomic` is always one.
const SOURCES: &[&str] = &["atomic", "loom::", "portable_atomic"];

/// Imports after which an ordering is written without its type. The first is one anywhere; the
/// second may be `cmp`'s outside of the engine.
const GLOBS: &[&str] = &["Ordering::*", "Ordering::{"];

/// Names of a source of atomics in the engine outside of the door, tests included; and globs of
/// orderings anywhere, which would make our verbs and the orderings read alike.
pub(super) fn check(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for file in tree.rust() {
        let shut_out = file.is_in(&["engine/src"]) && !file.is_in(&[DOOR, BEHIND]);
        for (number, line) in file.numbered() {
            if shut_out && SOURCES.iter().any(|source| lexer::names(&line.code, source)) {
                let what = format!("names a source of atomics: take them from {DOOR}");
                faults.push(Fault::new(file, number, what));
            }
            let unnamed = if file.is_in(&["engine/src"]) { GLOBS } else { &GLOBS[..1] };
            if unnamed.iter().any(|glob| lexer::names(&line.code, glob)) {
                let what = "imports all orderings: write `Ordering::Acquire` and so on in full";
                faults.push(Fault::new(file, number, what));
            }
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use super::*;

    #[test]
    fn every_way_round_the_door_is_a_fault() {
        for code in [
            "use std::sync::atomic::AtomicU64;",
            "use core::sync::atomic::fence;",
            "use std::sync::{Arc, atomic::AtomicU64};",
            "use std::sync::{Arc, atomic};",
            "use loom::sync::Arc;",
            "use crossbeam_utils::atomic::AtomicCell;",
        ] {
            let faults = found(check, &[("engine/src/word.rs", code)]);
            assert_eq!(
                faults,
                ["engine/src/word.rs:1: names a source of atomics: take them from \
                  engine/src/sync.rs"],
                "{code}"
            );
            assert!(found(check, &[("engine/src/sync.rs", code)]).is_empty(), "{code}");
            assert!(found(check, &[("proptests/src/lib.rs", code)]).is_empty(), "{code}");
        }
    }

    #[test]
    fn the_shim_and_epoch_pointers_are_fine() {
        let code =
            "use crate::sync::AtomicU64;\nuse crossbeam_epoch::Atomic;\n// std::sync::atomic";
        assert!(found(check, &[("engine/src/word.rs", code)]).is_empty());
    }

    #[test]
    fn a_glob_of_orderings_is_a_fault_everywhere() {
        let group = "use crate::sync::Ordering::{Acquire, Release};";
        assert_eq!(found(check, &[("engine/src/word.rs", group)]).len(), 1);
        let faults = found(check, &[("benches/src/lib.rs", "a;\nuse x::Ordering::*;")]);
        assert_eq!(faults.len(), 1);
        assert!(faults[0].starts_with("benches/src/lib.rs:2: imports all orderings"));
    }
}
