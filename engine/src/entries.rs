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
/// Fewer under loom and jitter, whose tables have few, so that leaves fall due apart.
pub(crate) const BUCKETS_PER_LEAF: usize = if cfg!(lease_loom) {
    2
} else if cfg!(lease_jitter) {
    1
} else {
    8
};

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
            expiry: Deadlines::new(leaves(max_entries))?,
            fingerprints: Fingerprints::new(slots)?,
            outcomes: Outcomes::new(slots, config.max_outcome_bytes)?,
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
    ///
    /// What was filed is relied upon only where it certainly was: a holder's own word, or the dead
    /// one that a holder left. Who took over from a stalled holder files anew.
    #[inline]
    pub(crate) fn arm(&self, slot: Slot, before: Word, word: Word) {
        let due = self.due(word);
        let same_holder = before.generation() == word.generation();
        let is_filed = if before.is_kept() { same_holder } else { !before.is_retired() };
        if !is_filed || due < self.due(before) {
            self.expiry.file(leaf(slot), due);
        }
    }

    /// Ends an entry if its word is still the one that was seen: then its place is free for any
    /// key. The outcome may go last, since it counts for its own generation alone.
    pub(crate) fn end(
        &self,
        mine: Mine<'_>,
        found: Found,
        kill: impl FnOnce(&LeaseWord, Word) -> Option<Word>,
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
pub(crate) fn leaf(slot: Slot) -> Leaf {
    Leaf((slot.bucket() / BUCKETS_PER_LEAF) as u32)
}

#[cfg(all(test, not(lease_loom)))]
mod tests {
    use super::*;
    use crate::clock::LAST_TICK;
    use crate::identity::Identity;
    use crate::index::{Claim, Look};
    use crate::sweep;

    /// Later than anything in these tests.
    const LATE: Tick = Tick(1_000_000);

    fn entries() -> Entries {
        let config = MemoryConfig::default().max_entries(1).late_grace(std::time::Duration::ZERO);
        Entries::new(&config).expect("the memory is there")
    }

    /// Grants a key whatever its slot was, and files it unless its holder is to stall before that.
    fn grant(entries: &Entries, bits: u128, deadline: u64, files: bool) -> Found {
        let sought = entries.index.sought(Identity::from_bits(bits));
        let place = entries.accounts.take(entries.accounts.mine());
        let (pending, before) = match entries.index.look(&sought) {
            Look::Found(Found { slot, word: before }) => {
                let cell = entries.word(slot).expect("a slot of this table");
                let word = cell.take(before, before.offset(), sought.stamp());
                (Found { slot, word: word.expect("nobody else moves it") }, before)
            }
            Look::Vacant(vacancy) => match entries.index.claim(&sought, &vacancy) {
                Claim::Claimed { pending, dead } => (pending, dead),
                other => panic!("{other:?}"),
            },
        };
        let cell = entries.word(pending.slot).expect("a slot of this table");
        let word = cell.publish(pending.word, Deadline(deadline));
        if let Some(place) = place {
            place.spend();
        }
        if files {
            entries.arm(pending.slot, before, word);
        }
        Found { slot: pending.slot, word }
    }

    fn sweep(entries: &Entries) -> usize {
        sweep::entries(entries, entries.accounts.mine(), LATE, usize::MAX)
    }

    #[test]
    fn what_falls_due_beyond_the_clocks_range_is_reclaimed() {
        let ten_years = std::time::Duration::from_secs(315_360_000);
        let config = MemoryConfig::default().max_entries(1).late_grace(ten_years);
        let entries = Entries::new(&config).expect("the memory is there");
        let lease = grant(&entries, 7, LAST_TICK, true);
        let due = entries.due(lease.word).0;
        let sweep = |now| sweep::entries(&entries, entries.accounts.mine(), Tick(now), usize::MAX);
        assert_eq!((sweep(due - 1), sweep(due)), (0, 1));
    }

    #[test]
    fn who_stalls_before_filing_hides_no_later_entry_of_the_slot() {
        let entries = entries();
        let stalled = grant(&entries, 7, 100, false);
        let forget = |cell: &LeaseWord, word| cell.reclaim(word, Tick(1));
        assert!(entries.end(entries.accounts.mine(), stalled, forget));
        grant(&entries, 7, 200, true);
        assert_eq!(sweep(&entries), 1);
    }

    #[test]
    fn who_stalls_before_filing_hides_nobody_who_takes_over() {
        let entries = entries();
        grant(&entries, 7, 100, false);
        grant(&entries, 7, 200, true);
        assert_eq!(sweep(&entries), 1);
    }

    #[test]
    fn a_later_grant_in_a_released_slot_is_covered_by_what_its_holder_filed() {
        let entries = entries();
        let released = grant(&entries, 7, 100, true);
        let release = |cell: &LeaseWord, word| cell.kill(word, || Tick(1));
        assert!(entries.end(entries.accounts.mine(), released, release));
        grant(&entries, 7, 200, true);
        assert_eq!(sweep::entries(&entries, entries.accounts.mine(), Tick(150), usize::MAX), 0);
        assert_eq!(sweep(&entries), 1);
    }
}
