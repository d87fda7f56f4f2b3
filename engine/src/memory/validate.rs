//! Every invariant of a store, walked from outside its verbs: for properties and fuzzers.
//!
//! True only while nothing runs. It reads every slot, so it is for small stores; and it must never
//! change anything.

use super::MemoryStore;
use crate::entries::leaf;
use crate::word::Phase;

impl MemoryStore {
    /// Walks every invariant of the store. Call it while no other call runs.
    ///
    /// # Errors
    ///
    /// The first invariant that does not hold, in words.
    #[doc(hidden)]
    pub fn validate(&self) -> Result<(), String> {
        let entries = &self.entries;
        entries.index.validate()?;
        let mut kept = 0;
        for (slot, cell) in entries.index.slots(0, usize::MAX) {
            let word = cell.read();
            if word.phase() == Phase::Pending {
                return Err(format!("{slot:?} is pending although nothing runs"));
            }
            kept += usize::from(word.is_kept());
            // A dead slot too, while whoever is granted it next relies on what was filed.
            if !word.is_retired() {
                entries.expiry.covers(leaf(slot), entries.due(word)).map_err(|why| {
                    format!("{slot:?} with {word:?} is not found by a sweep: {why}")
                })?;
            }
        }
        entries.accounts.validate(kept, entries.max_entries())?;
        entries.outcomes.validate(|slot| entries.word(slot).map(|cell| cell.read()))
    }
}
