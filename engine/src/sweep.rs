//! One budgeted pass over what has fallen due: leaf by leaf, end what is due, raise the leaf.
//!
//! Only frees memory: no verb's answer depends on whether a sweep has run. Any number may run at
//! once, beside every verb.

use crate::accounts::Mine;
use crate::clock::{Deadline, Tick};
use crate::entries::{BUCKETS_PER_LEAF, Entries};
use crate::expiry::NEVER;
use crate::index::{Found, Slot};
use crate::stats::Event;
use crate::word::{LeaseWord, Phase};

/// Ends entries that are due until `budget` were ended or no leaf is due; gives their number.
pub(crate) fn entries(entries: &Entries, mine: Mine<'_>, now: Tick, budget: usize) -> usize {
    let mut reclaimed = 0;
    while reclaimed < budget {
        match leaf(entries, mine, now, budget - reclaimed) {
            Some(more) => reclaimed += more,
            None => break,
        }
    }
    reclaimed
}

/// Looks at one leaf that is due; nothing if none is.
pub(crate) fn leaf(entries: &Entries, mine: Mine<'_>, now: Tick, budget: usize) -> Option<usize> {
    let raise = entries.expiry.next_due(now, mine.cursor())?;
    let number = raise.leaf().0 as usize;
    mine.set_cursor(number + 1);
    let first = number * BUCKETS_PER_LEAF;
    entries.index.prefetch_words(first, BUCKETS_PER_LEAF);
    let mut reclaimed = 0;
    let mut earliest = NEVER;
    for (slot, cell) in entries.index.slots(first, BUCKETS_PER_LEAF) {
        if reclaimed == budget {
            // The leaf stays due for what was not looked at.
            return Some(reclaimed);
        }
        let (ended, next) = settle(entries, mine, slot, cell, now);
        reclaimed += usize::from(ended);
        earliest = earliest.min(next);
    }
    entries.expiry.finish(raise, earliest);
    Some(reclaimed)
}

/// Ends the slot's entry if it is due, which the first answer tells; the second, when the slot is
/// to be looked at next.
fn settle(
    entries: &Entries,
    mine: Mine<'_>,
    slot: Slot,
    cell: &LeaseWord,
    now: Tick,
) -> (bool, Deadline) {
    let mut ended = false;
    // Ends: each turn ends the entry, retires the slot, or means that another thread moved the
    // word.
    loop {
        let word = cell.read();
        let due = entries.due(word);
        match word.phase() {
            // Its deadline is not known yet, and who grants it may rely on what was filed before.
            Phase::Pending => return (ended, Deadline(now.0.saturating_add(1))),
            Phase::Dead if word.is_retired() => return (ended, NEVER),
            _ if !due.is_past(now) => return (ended, due),
            Phase::Dead => {
                cell.retire(word, now);
            }
            Phase::InFlight | Phase::Committed => {
                if entries.end(mine, Found { slot, word }, |cell, word| cell.reclaim(word, now)) {
                    mine.count(Event::Reclaimed);
                    ended = true;
                }
            }
        }
    }
}
