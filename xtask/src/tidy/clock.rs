//! Time is a parameter: `engine/src/clock.rs` alone reads a clock.
//!
//! Clippy's `disallowed_methods` finds the calls by type; this check finds who switches it off, and
//! the clocks that clippy is not told of.

use super::tree::{File, Tree};
use super::{Fault, lexer};

/// Where no clock may be read.
const CLOCKLESS: &[&str] = &[
    "engine/src",
    "http-adapter/src",
    "stores/conformance/src",
    "stores/redis/src",
    "stores/sql/src",
];

/// The files that read one.
const CLOCKS: &[&str] = &["engine/src/clock.rs"];

/// Whose timers may be used, as a runtime's own.
const TOKIO: &str = "tokio::time";

/// Reads of a clock outside of the files that are there for it, tests included.
pub(super) fn check(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for file in tree.rust().filter(|file| file.is_in(CLOCKLESS) && !file.is_in(CLOCKS)) {
        for (number, line) in file.numbered() {
            if reads_a_clock(file, &line.code) {
                let what = "reads a clock: take the time as a parameter, from engine/src/clock.rs";
                faults.push(Fault::new(file, number, what));
            }
            if lexer::names(&line.code, "clippy::disallowed_methods") {
                let what = "switches the check for clocks off: take the time as a parameter";
                faults.push(Fault::new(file, number, what));
            }
        }
    }
    faults
}

fn reads_a_clock(file: &File, code: &str) -> bool {
    if ["SystemTime::now", "quanta"].iter().any(|word| lexer::names(code, word)) {
        return true;
    }
    // Outside of the engine an `Instant` may be tokio's; clippy tells the two apart.
    let tokio = !file.is_in(&["engine/src"])
        && file.lines.iter().any(|line| lexer::names(&line.code, TOKIO));
    lexer::names(code, "Instant::now") && !tokio
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use super::*;

    #[test]
    fn reading_a_clock_outside_of_its_file_is_a_fault() {
        for code in
            ["let x = Instant::now();", "std::time::SystemTime::now()", "use quanta::Clock;"]
        {
            for path in ["engine/src/memory.rs", "http-adapter/src/service.rs"] {
                assert_eq!(
                    found(check, &[(path, code)]),
                    [format!(
                        "{path}:1: reads a clock: take the time as a parameter, from \
                         engine/src/clock.rs"
                    )]
                );
            }
            assert!(found(check, &[("engine/src/clock.rs", code)]).is_empty());
            assert!(found(check, &[("benches/benches/lifecycle.rs", code)]).is_empty());
        }
    }

    #[test]
    fn tokio_has_its_own_clock_in_the_adapter_alone() {
        let code = "use tokio::time::Instant;\nlet x = Instant::now();";
        assert!(found(check, &[("http-adapter/src/renew.rs", code)]).is_empty());
        assert_eq!(found(check, &[("engine/src/sweeper.rs", code)]).len(), 1);
    }

    #[test]
    fn switching_clippys_check_off_is_a_fault() {
        let code = "#[expect(clippy::disallowed_methods, reason = \"x\")]";
        assert_eq!(found(check, &[("stores/sql/src/lib.rs", code)]).len(), 1);
        assert!(found(check, &[("engine/src/clock.rs", code)]).is_empty());
    }
}
