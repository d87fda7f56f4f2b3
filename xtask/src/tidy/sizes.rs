//! Files stay small enough to read at one sitting, lines narrow enough for two columns of code.
//!
//! The length of functions is clippy's to check (`too_many_lines`).

use super::Fault;
use super::tree::{File, Tree};

/// Most lines of a Rust file, its tests not counted. Arbitrary; aim for 150.
const MOST_LINES: usize = 500;

/// Most columns of a line, in characters; rustfmt keeps code within the same width.
const MOST_COLUMNS: usize = 100;

/// Rust files that are too long, and lines of code that are. TOML cannot break an inline table, and
/// Markdown breaks none of its rows.
pub(super) fn check(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for file in tree.files() {
        let lines = file.lines.iter().filter(|line| !line.in_test).count();
        if lines > MOST_LINES {
            let what = format!(
                "has {lines} lines without its tests, more than {MOST_LINES}: split it by noun"
            );
            faults.push(Fault::new(file, 1, what));
        }
        if is_measured(file) {
            for (index, line) in file.text.lines().enumerate() {
                let columns = line.chars().count();
                if columns > MOST_COLUMNS {
                    let what = format!("has {columns} columns, more than {MOST_COLUMNS}: break it");
                    faults.push(Fault::new(file, index + 1, what));
                }
            }
        }
    }
    faults
}

fn is_measured(file: &File) -> bool {
    file.is_rust() || file.is_in(&[".ci"])
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use super::*;

    #[test]
    fn the_501st_line_is_a_fault_unless_it_is_a_test() {
        let full = "x;\n".repeat(MOST_LINES);
        let tests = format!("{full}#[cfg(test)]\nmod tests {{\n}}\n");
        assert!(found(check, &[("engine/src/word.rs", &full)]).is_empty());
        assert!(found(check, &[("engine/src/word.rs", &tests)]).is_empty());
        assert_eq!(
            found(check, &[("engine/src/word.rs", &format!("{full}y;\n"))]),
            ["engine/src/word.rs:1: has 501 lines without its tests, more than 500: split it by \
              noun"]
        );
    }

    #[test]
    fn the_101st_column_is_a_fault() {
        let wide = "é".repeat(MOST_COLUMNS);
        assert!(found(check, &[("engine/src/word.rs", &wide)]).is_empty());
        for path in ["engine/src/word.rs", ".ci/run"] {
            let faults = found(check, &[(path, &format!("\n{wide}!"))]);
            assert_eq!(faults, [format!("{path}:2: has 101 columns, more than 100: break it")]);
        }
        assert!(found(check, &[("docs/http.md", &format!("{wide}!"))]).is_empty());
    }
}
