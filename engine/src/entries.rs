//! The parts of a memory store that an entry touches, and what ending an entry means for each.
//!
//! Shared by the verbs and the sweep, so that an entry ends in one way only. The bound is the
//! number of slots: a key that is granted has one, and what ends gives it back.

use std::time::Duration;

use crate::accounts::Accounts;
use crate::clock::{Deadline, Tick};
use crate::config::MemoryConfig;
use crate::expiry::Expiry;
use crate::index::{ChainIndex, Fingerprints, Found, Index, Outcomes, Slot};
use crate::stats::{Event, Stats};
use crate::word::{LeaseWord, Phase, Word};

/// Everything that is kept per entry.
pub(crate) struct Entries {
    pub(crate) index: ChainIndex,
    pub(crate) expiry: Expiry,
    pub(crate) fingerprints: Fingerprints,
    pub(crate) outcomes: Outcomes,
    accounts: Accounts,
    max_entries: usize,
    late_grace: Duration,
}

impl Entries {
    pub(crate) fn new(config: &MemoryConfig) -> Self {
        let count = config.max_entries;
        Self {
            index: ChainIndex::new(count),
            expiry: Expiry::new(count),
            fingerprints: Fingerprints::new(count),
            outcomes: Outcomes::new(count, config.max_outcome_bytes),
            accounts: Accounts::new(count),
            max_entries: count,
            late_grace: config.late_grace,
        }
    }

    /// The bound.
    pub(crate) const fn max_entries(&self) -> usize {
        self.max_entries
    }

    /// How many entries there are; may lag while calls run, and never exceeds the bound.
    pub(crate) fn entries(&self) -> usize {
        self.accounts.entries().min(self.max_entries)
    }

    /// Counts one event.
    pub(crate) fn count(&self, event: Event) {
        self.accounts.mine().count(event);
    }

    /// What was counted.
    pub(crate) fn stats(&self) -> Stats {
        self.accounts.snapshot()
    }

    /// From when the entry's place may go to another key: a lease has its late grace.
    pub(crate) fn due(&self, word: Word) -> Deadline {
        match word.phase() {
            Phase::InFlight => word.deadline().plus(self.late_grace),
            _ => word.deadline(),
        }
    }

    /// Whether the entry is kept, and its place may go to another key.
    pub(crate) fn is_due(&self, word: Word, now: Tick) -> bool {
        word.is_kept() && self.due(word).is_past(now)
    }

    /// Makes sure that a kept entry is found when it falls due.
    pub(crate) fn arm(&self, slot: Slot, word: Word, now: Tick) {
        self.expiry.arm(slot.0, self.due(word), now);
    }

    /// Ends an entry if its word is still the one that was seen: then its slot is free for any key.
    /// The outcome may go last, since it counts for its own generation alone.
    pub(crate) fn end(&self, found: Found) -> bool {
        let Some(cell) = self.index.word(found.slot) else {
            return false;
        };
        if cell.kill(found.word).is_none() {
            return false;
        }
        self.index.free(found.slot);
        self.count(Event::Ended);
        self.outcomes.clear(found.slot, found.word.generation());
        true
    }

    /// A slot's word, if there is such a slot.
    pub(crate) fn word(&self, slot: Slot) -> Option<&LeaseWord> {
        self.index.word(slot)
    }
}
