//! How many cases a property runs.
//!
//! The defaults keep the whole crate within a minute of a debug build.

use std::env;

/// The number of cases: `PROPTEST_CASES` if it is set to a number, else this property's own.
#[must_use]
pub fn cases(default: u32) -> u32 {
    env::var("PROPTEST_CASES").ok().and_then(|set| set.parse().ok()).unwrap_or(default)
}
