//! Every invariant of the outcomes, walked while nothing runs.

use super::{Cell, Outcomes, epoch, load};
use crate::index::Slot;
use crate::word::{Phase, Word};

impl Outcomes {
    /// Whether each kept outcome is that of its slot's grant, which is committed, and all of them
    /// are charged.
    ///
    /// # Errors
    ///
    /// The first invariant that does not hold, in words.
    pub(crate) fn validate(&self, word_of: impl Fn(Slot) -> Option<Word>) -> Result<(), String> {
        let guard = &epoch::pin();
        let mut bytes = 0;
        for (number, Cell(cell)) in self.cells.all().iter().enumerate() {
            let Some(kept) = load(cell, guard) else { continue };
            bytes += kept.outcome.as_bytes().len() as u64;
            let word = word_of(Slot(number as u32));
            let is_its = |word: &Word| {
                word.phase() == Phase::Committed && word.generation() == kept.generation
            };
            if !word.as_ref().is_some_and(is_its) {
                return Err(format!("slot {number} with {word:?} keeps an outcome that is over"));
            }
        }
        let used = self.bytes_used();
        if bytes > used || used > self.budget.max {
            let max = self.budget.max;
            return Err(format!("{bytes} bytes are kept, {used} charged, of {max}"));
        }
        Ok(())
    }
}
