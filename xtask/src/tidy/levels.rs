//! The engine is built in levels: a module imports from strictly lower ones.
//!
//! Tests are left out: they may put modules together as they like.

use super::tree::{File, Tree};
use super::{Fault, lexer};

/// Folder whose modules have levels.
const ENGINE: &str = "engine/src";

/// Every module of the engine's root with its level. `lib.rs` stands above all.
const LEVELS: &[(&str, u8)] = &[
    ("sync", 0),
    ("clock", 0),
    ("config", 0),
    ("random", 0),
    ("contract", 0),
    ("identity", 0),
    ("word", 1),
    ("token", 1),
    ("stats", 1),
    ("accounts", 2),
    ("index", 2),
    ("expiry", 2),
    ("place", 3),
    ("entries", 3),
    ("sweep", 4),
    ("footprint", 4),
    ("memory", 5),
    ("holder", 5),
    ("sweeper", 5),
    ("lib", 6),
];

/// Imports within one level that are meant: the importer, the imported, and why.
const SIDEWAYS: &[(&str, &str, &str)] = &[
    ("contract", "random", "attempts are random"),
    ("contract", "sync", "attempts count with a plain atomic"),
    ("config", "contract", "settings are checked against the longest ttl"),
    ("identity", "contract", "an address is what is identified"),
    ("identity", "random", "identities are keyed"),
    ("clock", "sync", "the coarse cell is an atomic"),
    ("clock", "contract", "ttls become deadlines"),
    ("holder", "memory", "a holder is a lease and its store"),
    ("memory", "holder", "a store lends its leases to holders"),
    ("sweeper", "memory", "a sweeper works for a store"),
];

/// Imports that go up, sideways or through the crate's root, and modules without a level.
pub(super) fn check(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for file in tree.rust() {
        let Some(inside) = file.below(ENGINE) else {
            continue;
        };
        let module = inside.split('/').next().unwrap_or(inside).trim_end_matches(".rs");
        let Some(level) = level_of(module) else {
            let what = format!("`{module}` has no level: add it to xtask/src/tidy/levels.rs");
            faults.push(Fault::new(file, 1, what));
            continue;
        };
        if module == "lib" {
            continue;
        }
        for (line, import) in imports(file) {
            let wrong = judge((module, level), &import);
            faults.extend(wrong.map(|what| Fault::new(file, line, what)));
        }
    }
    faults
}

fn level_of(module: &str) -> Option<u8> {
    LEVELS.iter().find(|(name, _)| *name == module).map(|(_, level)| *level)
}

/// What is wrong with an import, if anything.
fn judge((module, level): (&str, u8), import: &str) -> Option<String> {
    if import == module {
        return None;
    }
    let Some(other) = level_of(import) else {
        return Some(format!(
            "imports `{import}` through the crate's root: name the module that it lives in"
        ));
    };
    let sideways = SIDEWAYS.iter().any(|(from, to, _)| (*from, *to) == (module, import));
    (other >= level && !sideways).then(|| {
        format!(
            "`{module}` (level {level}) imports `{import}` (level {other}): import strictly lower \
             levels"
        )
    })
}

/// The first segments of all paths from the crate's root, with their lines.
fn imports(file: &File) -> Vec<(usize, String)> {
    let mut code = String::new();
    for line in &file.lines {
        if !line.in_test {
            code.push_str(&line.code);
        }
        code.push('\n');
    }
    let line_of = |at: usize| code.get(..at).unwrap_or_default().matches('\n').count() + 1;
    let mut found = Vec::new();
    for at in lexer::positions(&code, "crate::") {
        // `$crate::` in a macro is a path too, and judged alike.
        let rest = code.get(at + "crate::".len()..).unwrap_or_default();
        found.extend(heads(rest).into_iter().map(|head| (line_of(at), head)));
    }
    // From a folder's files `super::super::word` leads out, from the root's `super::word`.
    for at in lexer::positions(&code, "super::") {
        let rest = code.get(at + "super::".len()..).unwrap_or_default();
        let outside = heads(rest).into_iter().filter(|head| level_of(head).is_some());
        found.extend(outside.map(|head| (line_of(at), head)));
    }
    found
}

/// The first segment of a path, or of each path in a group.
fn heads(path: &str) -> Vec<String> {
    let word = |text: &str| -> String {
        text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
    };
    let Some(group) = path.trim_start().strip_prefix('{') else {
        return vec![word(path)];
    };
    let mut heads = vec![word(group)];
    let mut depth = 1_usize;
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 1 => break,
            '}' => depth -= 1,
            ',' if depth == 1 => heads.push(word(group.get(at + 1..).unwrap_or_default())),
            _ => {}
        }
    }
    heads.retain(|head| !head.is_empty());
    heads
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use super::*;

    fn of(path: &str, code: &str) -> Vec<String> {
        found(check, &[(&format!("engine/src/{path}"), code)])
    }

    #[test]
    fn an_import_from_above_is_a_fault() {
        assert_eq!(
            of("word.rs", "\nuse crate::memory::MemoryStore;"),
            ["engine/src/word.rs:2: `word` (level 1) imports `memory` (level 5): \
                 import strictly lower levels"]
        );
        assert!(of("sweep.rs", "use crate::word::LeaseWord;").is_empty());
        assert!(of("index/table.rs", "use crate::index::Slot;").is_empty());
    }

    #[test]
    fn groups_and_paths_in_code_and_ways_through_super_count() {
        for code in [
            "use crate::{contract::{Ttl, Token}, sweep::pass};",
            "use crate::{\n    contract::Ttl,\n    sweep,\n};",
            "fn f() { crate::sweep::pass() }",
            "use super::super::sweep;",
        ] {
            assert_eq!(of("expiry/list.rs", code).len(), 1, "{code}");
        }
        assert_eq!(of("stats.rs", "use super::memory::MemoryStore;").len(), 1);
        assert!(of("index/mod.rs", "use super::slots::Slot;").is_empty());
    }

    #[test]
    fn an_import_from_the_same_level_is_a_fault_unless_it_is_meant() {
        assert_eq!(of("stats.rs", "use crate::word::LeaseWord;").len(), 1);
        assert_eq!(of("contract/terms.rs", "use crate::clock::Tick;").len(), 1);
        assert!(of("contract/terms.rs", "use crate::sync::plain;").is_empty());
        assert!(of("holder.rs", "use crate::memory::MemoryStore;").is_empty());
    }

    #[test]
    fn index_and_expiry_meet_above() {
        assert!(of("index/mod.rs", "use crate::word::LeaseWord;").is_empty());
        assert_eq!(of("index/mod.rs", "use crate::expiry::Expiry;").len(), 1);
        assert_eq!(of("expiry/mod.rs", "use crate::index::Slot;").len(), 1);
    }

    #[test]
    fn an_import_through_the_root_hides_its_level() {
        assert_eq!(of("holder.rs", "use crate::MemoryStore;").len(), 1);
        assert!(of("lib.rs", "use crate::MemoryStore;").is_empty());
    }

    #[test]
    fn tests_may_import_anything() {
        let code = "#[cfg(test)]\nmod tests {\n    use crate::memory::MemoryStore;\n}";
        assert!(of("word.rs", code).is_empty());
    }

    #[test]
    fn a_new_module_needs_a_level() {
        assert_eq!(
            of("fresh.rs", ""),
            ["engine/src/fresh.rs:1: `fresh` has no level: add it to xtask/src/tidy/levels.rs"]
        );
    }
}
