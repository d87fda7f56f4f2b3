//! Every memory ordering of the engine has a reason with a tag, and every tag is a row of
//! `docs/orderings.md`.

use std::collections::{BTreeMap, BTreeSet};

use super::Fault;
use super::lexer::{self, Line};
use super::tree::{File, Tree};

/// Code whose orderings are tagged.
const ENGINE: &str = "engine/src";

/// The table of tags: a row begins with `| [W1] |` or `| W1 |`.
pub(super) const TABLE: &str = "docs/orderings.md";

/// The shim, which passes orderings through and needs no tags.
const SHIM: &[&str] = &["engine/src/sync.rs", "engine/src/sync"];

/// Files that only count or tell the time, so that no protocol depends on them: they need no tags,
/// as long as they take nothing but `plain` atomics from the shim.
const PLAIN: &[&str] =
    &["engine/src/stats.rs", "engine/src/clock.rs", "engine/src/contract/terms.rs"];

/// Lines above an ordering within which its tag stands.
const REACH: usize = 6;

/// The memory orderings; the orderings of `cmp` are none.
const ORDERINGS: &[&str] = &[
    "Ordering::Relaxed",
    "Ordering::Acquire",
    "Ordering::Release",
    "Ordering::AcqRel",
    "Ordering::SeqCst",
];

/// Orderings without a tag, tags without a row, rows without a tag.
pub(super) fn check(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    let rows = tree.file(TABLE).map(rows).unwrap_or_default();
    let mut used = BTreeSet::new();
    for file in tree.rust().filter(|file| file.is_in(&[ENGINE])) {
        for (number, line) in file.numbered().filter(|(_, line)| !line.in_test) {
            for tag in tags(&line.comment) {
                if !rows.contains_key(&tag) {
                    let what = format!("the tag [{tag}] is no row of {TABLE}: add it there");
                    faults.push(Fault::new(file, number, what));
                }
                used.insert(tag);
            }
            faults.extend(judge(file, number, line).map(|what| Fault::new(file, number, what)));
        }
    }
    if let Some(table) = tree.file(TABLE) {
        for (tag, line) in rows.iter().filter(|(tag, _)| !used.contains(*tag)) {
            let what = format!("the tag [{tag}] stands nowhere in {ENGINE}: take the row out");
            faults.push(Fault::new(table, *line, what));
        }
    }
    faults
}

/// What is wrong with the orderings of a line, if anything.
fn judge(file: &File, number: usize, line: &Line) -> Option<String> {
    if file.is_in(SHIM) {
        return None;
    }
    let names = |word: &str| lexer::names(&line.code, word);
    if file.is_in(PLAIN) {
        let modelled = names("crate::sync") && !names("crate::sync::plain");
        return modelled.then(|| "takes more than `plain` atomics, but has no tags: tag it".into());
    }
    let untagged = ORDERINGS.iter().any(|name| names(name)) && !is_tagged(file, number);
    untagged.then(|| {
        format!(
            "has an ordering without a tag: say why, as in `// [W1] ..`, within the {REACH} lines \
             above it"
        )
    })
}

/// Whether a tag stands in a line's statement or shortly above it.
fn is_tagged(file: &File, number: usize) -> bool {
    let first = statement_start(&file.lines, number).saturating_sub(REACH + 1);
    let reach = file.lines.get(first..number).unwrap_or_default();
    reach.iter().any(|line| !tags(&line.comment).is_empty())
}

/// The first line of the statement that a line belongs to, as far as no comment or block is inside:
/// the orderings of a compare and swap often stand on lines of their own.
fn statement_start(lines: &[Line], number: usize) -> usize {
    let goes_on = |number: &usize| {
        let above = lines.get(number - 2).map_or("", |line| line.code.trim());
        !above.is_empty() && !above.ends_with([';', '{', '}'])
    };
    let mut start = number;
    while start > 1 && goes_on(&start) {
        start -= 1;
    }
    start
}

/// The tags of a comment: `[W1]`, or several in one bracket, `[W1, W2]`.
fn tags(comment: &str) -> Vec<String> {
    let mut tags = Vec::new();
    for bracket in comment.split('[').skip(1).filter_map(|rest| rest.split_once(']')) {
        let listed: Vec<&str> = bracket.0.split(',').map(str::trim).collect();
        if listed.iter().all(|one| is_tag(one)) {
            tags.extend(listed.into_iter().map(str::to_owned));
        }
    }
    tags
}

/// A capital letter and a number.
fn is_tag(text: &str) -> bool {
    let mut chars = text.chars();
    let letter = chars.next().is_some_and(|c| c.is_ascii_uppercase());
    let number = chars.as_str();
    letter && !number.is_empty() && number.chars().all(|c| c.is_ascii_digit())
}

/// The tags of the table, with their lines.
fn rows(table: &File) -> BTreeMap<String, usize> {
    let lines = table.text.lines().enumerate();
    lines.filter_map(|(index, line)| Some((tag_of_row(line)?, index + 1))).collect()
}

/// The tag in the first cell of a row.
pub(super) fn tag_of_row(line: &str) -> Option<String> {
    let cell = line.trim().strip_prefix('|')?.split('|').next()?.trim();
    let tag = cell.trim_matches(['`', '[', ']']);
    is_tag(tag).then(|| tag.to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use super::*;

    const ROWS: (&str, &str) = (TABLE, "| tag |\n|---|\n| [W1] | a |\n| W2 | b |\n");
    const TAGGED: &str = "// [W1] why\n// [W2] why\nx.load(Ordering::Acquire)";

    fn of(path: &str, code: &str, table: (&str, &str)) -> Vec<String> {
        found(check, &[(path, code), table])
    }

    #[test]
    fn an_ordering_without_a_tag_is_a_fault() {
        let far = format!("{TAGGED}\n{}x.load(Ordering::Acquire)", "\n".repeat(8));
        assert_eq!(
            of("engine/src/word.rs", &far, ROWS),
            ["engine/src/word.rs:12: has an ordering without a tag: say why, as in \
                `// [W1] ..`, within the 6 lines above it"]
        );
    }

    #[test]
    fn a_tag_reaches_six_lines_down_and_its_own() {
        for gap in 0..=5 {
            let code = format!("{TAGGED}\n{}x.load(Ordering::SeqCst)", "\n".repeat(gap));
            let expected = usize::from(gap > 4);
            assert_eq!(of("engine/src/word.rs", &code, ROWS).len(), expected, "{gap}");
        }
        let same = "x.load(Ordering::Relaxed) // [W1, W2] why";
        assert!(of("engine/src/word.rs", same, ROWS).is_empty());
    }

    #[test]
    fn the_reach_counts_from_the_start_of_a_statement() {
        let tagged = "// [W1] why\n// [W2] why\n\n\n\n\n";
        let call = "let x = self\n.a\n.swap(\nb,\nc,\nOrdering::AcqRel,\nOrdering::Relaxed,\n);\n";
        assert!(of("engine/src/word.rs", &format!("{tagged}{call}"), ROWS).is_empty());
        let next = format!("{tagged}{call}\nx.load(Ordering::SeqCst);");
        assert_eq!(of("engine/src/word.rs", &next, ROWS).len(), 1);
    }

    #[test]
    fn tags_and_rows_need_each_other() {
        assert!(of("engine/src/word.rs", TAGGED, ROWS).is_empty());
        let fewer = (TABLE, "| W1 | a |");
        assert_eq!(
            of("engine/src/word.rs", TAGGED, fewer),
            ["engine/src/word.rs:2: the tag [W2] is no row of docs/orderings.md: add it there"]
        );
        let more = (TABLE, "| W1 | a |\n| `[W2]` | b |\n| B7 | c |");
        assert_eq!(
            of("engine/src/word.rs", TAGGED, more),
            ["docs/orderings.md:3: the tag [B7] stands nowhere in engine/src: take the row out"]
        );
        assert_eq!(found(check, &[("engine/src/word.rs", TAGGED)]).len(), 2);
    }

    #[test]
    fn counters_tests_and_comparisons_need_none() {
        let none = (TABLE, "");
        assert!(of("engine/src/stats.rs", "x.load(Ordering::Relaxed)", none).is_empty());
        assert!(of("engine/src/stats.rs", "use crate::sync::plain::AtomicU64;", none).is_empty());
        assert_eq!(of("engine/src/stats.rs", "use crate::sync::AtomicU64;", none).len(), 1);
        assert!(of("engine/src/word.rs", "x == Ordering::Less", none).is_empty());
        let test = "#[cfg(test)]\nmod tests {\n    x.load(Ordering::SeqCst)\n}";
        assert!(of("engine/src/word.rs", test, none).is_empty());
        assert!(of("proptests/src/lib.rs", "x.load(Ordering::SeqCst)", none).is_empty());
    }
}
