//! `unsafe` has two homes, and every crate but the engine forbids it.

use super::tree::{File, Tree};
use super::{Fault, lexer};

/// Where unsafe code may be.
const HOMES: &[&str] = &["engine/src/index", "engine/src/expiry"];

/// The crate that does not forbid it as a whole.
const ENGINE: &str = "engine";

/// What every other crate says first.
const PROMISE: &str = "#![forbid(unsafe_code)]";

/// Unsafe code outside of its homes, and crates that do not forbid it.
pub(super) fn check(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for file in tree.rust() {
        if !file.is_in(HOMES) {
            let used = file.numbered().filter(|(_, line)| lexer::names(&line.code, "unsafe"));
            faults.extend(used.map(|(number, _)| {
                let what = format!("has unsafe code: it may only be in {}", HOMES.join(" and "));
                Fault::new(file, number, what)
            }));
        }
        let promises = file.lines.iter().any(|line| line.code.trim() == PROMISE);
        if is_root(file) && file.below(ENGINE).is_none() && !promises {
            let what = format!("is a crate's root without its promise: add `{PROMISE}`");
            faults.push(Fault::new(file, 1, what));
        }
    }
    faults
}

/// Whether a file is the root of a library or of a binary.
fn is_root(file: &File) -> bool {
    let Some((_, inside)) = file.path.rsplit_once("src/") else {
        return false;
    };
    match inside.strip_prefix("bin/") {
        None => inside == "lib.rs" || inside == "main.rs",
        Some(binary) => !binary.contains('/') || binary.ends_with("/main.rs"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use super::*;

    #[test]
    fn unsafe_code_outside_of_its_homes_is_a_fault() {
        let code = "//! x\n#![forbid(unsafe_code)]\nfn f() { unsafe { g() } } // unsafe";
        for path in ["engine/src/memory.rs", "http-adapter/src/lib.rs", "engine/examples/soak.rs"] {
            assert_eq!(
                found(check, &[(path, code)]),
                [format!(
                    "{path}:3: has unsafe code: it may only be in engine/src/index and \
                     engine/src/expiry"
                )]
            );
        }
        assert!(found(check, &[("engine/src/expiry/list.rs", code)]).is_empty());
    }

    #[test]
    fn every_root_but_the_engines_forbids_it() {
        for path in ["xtask/src/main.rs", "stores/sql/src/lib.rs", "h/src/bin/leasehold/main.rs"] {
            assert_eq!(
                found(check, &[(path, "//! `#![forbid(unsafe_code)]`")]),
                [format!(
                    "{path}:1: is a crate's root without its promise: add \
                     `#![forbid(unsafe_code)]`"
                )]
            );
            assert!(found(check, &[(path, "//! x\n#![forbid(unsafe_code)]")]).is_empty());
        }
        for path in ["engine/src/lib.rs", "h/src/bin/leasehold/demo.rs", "h/src/layer.rs"] {
            assert!(found(check, &[(path, "")]).is_empty(), "{path}");
        }
    }
}
