//! The rules of the house that a program can check, one check per file.
//!
//! A check reads the tree and names faults; it must never change a file. Each rule that knows
//! files or crates by name keeps them in one table at the top of its file.

mod atomics;
mod clock;
mod crates;
mod heads;
mod leftovers;
mod levels;
mod lexer;
mod links;
mod macros;
mod names;
mod orderings;
mod sizes;
mod text;
pub(crate) mod tree;
mod unsafety;
mod witnesses;

use std::fmt;
use std::path::Path;

use crate::failure::Failure;
use tree::{File, Tree};

/// A rule that is broken at one place.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Fault {
    path: String,
    line: usize,
    /// What is wrong, and what to do.
    what: String,
}

impl Fault {
    fn new(file: &File, line: usize, what: impl Into<String>) -> Self {
        Self { path: file.path.clone(), line, what: what.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.what)
    }
}

/// Every check.
const CHECKS: &[fn(&Tree) -> Vec<Fault>] = &[
    atomics::check,
    clock::check,
    crates::check,
    heads::check,
    leftovers::check,
    levels::check,
    links::check,
    macros::check,
    names::check,
    orderings::check,
    sizes::check,
    text::check,
    unsafety::check,
    witnesses::check,
];

/// Runs every check over the files below a root and prints each fault.
pub(crate) fn run(root: &Path) -> Result<(), Failure> {
    let tree = Tree::read(root)?;
    let mut faults: Vec<Fault> = CHECKS.iter().flat_map(|check| check(&tree)).collect();
    faults.sort();
    for fault in &faults {
        println!("{fault}");
    }
    match faults.len() {
        0 => {
            println!("{} files, {} checks, no faults", tree.files().count(), CHECKS.len());
            Ok(())
        }
        1 => Err(Failure::new("tidy found 1 fault")),
        count => Err(Failure::new(format!("tidy found {count} faults"))),
    }
}

/// What a check says of a tree of given files, as it is printed.
#[cfg(test)]
fn found(check: fn(&Tree) -> Vec<Fault>, files: &[(&str, &str)]) -> Vec<String> {
    check(&Tree::of(files)).iter().map(Fault::to_string).collect()
}
