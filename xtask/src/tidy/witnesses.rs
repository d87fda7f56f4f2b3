//! Every row of `docs/orderings.md` is held by a test that is there.

use super::Fault;
use super::orderings::{TABLE, tag_of_row};
use super::tree::Tree;

/// Where the tests are, unless a row names a file.
const TESTS: &str = "loom-tests";

/// Rows whose last cell names no test, or one that does not exist.
pub(super) fn check(tree: &Tree) -> Vec<Fault> {
    let Some(table) = tree.file(TABLE) else {
        return Vec::new();
    };
    let mut faults = Vec::new();
    for (index, row) in table.text.lines().enumerate() {
        let Some(tag) = tag_of_row(row) else { continue };
        let cell = row.trim().trim_end_matches('|').rsplit('|').next().unwrap_or_default();
        // Odd pieces stand between backticks.
        let witnesses: Vec<&str> = cell.split('`').skip(1).step_by(2).collect();
        if witnesses.is_empty() {
            let what = format!("[{tag}] is held by no test: name one in the last column");
            faults.push(Fault::new(table, index + 1, what));
        }
        for witness in witnesses.into_iter().filter(|witness| !is_there(tree, witness)) {
            let what = format!(
                "[{tag}] is held by `{witness}`, which is no file and no test in {TESTS}: write it"
            );
            faults.push(Fault::new(table, index + 1, what));
        }
    }
    faults
}

/// Whether a witness is a file, or a function of the tests.
fn is_there(tree: &Tree, witness: &str) -> bool {
    if witness.contains('/') {
        return tree.file(witness).is_some();
    }
    let function = format!("fn {witness}(");
    let mut tests = tree.rust().filter(|file| file.is_in(&[TESTS]));
    tests.any(|file| file.lines.iter().any(|line| line.code.contains(&function)))
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use super::*;

    fn of(row: &str) -> Vec<String> {
        let tests = ("loom-tests/tests/word.rs", "#[test]\nfn one_wins() {}\n// fn none() {}");
        found(check, &[(TABLE, &format!("| tag | held by |\n{row}")), tests])
    }

    #[test]
    fn a_row_is_held_by_tests_and_files_that_exist() {
        assert_eq!(of("| [W1] | `x` | `one_wins`, `loom-tests/tests/word.rs` |"), [""; 0]);
    }

    #[test]
    fn a_row_that_nothing_holds_is_a_fault() {
        assert_eq!(
            of("| [W1] | `x` | later |"),
            ["docs/orderings.md:2: [W1] is held by no test: name one in the last column"]
        );
        for missing in ["none", "one", "loom-tests/tests/other.rs"] {
            assert_eq!(
                of(&format!("| W1 | `{missing}` |")),
                [format!(
                    "docs/orderings.md:2: [W1] is held by `{missing}`, which is no file and no \
                     test in loom-tests: write it"
                )]
            );
        }
    }
}
