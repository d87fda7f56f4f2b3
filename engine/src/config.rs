//! What can be chosen about a memory store, and its checks.

use std::time::Duration;

use thiserror::Error;

use crate::contract::MAX_TTL;

/// Most entries that a memory store may be built for: numbers of slots, of which there are a
/// quarter more, have 32 bits.
pub const MAX_ENTRIES: usize = (1 << 31) - 2;

/// Settings of a [`MemoryStore`](crate::MemoryStore). Setters take what they are given; the checks
/// are made when the store is built.
///
/// ```
/// use std::time::Duration;
/// use leasehold::{MemoryConfig, MemoryStore};
///
/// let config = MemoryConfig::default().max_entries(1_000).late_grace(Duration::from_secs(5));
/// assert!(MemoryStore::new(config).is_ok());
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct MemoryConfig {
    /// Most live keys, 1 to [`MAX_ENTRIES`]; default 100,000 (Coco's). At the bound an acquire of
    /// a new key is refused; nothing is evicted.
    pub max_entries: usize,
    /// How long a lease outlives its deadline for its holder alone, so that a late commit still
    /// counts; zero to ten years; default 30 s. Longer holds the places of dead holders longer.
    pub late_grace: Duration,
    /// Most bytes of all outcomes that are kept or still held by readers; default 64 MiB. Beyond
    /// it commits succeed without their outcome. Zero keeps none.
    pub max_outcome_bytes: usize,
    /// How the table's memory is mapped.
    pub pages: Pages,
}

/// How the memory of a store's table is mapped. For tables below some megabytes it makes no
/// difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pages {
    /// Asks for huge pages, where the system has them (on Linux by `madvise`); default true. Saves
    /// 10 to 20 percent of a verb in a store of a million keys. Costs memory in a store that is
    /// much larger than what it holds: keys spread over the whole table, so that some hundred of
    /// them per gigabyte touch all of it, instead of some hundred thousand with small pages; and
    /// the first touch of a page takes some 100 µs. A system that refuses is not an error.
    pub huge: bool,
    /// Touches every page when the store is made, so that no later call pays for that; default
    /// false. Costs the whole [footprint](crate::Footprint) at once, and some 0.3 s a gigabyte at
    /// construction.
    pub prefault: bool,
}

impl Default for Pages {
    fn default() -> Self {
        Self { huge: true, prefault: false }
    }
}

impl MemoryConfig {
    /// Sets [`MemoryConfig::max_entries`].
    #[must_use]
    pub const fn max_entries(mut self, max_entries: usize) -> Self {
        self.max_entries = max_entries;
        self
    }

    /// Sets [`MemoryConfig::late_grace`].
    #[must_use]
    pub const fn late_grace(mut self, late_grace: Duration) -> Self {
        self.late_grace = late_grace;
        self
    }

    /// Sets [`MemoryConfig::max_outcome_bytes`].
    #[must_use]
    pub const fn max_outcome_bytes(mut self, max_outcome_bytes: usize) -> Self {
        self.max_outcome_bytes = max_outcome_bytes;
        self
    }

    /// Sets [`MemoryConfig::pages`].
    #[must_use]
    pub const fn pages(mut self, pages: Pages) -> Self {
        self.pages = pages;
        self
    }

    /// Checks every setting.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        if self.max_entries == 0 || self.max_entries > MAX_ENTRIES {
            return Err(ConfigError::MaxEntries { given: self.max_entries });
        }
        if self.late_grace > MAX_TTL {
            return Err(ConfigError::LateGrace);
        }
        Ok(())
    }
}

impl Default for MemoryConfig {
    fn default() -> Self {
        Self {
            max_entries: 100_000,
            late_grace: Duration::from_secs(30),
            max_outcome_bytes: 64 << 20,
            pages: Pages::default(),
        }
    }
}

/// Why a [`MemoryConfig`] was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// `max_entries` is zero or too large.
    #[error("max_entries is {given}, it must be from 1 to {MAX_ENTRIES}")]
    MaxEntries {
        /// The number that was given.
        given: usize,
    },
    /// The system does not give the memory that `max_entries` need.
    #[error("max_entries is {given}, which needs {bytes} bytes, and the system does not give them")]
    Memory {
        /// The number that was given.
        given: usize,
        /// The bytes that it needs.
        bytes: usize,
    },
    /// `late_grace` is longer than ten years.
    #[error("late_grace is longer than ten years")]
    LateGrace,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_checked_at_both_ends() {
        let check = |max| MemoryConfig::default().max_entries(max).check();
        assert_eq!(check(0), Err(ConfigError::MaxEntries { given: 0 }));
        assert_eq!(check(1), Ok(()));
        assert_eq!(check(MAX_ENTRIES), Ok(()));
        assert!(check(MAX_ENTRIES + 1).is_err());
        let grace = |grace| MemoryConfig::default().late_grace(grace).check();
        assert_eq!(grace(Duration::ZERO), Ok(()));
        assert_eq!(grace(MAX_TTL), Ok(()));
        assert_eq!(grace(MAX_TTL + Duration::from_nanos(1)), Err(ConfigError::LateGrace));
    }
}
