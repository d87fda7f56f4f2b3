//! One budgeted pass over what has fallen due: leaf by leaf, end what is due, raise the leaf.
//!
//! Only frees memory: no verb's answer depends on whether a sweep has run. Any number may run at
//! once, beside every verb.
//!
//! A look at a leaf costs the same however little has ended there, and makes its lines this
//! thread's. So what the acquires do by the way waits until a leaf has been due for [`LINGER`], and
//! then ends all that is due there by now. Who needs a place, and who asks for a sweep, waits for
//! nothing.

use std::time::Duration;

use crate::accounts::Mine;
use crate::clock::{Deadline, Span, Tick};
use crate::entries::{BUCKETS_PER_LEAF, Entries};
use crate::expiry::NEVER;
use crate::index::{Found, Slot};
use crate::stats::Event;
use crate::word::{LeaseWord, Phase};

/// For how long a leaf may be due before an acquire looks at it by the way. Longer saves more, and
/// makes the looks that remain longer, which are among the slowest acquires: churn on two threads
/// took 258, 230, 217 and 200 ns with a p99 of 840, 930, 1,050 and 1,280, for 0, 64, 128 and 256.
/// Nothing under loom and jitter, so that sweeps meet everything else.
const LINGER: Duration =
    Duration::from_millis(if cfg!(any(lease_loom, lease_jitter)) { 0 } else { 128 });

/// Looks at one leaf that has been due for a while, if there is one.
#[inline]
pub(crate) fn by_the_way(entries: &Entries, mine: Mine<'_>, now: Tick) {
    let since = now.minus(const { Span::of(LINGER) });
    if entries.expiry.is_due(since) {
        leaf(entries, mine, since, now, usize::MAX);
    }
}

/// Ends entries that are due until `budget` were ended or no leaf is due; gives their number.
pub(crate) fn entries(entries: &Entries, mine: Mine<'_>, now: Tick, budget: usize) -> usize {
    let mut reclaimed = 0;
    while reclaimed < budget {
        match leaf(entries, mine, now, now, budget - reclaimed) {
            Some(more) => reclaimed += more,
            None => break,
        }
    }
    reclaimed
}

/// Looks at one leaf that was due at `since`, and ends what is due there `now`; nothing if none
/// was.
fn leaf(entries: &Entries, mine: Mine<'_>, since: Tick, now: Tick, budget: usize) -> Option<usize> {
    let raise = entries.expiry.next_due(since, mine.cursor())?;
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

#[cfg(all(test, not(lease_loom)))]
mod tests {
    use std::time::Duration;

    use crate::clock::Clock;
    use crate::config::MemoryConfig;
    use crate::contract::{Admission, Terms, Ttl};
    use crate::memory::MemoryStore;

    #[test]
    fn an_acquire_reclaims_by_the_way_what_has_been_due_for_a_while() {
        let (clock, hand) = Clock::manual();
        let store = MemoryStore::with_clock(MemoryConfig::default(), clock).expect("valid");
        let seconds = |seconds| Ttl::new(Duration::from_secs(seconds)).expect("above zero");
        let granted =
            |key: &[u8]| match store.acquire(store.identify(&[key]), &Terms::new(seconds(60))) {
                Ok(Admission::Granted(lease)) => lease,
                other => panic!("{other:?}"),
            };
        store.commit(&mut granted(b"short"), None, seconds(1)).expect("current");
        hand.advance(Duration::from_millis(1_100));
        drop(granted(b"while it lingers"));
        assert_eq!((store.usage().entries, store.stats().reclaimed), (2, 0));
        hand.advance(super::LINGER);
        drop(granted(b"by the way"));
        assert_eq!((store.usage().entries, store.stats().reclaimed), (2, 1));
    }
}
