//! How much memory a store takes, told before any of it is.

use crate::config::{MAX_ENTRIES, MemoryConfig};
use crate::entries::leaves;
use crate::expiry::Deadlines;
use crate::index::Table;

/// Numbers of slots have 32 bits.
const _: () = assert!(Table::slots_for(MAX_ENTRIES) < u32::MAX as usize);

/// Bytes that a memory store takes, by what they are for. Of [`table`](Self::table) only the pages
/// that were touched are resident, unless they are prefaulted: some thousand keys touch them all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Footprint {
    /// The slots, and what finds them.
    pub table: usize,
    /// The index of what falls due.
    pub deadlines: usize,
    /// For fingerprints: address space only, until the first one is given.
    pub fingerprints_when_used: usize,
    /// For outcomes, beside their own bytes: address space only, until the first one is given.
    pub outcomes_when_used: usize,
}

impl Footprint {
    /// Bytes at construction, without the address space that nothing uses yet. Some kilobytes for
    /// each 16 threads that call come on top.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.table.saturating_add(self.deadlines)
    }

    /// Bytes once fingerprints and outcomes are used, without the outcomes' own, which
    /// [`MemoryConfig::max_outcome_bytes`] bounds.
    #[must_use]
    pub const fn bytes_at_most(&self) -> usize {
        self.bytes()
            .saturating_add(self.fingerprints_when_used)
            .saturating_add(self.outcomes_when_used)
    }
}

impl MemoryConfig {
    /// What a store with these settings will take. Allocates nothing, so it can be printed before a
    /// store is made; settings that no store takes give figures too.
    ///
    /// ```
    /// use leasehold::MemoryConfig;
    ///
    /// let footprint = MemoryConfig::default().footprint();
    /// assert!(footprint.bytes() < 5_000_000, "{footprint:?}");
    /// ```
    #[must_use]
    pub fn footprint(&self) -> Footprint {
        let slots = Table::slots_for(self.max_entries);
        Footprint {
            table: Table::bytes(self.max_entries),
            deadlines: Deadlines::bytes(leaves(self.max_entries)),
            fingerprints_when_used: slots.saturating_mul(8),
            outcomes_when_used: slots.saturating_mul(8),
        }
    }
}

#[cfg(all(test, not(lease_loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_footprint_grows_with_the_bound_and_never_overflows() {
        let bytes = |max| MemoryConfig::default().max_entries(max).footprint().bytes_at_most();
        assert!(bytes(1) < bytes(1_000) && bytes(1_000) < bytes(MAX_ENTRIES));
        assert!(bytes(MAX_ENTRIES) < bytes(usize::MAX));
        let million = MemoryConfig::default().max_entries(1_000_000).footprint();
        assert!(million.bytes() < 33_500_000, "{million:?}");
    }
}
