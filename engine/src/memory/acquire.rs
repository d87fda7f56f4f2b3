//! Acquire: find, answer, take over, take again, or claim.

use super::{MemoryStore, SWEEP_BUDGET_RECORDS};
use crate::bound::Reservation;
use crate::clock::{Deadline, Moment};
use crate::contract::{AcquireError, Admission, Lease, Terms};
use crate::identity::Identity;
use crate::index::{Claim, Found, Index};
use crate::place::Spot;
use crate::stats::Event;
use crate::sweep;
use crate::word::{Phase, Word};

/// What one look at the entry came to.
enum Look<'a> {
    Answer(Admission),
    /// Another thread moved the entry: look again.
    Again,
    /// A new entry needs a place first.
    NeedsPlace,
    /// The key is the caller's: publish it. The reservation, if there is one, was not needed.
    Taken {
        pending: Found,
        before: Word,
        unused: Option<Reservation<'a>>,
    },
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
        let fingerprint = terms
            .fingerprint
            .map(|bits| self.identities.of_fingerprint(&bits));
        let mut place = None;
        // Ends: each turn either reserves a place, or means that another thread moved the entry.
        loop {
            let found = self.entries.index.find(identity);
            if let Some(answer) = found.and_then(|found| self.answer_live(found, fingerprint)) {
                match answer {
                    Look::Answer(answer) => return Ok(answer),
                    _ => continue,
                }
            }
            let now = self.clock.precise();
            let deadline = now
                .deadline_after(terms.lease_ttl.get())
                .ok_or(AcquireError::ClockExhausted)?;
            match self.take(identity, found, deadline, now, place.take()) {
                Look::Answer(answer) => return Ok(answer),
                Look::Again => {}
                Look::NeedsPlace => place = self.reserve(identity)?,
                Look::Taken {
                    pending,
                    before,
                    unused,
                } => {
                    drop(unused);
                    let lease = self.publish(identity, pending, before, fingerprint, now);
                    return Ok(Admission::Granted(lease));
                }
            }
        }
    }

    /// The answer if the entry is live; `Again` if it moved while it was read; `None` if the key is
    /// free to take.
    fn answer_live(&self, found: Found, fingerprint: Option<u64>) -> Option<Look<'_>> {
        let Found { slot, word } = found;
        let now = self.clock.coarse();
        let remaining = word.deadline().remaining(now);
        let counters = &self.entries.counters;
        if word.phase() == Phase::Pending {
            // Its fingerprint is being written; a mismatch is told once it is there.
            counters.count(Event::InFlight);
            return Some(Look::Answer(Admission::InFlight { remaining }));
        }
        if !word.is_live(now.tick()) {
            return None;
        }
        let kept = fingerprint.and_then(|_| self.entries.fingerprints.get(slot));
        let mismatch = fingerprint
            .zip(kept)
            .is_some_and(|(ours, theirs)| ours != theirs);
        let committed = word.phase() == Phase::Committed;
        let outcome = if committed {
            self.entries.outcomes.get(slot, word.generation())
        } else {
            None
        };
        if (fingerprint.is_some() || committed)
            && !self
                .entries
                .word(slot)
                .is_some_and(|cell| cell.is_still(word))
        {
            return Some(Look::Again);
        }
        let (event, admission) = if mismatch {
            (Event::Mismatch, Admission::Mismatch)
        } else if committed {
            (
                Event::Completed,
                Admission::Completed { outcome, remaining },
            )
        } else {
            (Event::InFlight, Admission::InFlight { remaining })
        };
        counters.count(event);
        Some(Look::Answer(admission))
    }

    /// Takes a key that is free: in place if it has a slot, else by a claim.
    fn take<'a>(
        &'a self,
        identity: Identity,
        found: Option<Found>,
        deadline: Deadline,
        now: Moment,
        place: Option<Reservation<'a>>,
    ) -> Look<'a> {
        let Some(Found { slot, word }) = found else {
            let Some(place) = place else {
                return Look::NeedsPlace;
            };
            return match self.entries.index.claim(identity, deadline) {
                Claim::Claimed(pending) => {
                    place.keep();
                    Look::Taken {
                        pending,
                        before: pending.word,
                        unused: None,
                    }
                }
                Claim::Lost | Claim::Exhausted => Look::Again,
            };
        };
        // A kept entry has a place already, and it was seen to be past its deadline by a clock that
        // may lag: so it is past it now.
        debug_assert!(word.phase() == Phase::Dead || word.deadline().is_past(now.tick()));
        if word.phase() == Phase::Dead && place.is_none() {
            return Look::NeedsPlace;
        }
        let Some(pending) = self
            .entries
            .word(slot)
            .and_then(|cell| cell.take(word, deadline))
        else {
            return Look::Again;
        };
        let unused = match (word.phase(), place) {
            (Phase::Dead, Some(place)) => {
                place.keep();
                None
            }
            (_, place) => place,
        };
        Look::Taken {
            pending: Found {
                slot,
                word: pending,
            },
            before: word,
            unused,
        }
    }

    /// Makes a pending entry a lease. Nothing here may panic or allocate before the word is
    /// published: until then the key is in flight for everybody.
    fn publish(
        &self,
        identity: Identity,
        pending: Found,
        before: Word,
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
        entries.counters.count(Event::Granted);
        if before.is_kept() {
            entries.counters.count(Event::TakenOver);
        }
        entries.outcomes.clear(slot, before.generation());
        let spot = Spot {
            store_id: self.identities.store_id(),
            identity,
            slot,
            generation: lease.generation(),
        };
        Lease::new(token, self.clock.instant(lease.deadline()), spot.encode())
    }

    /// A place for a new entry. On the way to *full* everything that is due is reclaimed first, and
    /// a key that has appeared meanwhile is never told *full*: it gets no place and looks again.
    fn reserve(&self, identity: Identity) -> Result<Option<Reservation<'_>>, AcquireError> {
        let now = self.clock.precise().tick();
        sweep::records(&self.entries, now, SWEEP_BUDGET_RECORDS);
        // Ends: each turn reclaims something, or finds nothing due.
        loop {
            if let Some(place) = self.entries.bound.reserve() {
                return Ok(Some(place));
            }
            if self.sweep_due(SWEEP_BUDGET_RECORDS * 16).looked_at > 0 {
                continue;
            }
            if let Some(place) = self.entries.bound.reserve() {
                return Ok(Some(place));
            }
            if self.is_present(identity) {
                return Ok(None);
            }
            self.entries.counters.count(Event::Full);
            return Err(AcquireError::Full);
        }
    }

    fn is_present(&self, identity: Identity) -> bool {
        self.entries
            .index
            .find(identity)
            .is_some_and(|found| found.word.phase() != Phase::Dead)
    }
}
