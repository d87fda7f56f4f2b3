//! Nothing unfinished is left behind.

use super::tree::Tree;
use super::{Fault, lexer};

/// What may not stand in code, and what to do about it.
const IN_CODE: &[(&str, &str)] = &[
    ("todo!", "is unfinished: write it"),
    ("unimplemented!", "is unfinished: write it"),
    ("dbg!", "prints for debugging: take it out"),
    ("#[ignore", "is a test that nobody runs: make it run or take it out"),
];

/// What may not stand in a comment or in a text file.
const IN_TEXT: &[&str] = &["FIXME", "XXX", "TODO"];

/// Marks of unfinished work in code, comments and texts.
pub(super) fn check(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for file in tree.files() {
        for (number, line) in file.numbered() {
            if let Some((_, what)) = IN_CODE.iter().find(|(word, _)| lexer::names(&line.code, word))
            {
                faults.push(Fault::new(file, number, *what));
            }
            faults.extend(mark(&line.comment).map(|what| Fault::new(file, number, what)));
        }
        if !file.is_rust() && file.path != "Cargo.lock" {
            let marks =
                file.text.lines().enumerate().filter_map(|(at, line)| Some((at, mark(line)?)));
            faults.extend(marks.map(|(at, what)| Fault::new(file, at + 1, what)));
        }
    }
    faults
}

fn mark(text: &str) -> Option<String> {
    let word = IN_TEXT.iter().find(|word| lexer::names(text, word))?;
    Some(format!("has a mark of unfinished work ({word}): do it, or write an issue"))
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use super::*;

    #[test]
    fn unfinished_code_is_a_fault() {
        for code in ["todo!()", "dbg!(x)", "#[ignore]", "#[ignore = \"slow\"]", "// FIXME: x"] {
            assert_eq!(found(check, &[("engine/src/word.rs", code)]).len(), 1, "{code}");
        }
        assert_eq!(
            found(check, &[("README.md", "one\nXXX two")]),
            ["README.md:2: has a mark of unfinished work (XXX): do it, or write an issue"]
        );
    }

    #[test]
    fn a_word_in_a_string_or_inside_another_is_fine() {
        assert!(found(check, &[("xtask/src/main.rs", "f(\"FIXME todo!\"); // XXXL")]).is_empty());
    }
}
