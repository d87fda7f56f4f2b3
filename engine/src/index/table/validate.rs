//! Every invariant of the table, walked while nothing runs.

use std::collections::HashMap;

use super::Table;
use crate::index::digest::Sought;
use crate::index::sequence::{Home, OFFSETS, Offset, SLOTS};
use crate::index::{Look, Slot};
use crate::word::Word;

impl Table {
    /// Whether each header says what can be, each used slot is found by a look, and none holds what
    /// another holds.
    ///
    /// # Errors
    ///
    /// The first invariant that does not hold, in words.
    pub(crate) fn validate(&self) -> Result<(), String> {
        for home in self.shape.homes() {
            let header = self.bucket(home, Offset::HOME).header.read();
            let (reach, position) = (header.reach(), header.designated());
            let is_on_the_way = |offset: Offset| (offset.to_bits() as usize) < OFFSETS;
            if !is_on_the_way(reach)
                || !is_on_the_way(position.offset)
                || position.slot >= SLOTS
                || position.offset > reach
            {
                return Err(format!("the header of {home:?} is {header:?}"));
            }
        }
        let mut holders = HashMap::new();
        for (slot, cell) in self.slots(0, usize::MAX) {
            let word = cell.read();
            if word.was_never_used() {
                continue;
            }
            let digest = self.buckets.as_slice()[slot.bucket()].digest(slot.within());
            if let Some(other) = holders.insert(digest, slot) {
                return Err(format!("{other:?} and {slot:?} hold one identity"));
            }
            if !self.is_found(slot, word, digest) {
                return Err(format!("no look finds {slot:?} with {word:?}"));
            }
        }
        Ok(())
    }

    /// Whether a look from a home that the slot may belong to ends there. A slot does not say which
    /// of several it is.
    fn is_found(&self, slot: Slot, word: Word, (low, high): (u64, u32)) -> bool {
        let offset = Offset::from_bits(word.offset());
        let is_its = |home: &Home| self.shape.bucket(*home, offset) == slot.bucket();
        self.shape.homes().filter(is_its).any(|home| {
            let look = self.look(&Sought { home, low, high });
            matches!(look, Look::Found(found) if found.slot == slot && found.word == word)
        })
    }
}
