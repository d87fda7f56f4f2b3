//! The engine reads as it runs: it defines no macros.

use super::tree::Tree;
use super::{Fault, lexer};

/// Definitions of macros in the engine.
pub(super) fn check(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for file in tree.rust().filter(|file| file.is_in(&["engine/src"])) {
        for (number, line) in file.numbered() {
            if lexer::names(&line.code, "macro_rules!") {
                let what = "defines a macro in the engine: write a function or a generic type";
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
    fn a_macro_in_the_engine_is_a_fault() {
        let code = "\nmacro_rules! x { () => {} }";
        assert_eq!(
            found(check, &[("engine/src/index/mod.rs", code)]),
            ["engine/src/index/mod.rs:2: defines a macro in the engine: write a function or a \
              generic type"]
        );
        assert!(found(check, &[("stores/conformance/src/lib.rs", code)]).is_empty());
    }
}
