//! Acquire: find, answer, take over, take again, or claim.

use super::MemoryStore;
use crate::clock::{Deadline, Moment};
use crate::contract::{AcquireError, Admission, Lease, Terms};
use crate::identity::Identity;
use crate::index::{Claim, Found, Index};
use crate::place::Spot;
use crate::stats::Event;
use crate::sweep;
use crate::sync::yield_now;
use crate::word::{Phase, Word};

/// Records that one acquire looks at before it claims a slot: enough that the index of what falls
/// due shrinks faster than it grows, little enough not to be felt (30 put p99 at 6 µs).
const SWEEP_BUDGET_RECORDS: usize = 4;

/// Records that it looks at in one go when no slot is free. It goes on until one is, or nothing is
/// due, so this only says how often it looks for a slot. Arbitrary.
const SWEEP_BUDGET_FULL_RECORDS: usize = 64;

/// What one look at a live entry came to.
enum Look {
    Answer(Admission),
    /// Another thread moved the entry while it was read.
    Again,
}

impl MemoryStore {
    /// Asks for the right to run the request that the identity stands for.
    ///
    /// Lock-free. Granted linearizes where the entry's word is taken, or, for a key without an
    /// entry, where its identity enters the index. Never panics.
    ///
    /// # Errors
    ///
    /// - [`AcquireError::Full`]: the bound is reached and nothing is due; refuse with "try later".
    /// - [`AcquireError::Closed`]: the store was closed; refuse.
    /// - [`AcquireError::ClockExhausted`]: the lease would end beyond the clock's range of 17
    ///   years; make a new store.
    pub fn acquire(&self, identity: Identity, terms: &Terms) -> Result<Admission, AcquireError> {
        if self.is_closed() {
            return Err(AcquireError::Closed);
        }
        let fingerprint = terms.fingerprint.map(|bits| self.identities.of_fingerprint(&bits));
        let mut nothing_is_due = false;
        // Ends: each turn means that another thread moved the entry, that something due was
        // reclaimed, or that nothing was and the next refusal stands.
        loop {
            let found = self.entries.index.find(identity);
            match found.and_then(|found| self.answer_live(found, fingerprint)) {
                Some(Look::Answer(answer)) => return Ok(answer),
                Some(Look::Again) => continue,
                None => {}
            }
            let now = self.clock.precise();
            let deadline =
                now.deadline_after(terms.lease_ttl.get()).ok_or(AcquireError::ClockExhausted)?;
            let claim = match found {
                Some(found) => self.take_in_place(found, deadline),
                None => {
                    sweep::records(&self.entries, now.tick(), SWEEP_BUDGET_RECORDS);
                    self.entries.index.claim(identity, deadline)
                }
            };
            match claim {
                Claim::Claimed(pending) => {
                    let before = found.map(|found| found.word);
                    let lease = self.publish(identity, pending, before, fingerprint, now);
                    return Ok(Admission::Granted(lease));
                }
                Claim::Lost => {}
                Claim::NoSlot if !nothing_is_due => {
                    // The claim comes once more after a sweep that found nothing: another thread
                    // may have reclaimed what was due in between. Or it is at it, and has ended an
                    // entry whose slot it has not listed yet.
                    let swept = self.sweep_due(SWEEP_BUDGET_FULL_RECORDS);
                    let listing = self.entries.index.is_listing();
                    nothing_is_due = swept.looked_at == 0 && !listing;
                    if listing {
                        yield_now();
                    }
                }
                Claim::NoSlot if self.entries.index.is_claimed(identity) => {
                    // A rival for this key, or for one in a few hundred others, has taken a slot
                    // and not linked it in yet.
                    yield_now();
                    nothing_is_due = false;
                }
                Claim::NoSlot if self.is_present(identity) => {}
                Claim::NoSlot => {
                    self.entries.count(Event::Full);
                    return Err(AcquireError::Full);
                }
            }
        }
    }

    /// The answer if the entry is live; `Again` if it moved while it was read; `None` if the key is
    /// free to take.
    fn answer_live(&self, found: Found, fingerprint: Option<u64>) -> Option<Look> {
        let Found { slot, word } = found;
        if word.phase() == Phase::Dead {
            return None;
        }
        let now = self.clock.coarse();
        let remaining = word.deadline().remaining(now);
        if word.phase() == Phase::Pending {
            // Its fingerprint is being written; a mismatch is told once it is there.
            self.entries.count(Event::InFlight);
            return Some(Look::Answer(Admission::InFlight { remaining }));
        }
        if !word.is_live(now.tick()) {
            return None;
        }
        let kept = fingerprint.and_then(|_| self.entries.fingerprints.get(slot));
        let mismatch = fingerprint.zip(kept).is_some_and(|(ours, theirs)| ours != theirs);
        let committed = word.phase() == Phase::Committed;
        let outcome =
            if committed { self.entries.outcomes.get(slot, word.generation()) } else { None };
        if (fingerprint.is_some() || committed)
            && !self.entries.word(slot).is_some_and(|cell| cell.is_still(word))
        {
            return Some(Look::Again);
        }
        let (event, admission) = if mismatch {
            (Event::Mismatch, Admission::Mismatch)
        } else if committed {
            (Event::Completed, Admission::Completed { outcome, remaining })
        } else {
            (Event::InFlight, Admission::InFlight { remaining })
        };
        self.entries.count(event);
        Some(Look::Answer(admission))
    }

    /// Takes an entry that is dead, or past its deadline: it keeps its slot.
    fn take_in_place(&self, found: Found, deadline: Deadline) -> Claim {
        let Found { slot, word } = found;
        match self.entries.word(slot).and_then(|cell| cell.take(word, deadline)) {
            Some(pending) => Claim::Claimed(Found { slot, word: pending }),
            None => Claim::Lost,
        }
    }

    /// Makes a pending entry a lease. Nothing here may panic or allocate before the word is
    /// published: until then the key is in flight for everybody.
    fn publish(
        &self,
        identity: Identity,
        pending: Found,
        before: Option<Word>,
        fingerprint: Option<u64>,
        now: Moment,
    ) -> Lease {
        let Found { slot, word } = pending;
        let entries = &self.entries;
        entries.fingerprints.set(slot, fingerprint);
        let token = self.tokens.draw(identity);
        let lease = match entries.word(slot) {
            Some(cell) => cell.publish(word),
            None => word,
        };
        entries.arm(slot, lease, now.tick());
        match before.filter(|before| before.is_kept()) {
            Some(before) => {
                entries.count(Event::TakenOver);
                entries.outcomes.clear(slot, before.generation());
            }
            None => entries.count(Event::Made),
        }
        let spot = Spot {
            store_id: self.identities.store_id(),
            identity,
            slot,
            generation: lease.generation(),
        };
        Lease::new(token, self.clock.instant(lease.deadline()), spot.encode())
    }

    /// Whether a key that had no slot has one by now: it is never told *full*.
    fn is_present(&self, identity: Identity) -> bool {
        self.entries.index.find(identity).is_some_and(|found| found.word.phase() != Phase::Dead)
    }
}
