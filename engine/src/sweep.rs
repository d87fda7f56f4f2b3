//! One budgeted pass over what has fallen due: end the entry, then take its record out.
//!
//! Only frees memory: no verb's answer depends on whether a sweep has run. Any number may run at
//! once, beside every verb.

use crate::clock::Tick;
use crate::entries::Entries;
use crate::index::{Found, Index, Slot};
use crate::stats::Event;
use crate::word::Phase;

/// What a pass did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Swept {
    /// Records looked at, or slots in a look-through. Zero means that nothing was due.
    pub(crate) looked_at: usize,
    /// Entries that were ended.
    pub(crate) reclaimed: usize,
}

/// Looks at up to `budget` records whose bucket has begun.
pub(crate) fn records(entries: &Entries, now: Tick, budget: usize) -> Swept {
    let mut swept = Swept::default();
    while swept.looked_at < budget {
        let Some(due) = entries.expiry.due(now) else {
            break;
        };
        swept.looked_at += 1;
        let slot = Slot(due.slot());
        let Some(cell) = entries.word(slot) else {
            break;
        };
        // While the record still stands: a thread that stalls here hides nothing that is due.
        swept.reclaimed += usize::from(reclaim_or_list(entries, slot, now));
        if !entries.expiry.take(&due) {
            continue;
        }
        // Read after the record was unfiled: who moved the word before that did not file another.
        let word = cell.read();
        if word.is_kept() {
            entries.arm(slot, word, now);
        }
    }
    swept
}

/// Looks through every slot if an entry without a record may be due, until `budget` entries were
/// ended. Then what is left stays marked, and the next look begins anew: it is rare.
pub(crate) fn slots(entries: &Entries, now: Tick, budget: usize) -> Swept {
    let mut swept = Swept::default();
    if !entries.expiry.must_look_through(now) {
        return swept;
    }
    for (slot, _) in entries.index.slots() {
        if swept.reclaimed == budget {
            return swept;
        }
        swept.looked_at += 1;
        swept.reclaimed += usize::from(reclaim_or_list(entries, slot, now));
    }
    entries.expiry.forget_look_through();
    for (slot, word) in entries.index.slots() {
        if word.is_kept() {
            entries.arm(slot, word, now);
        }
    }
    swept
}

/// Ends the slot's entry if it is due; true if this call did. A slot that is dead already is listed
/// in any case: whoever ended it may have stalled before that, and listing it twice does no harm.
fn reclaim_or_list(entries: &Entries, slot: Slot, now: Tick) -> bool {
    let Some(cell) = entries.word(slot) else { return false };
    let mut word = cell.read();
    // Ends: each turn means that another thread moved the word.
    while entries.is_due(word, now) {
        if entries.end(Found { slot, word }) {
            entries.count(Event::Reclaimed);
            return true;
        }
        word = cell.read();
    }
    if word.phase() == Phase::Dead {
        entries.index.free(slot);
    }
    false
}
