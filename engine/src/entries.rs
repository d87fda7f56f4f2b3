//! The parts of a memory store that an entry touches, and what ending an entry means for each.
//!
//! Shared by the verbs and the sweep, so that an entry ends in one way only: its word is killed,
//! its place is given back, its outcome goes.

use std::io;

use crate::accounts::{Accounts, Mine};
use crate::clock::{Deadline, Span, Tick};
use crate::config::MemoryConfig;
use crate::expiry::{Deadlines, Leaf};
use crate::index::{Fingerprints, Found, Outcomes, Slot, Table};
use crate::stats::Event;
use crate::word::{LeaseWord, Phase, Word};

/// Neighbouring buckets of one leaf of the expiry index: a look at a leaf reads as many lines.
pub(crate) const BUCKETS_PER_LEAF: usize = if cfg!(lease_loom) { 2 } else { 8 };

/// Leaves of a store for so many entries.
pub(crate) const fn leaves(max_entries: usize) -> usize {
    Table::buckets_for(max_entries).div_ceil(BUCKETS_PER_LEAF)
}

/// Everything that is kept per entry, and who counts it.
pub(crate) struct Entries {
    pub(crate) index: Table,
    pub(crate) expiry: Deadlines,
    pub(crate) fingerprints: Fingerprints,
    pub(crate) outcomes: Outcomes,
    pub(crate) accounts: Accounts,
    max_entries: usize,
    late_grace: Span,
}

impl Entries {
    /// No entries.
    ///
    /// # Errors
    ///
    /// The system's, if it does not give the memory.
    pub(crate) fn new(config: &MemoryConfig) -> io::Result<Self> {
        let max_entries = config.max_entries;
        let slots = Table::slots_for(max_entries);
        Ok(Self {
            index: Table::new(max_entries, config.pages)?,
            expiry: Deadlines::new(leaves(max_entries)),
            fingerprints: Fingerprints::new(slots),
            outcomes: Outcomes::new(slots, config.max_outcome_bytes),
            accounts: Accounts::new(max_entries),
            max_entries,
            late_grace: Span::of(config.late_grace),
        })
    }

    /// The bound.
    pub(crate) const fn max_entries(&self) -> usize {
        self.max_entries
    }

    /// How many entries there are; may lag while calls run, and never exceeds the bound.
    pub(crate) fn entries(&self) -> usize {
        self.accounts.entries().min(self.max_entries)
    }

    /// From when the entry's place may go to another key: a lease has its late grace. Of a dead
    /// word, until when what was filed for it stands: whatever it was, no later than that.
    pub(crate) fn due(&self, word: Word) -> Deadline {
        match word.phase() {
            Phase::InFlight | Phase::Dead => word.deadline().plus(self.late_grace),
            Phase::Pending | Phase::Committed => word.deadline(),
        }
    }

    /// Whether the entry is kept, and its place may go to another key.
    pub(crate) fn is_due(&self, word: Word, now: Tick) -> bool {
        word.is_kept() && self.due(word).is_past(now)
    }

    /// Makes sure that a kept entry is found when it falls due. Call it after the move that set the
    /// deadline, with the word from before: if what was filed for that fires no later, nothing
    /// needs to be done. A sweep sees either word, and neither is earlier than what it goes on to
    /// expect; or it sees the slot pending, and comes back.
    #[inline]
    pub(crate) fn arm(&self, slot: Slot, before: Word, word: Word) {
        let due = self.due(word);
        if before.is_retired() || due < self.due(before) {
            self.expiry.file(leaf(slot), due);
        }
    }

    /// Ends an entry if its word is still the one that was seen: then its place is free for any
    /// key. The outcome may go last, since it counts for its own generation alone.
    pub(crate) fn end(
        &self,
        mine: Mine<'_>,
        found: Found,
        kill: fn(&LeaseWord, Word) -> Option<Word>,
    ) -> bool {
        let Some(cell) = self.index.word(found.slot) else {
            return false;
        };
        let ending = mine.begin_end();
        if kill(cell, found.word).is_none() {
            return false;
        }
        ending.ended();
        mine.count(Event::Ended);
        self.outcomes.clear(found.slot, found.word.generation());
        true
    }

    /// A slot's word, if there is such a slot.
    pub(crate) fn word(&self, slot: Slot) -> Option<&LeaseWord> {
        self.index.word(slot)
    }
}

/// The leaf that stands for a slot.
fn leaf(slot: Slot) -> Leaf {
    Leaf((slot.bucket() / BUCKETS_PER_LEAF) as u32)
}
