//! Acquire: glance, look, answer, take over, take again, or claim.

use super::MemoryStore;
use crate::accounts::{Mine, Place, Verdict};
use crate::clock::{Deadline, Moment};
use crate::contract::{AcquireError, Admission, Lease, Terms};
use crate::identity::Identity;
use crate::index::{Claim, Found, Look, Sought};
use crate::place::Spot;
use crate::stats::Event;
use crate::sweep;
use crate::sync::yield_now;
use crate::word::{Phase, Word};

/// What one look at an entry came to.
enum Answer {
    Told(Admission),
    /// The key is free to take.
    Free,
    /// Another thread moved the entry while it was read.
    Again,
}

/// One acquire: who asks for what, and from which thread.
#[derive(Clone, Copy)]
pub(super) struct Ask<'a> {
    pub(super) identity: Identity,
    pub(super) sought: Sought,
    terms: &'a Terms,
    /// What the store keeps of the terms' fingerprint.
    fingerprint: Option<u64>,
    mine: Mine<'a>,
}

/// A slot that was taken and is the caller's to publish, and its word from before.
struct Taken {
    pending: Found,
    before: Word,
}

impl MemoryStore {
    /// Asks for the right to run the request that the identity stands for.
    ///
    /// Lock-free. Granted linearizes where a slot's word is taken for the identity. Never panics.
    ///
    /// # Errors
    ///
    /// - [`AcquireError::Full`]: the bound is reached and nothing is due; refuse with "try later".
    /// - [`AcquireError::Closed`]: the store was closed; refuse.
    /// - [`AcquireError::ClockExhausted`]: the lease would end beyond the clock's range of 17
    ///   years; make a new store.
    pub fn acquire(&self, identity: Identity, terms: &Terms) -> Result<Admission, AcquireError> {
        let ask = self.ask(identity, terms);
        // The table's lines come while the clock is read.
        self.entries.index.prefetch(&ask.sought);
        self.answer(&ask)
    }

    /// What an acquire needs to know, and does not change while it runs.
    #[inline]
    pub(super) fn ask<'a>(&'a self, identity: Identity, terms: &'a Terms) -> Ask<'a> {
        let fingerprint = terms.fingerprint.map(|bits| self.identities.of_fingerprint(&bits));
        let (sought, mine) = (self.entries.index.sought(identity), self.entries.accounts.mine());
        Ask { identity, sought, terms, fingerprint, mine }
    }

    #[inline]
    pub(super) fn answer(&self, ask: &Ask<'_>) -> Result<Admission, AcquireError> {
        if self.is_closed() {
            return Err(AcquireError::Closed);
        }
        let glimpse = self.clock.coarse();
        let glanced = self.entries.index.glance(&ask.sought);
        if let Some(found) = glanced
            && let Answer::Told(admission) = self.answer_live(ask, found, glimpse.moment)
        {
            return Ok(admission);
        }
        self.admit(ask, glanced, self.clock.precise_after(glimpse))
    }

    /// The whole of acquire, for keys that no glance has found live. Apart, so that duplicates need
    /// not make room for all that it keeps at hand.
    #[inline(never)]
    fn admit(
        &self,
        ask: &Ask<'_>,
        glanced: Option<Found>,
        mut now: Moment,
    ) -> Result<Admission, AcquireError> {
        sweep::by_the_way(&self.entries, ask.mine, now.tick());
        let mut place = None;
        // What was found is the key's slot wherever others may look, so it may be taken at once.
        let mut known = glanced.map(Look::Found);
        // Ends: each turn means that another thread moved something, or brings a place that the
        // next turns keep, or reclaims what was due. Rivals at a full store move nothing.
        loop {
            let look = known.take().unwrap_or_else(|| self.entries.index.look(&ask.sought));
            if let Look::Found(found) = look {
                match self.answer_live(ask, found, now) {
                    Answer::Told(admission) => return Ok(admission),
                    Answer::Again => continue,
                    Answer::Free => {}
                }
            }
            let deadline = now
                .deadline_after(ask.terms.lease_ttl.get())
                .ok_or(AcquireError::ClockExhausted)?;
            // An entry that is kept, though past its deadline, has its place already.
            let takes_over = matches!(look, Look::Found(found) if found.word.is_kept());
            if place.is_none() && !takes_over {
                place = self.entries.accounts.take(ask.mine);
                if place.is_none() {
                    if self.is_full(ask, &look, now) {
                        ask.mine.count(Event::Full);
                        return Err(AcquireError::Full);
                    }
                    now = self.clock.precise();
                    continue;
                }
            }
            match self.take(ask, &look) {
                Claim::Claimed { pending, dead: before } => {
                    let taken = Taken { pending, before };
                    let place = if takes_over { None } else { place };
                    return Ok(Admission::Granted(self.grant(ask, &taken, place, deadline)));
                }
                Claim::Lost => {}
                // So improbable before the bound that nothing else is provided for it.
                Claim::NoSlot => {
                    if self.reclaim_due(ask, now) == 0 {
                        ask.mine.count(Event::Full);
                        return Err(AcquireError::Full);
                    }
                }
            }
        }
    }

    /// The answer if the entry is live.
    #[inline(always)]
    fn answer_live(&self, ask: &Ask<'_>, found: Found, now: Moment) -> Answer {
        let Found { slot, word } = found;
        match word.phase() {
            Phase::Dead => return Answer::Free,
            Phase::Pending => {
                // Its fingerprint is being written; a mismatch is told once it is there. So is its
                // deadline: ours would be about the same.
                ask.mine.count(Event::InFlight);
                let remaining = ask.terms.lease_ttl.get();
                return Answer::Told(Admission::InFlight { remaining });
            }
            Phase::InFlight | Phase::Committed if !word.is_live(now.tick()) => return Answer::Free,
            Phase::InFlight | Phase::Committed => {}
        }
        let remaining = word.deadline().remaining(now);
        let kept = ask.fingerprint.and_then(|_| self.entries.fingerprints.get(slot));
        let mismatch = ask.fingerprint.zip(kept).is_some_and(|(ours, theirs)| ours != theirs);
        let committed = word.phase() == Phase::Committed;
        let outcome =
            if committed { self.entries.outcomes.get(slot, word.generation()) } else { None };
        if (ask.fingerprint.is_some() || committed)
            && !self.entries.word(slot).is_some_and(|cell| cell.is_still(word))
        {
            return Answer::Again;
        }
        let (event, admission) = if mismatch {
            (Event::Mismatch, Admission::Mismatch)
        } else if committed {
            (Event::Completed, Admission::Completed { outcome, remaining })
        } else {
            (Event::InFlight, Admission::InFlight { remaining })
        };
        ask.mine.count(event);
        Answer::Told(admission)
    }

    /// Takes the slot that was found, or claims one.
    fn take(&self, ask: &Ask<'_>, look: &Look) -> Claim {
        match look {
            Look::Vacant(vacancy) => self.entries.index.claim(&ask.sought, vacancy),
            Look::Found(found) => {
                let (slot, before) = (found.slot, found.word);
                self.entries
                    .word(slot)
                    .and_then(|cell| cell.take(before, before.offset(), ask.sought.stamp()))
                    .map_or(Claim::Lost, |word| Claim::Claimed {
                        pending: Found { slot, word },
                        dead: before,
                    })
            }
        }
    }

    /// Publishes the grant. Nothing here may panic, allocate or wait before the word is published:
    /// until then everybody is told that the key is in flight.
    fn grant(
        &self,
        ask: &Ask<'_>,
        taken: &Taken,
        place: Option<Place<'_>>,
        deadline: Deadline,
    ) -> Lease {
        let Found { slot, word } = taken.pending;
        let (entries, mine) = (&self.entries, ask.mine);
        entries.fingerprints.set(slot, ask.fingerprint);
        let token = self.tokens.draw(entries.index.tokens(&ask.sought));
        let lease = match entries.word(slot) {
            Some(cell) => cell.publish(word, deadline),
            None => word,
        };
        if let Some(place) = place {
            place.spend();
        }
        entries.arm(slot, taken.before, lease);
        if taken.before.is_kept() {
            mine.count(Event::TakenOver);
            entries.outcomes.clear(slot, taken.before.generation());
        } else {
            mine.count(Event::Made);
        }
        let store_id = self.identities.store_id();
        let spot = Spot { store_id, identity: ask.identity, slot, word: lease };
        Lease::new(token, self.clock.instant(deadline), spot.encode())
    }

    fn reclaim_due(&self, ask: &Ask<'_>, now: Moment) -> usize {
        sweep::entries(&self.entries, ask.mine, now.tick(), SWEEP_BUDGET_FULL)
    }

    /// Whether the store is full for this key, which the look has found free, after everything that
    /// is due was reclaimed. If not, the caller looks again.
    #[cold]
    fn is_full(&self, ask: &Ask<'_>, look: &Look, now: Moment) -> bool {
        if self.reclaim_due(ask, now) > 0 {
            return false;
        }
        match self.entries.accounts.verdict() {
            // A rival for this key may have got the last place, and may have ended since: then the
            // key was in flight when the store was full. Or it was free all the time.
            Verdict::Full => self.entries.index.look(&ask.sought).is_as(look),
            Verdict::Free => false,
            Verdict::Unsettled => {
                yield_now();
                false
            }
        }
    }
}

/// Entries that one acquire reclaims in one go when no place is free. It goes on until one is, or
/// nothing is due, so this only says how often it looks for a place. Arbitrary.
const SWEEP_BUDGET_FULL: usize = 64;
