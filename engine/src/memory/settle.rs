//! What a holder does with its lease: commit, attach, release, renew.

use std::time::Instant;

use super::MemoryStore;
use crate::accounts::Mine;
use crate::clock::Tick;
use crate::contract::{AttachError, CommitError, Lease, Outcome, ReleaseError, RenewError, Ttl};
use crate::index::{Found, Look, NotPut};
use crate::place::Spot;
use crate::stats::Event;
use crate::word::{LeaseWord, Phase, Word};

impl MemoryStore {
    /// Keeps the key for `ttl`, counted from a moment within the call, with what the run left.
    ///
    /// Lock-free; linearizes where the word becomes committed. A repeated commit is done and moves
    /// nothing. If the outcome finds no room the commit succeeds without it. Beyond the clock's
    /// range of 17 years the key is kept to the range's end. Never panics.
    ///
    /// # Errors
    ///
    /// - [`CommitError::Superseded`]: the lease was released, forgotten, taken over, or its late
    ///   grace ended; count it.
    /// - [`CommitError::Foreign`]: another store granted the lease.
    #[inline]
    pub fn commit(
        &self,
        lease: &mut Lease,
        outcome: Option<Outcome>,
        ttl: Ttl,
    ) -> Result<(), CommitError> {
        let (spot, cell) = self.spot(lease).ok_or(CommitError::Foreign)?;
        let (entries, mine) = (&self.entries, self.entries.accounts.mine());
        let now = self.clock.precise();
        if spot.word.phase() != Phase::InFlight || entries.is_due(spot.word, now.tick()) {
            return self.committed_before(spot, cell.read(), now.tick());
        }
        let generation = spot.word.generation();
        // Before the move, so that whoever sees the key committed sees its outcome.
        let put = outcome.and_then(|outcome| self.charge(mine, outcome)).is_some_and(|outcome| {
            let is_current = || cell.is_still(spot.word);
            // A refusal means that the lease is lost, which the move below finds.
            entries.outcomes.put(spot.slot, generation, outcome, is_current).is_ok()
        });
        let late = spot.word.deadline().is_past(now.tick());
        let Some(kept) = cell.commit(spot.word, now.deadline_after_or_last(ttl.get())) else {
            if put {
                entries.outcomes.clear(spot.slot, generation);
            }
            return self.committed_before(spot, cell.read(), now.tick());
        };
        entries.arm(spot.slot, spot.word, kept);
        mine.count(Event::Committed);
        if late {
            mine.count(Event::LateCommitted);
        }
        lease.moved(lease.deadline(), Spot { word: kept, ..spot }.encode());
        Ok(())
    }

    /// The answer to a commit of a lease that is not the current one: done if it was committed
    /// before, and is still kept.
    fn committed_before(&self, spot: Spot, word: Word, now: Tick) -> Result<(), CommitError> {
        if self.is_kept_by(spot, word, now) {
            return Ok(());
        }
        Err(self.superseded(CommitError::Superseded))
    }

    /// Adds the outcome to an entry that this lease has committed without one, once. Never moves
    /// the deadline. Lock-free. Never panics.
    ///
    /// # Errors
    ///
    /// All harmless: the key stays committed, and is not replayable.
    ///
    /// - [`AttachError::TooLate`]: the entry has ended, is another's, or has an outcome.
    /// - [`AttachError::NoRoom`]: the bound on outcome bytes is reached.
    /// - [`AttachError::Foreign`]: another store granted the lease.
    pub fn attach(&self, lease: &Lease, outcome: Outcome) -> Result<(), AttachError> {
        let (spot, cell) = self.spot(lease).ok_or(AttachError::Foreign)?;
        let outcomes = &self.entries.outcomes;
        let generation = spot.word.generation();
        let is_kept = |word| self.is_kept_by(spot, word, self.clock.precise().tick());
        let is_current = || is_kept(cell.read());
        if !is_current() || outcomes.get(spot.slot, generation).is_some() {
            return Err(AttachError::TooLate);
        }
        let outcome =
            self.charge(self.entries.accounts.mine(), outcome).ok_or(AttachError::NoRoom)?;
        match outcomes.put(spot.slot, generation, outcome, is_current) {
            Ok(()) if is_kept(cell.read_after_own_write()) => Ok(()),
            Ok(()) => {
                outcomes.clear(spot.slot, generation);
                Err(AttachError::TooLate)
            }
            Err(NotPut::Exists | NotPut::NotCurrent) => Err(AttachError::TooLate),
        }
    }

    /// Frees the key at once. Releasing what is gone is done; a committed key is never touched.
    /// Lock-free; linearizes where the word becomes dead. Never panics.
    ///
    /// # Errors
    ///
    /// - [`ReleaseError::Superseded`]: the key is committed, or another's; nothing was touched.
    /// - [`ReleaseError::Foreign`]: another store granted the lease.
    #[inline]
    pub fn release(&self, lease: &mut Lease) -> Result<(), ReleaseError> {
        let (spot, _) = self.spot(lease).ok_or(ReleaseError::Foreign)?;
        let mine = self.entries.accounts.mine();
        let Spot { slot, word, .. } = spot;
        let kill = |cell: &LeaseWord, word| cell.kill(word, || self.clock.precise().tick());
        if word.phase() == Phase::InFlight && self.entries.end(mine, Found { slot, word }, kill) {
            mine.count(Event::Released);
            return Ok(());
        }
        // Not ours to end: done if nothing is kept for the key, else somebody's.
        let now = self.clock.precise().tick();
        let gone = match self.entries.index.look(&self.entries.index.sought(spot.identity)) {
            Look::Vacant(_) => true,
            Look::Found(found) => {
                found.word.phase() == Phase::Dead || self.entries.is_due(found.word, now)
            }
        };
        if gone { Ok(()) } else { Err(self.superseded(ReleaseError::Superseded)) }
    }

    /// Sets the lease's end to `lease_ttl` from a moment within the call, be it later or earlier,
    /// and gives the new deadline. Lock-free; linearizes where the word moves. Beyond the clock's
    /// range of 17 years the lease ends with the range. Never panics.
    ///
    /// # Errors
    ///
    /// - [`RenewError::Superseded`]: the lease is lost, or settled; a renewal brings none back.
    /// - [`RenewError::Foreign`]: another store granted the lease.
    pub fn renew(&self, lease: &mut Lease, lease_ttl: Ttl) -> Result<Instant, RenewError> {
        let (spot, cell) = self.spot(lease).ok_or(RenewError::Foreign)?;
        let now = self.clock.precise();
        let current =
            spot.word.phase() == Phase::InFlight && !self.entries.is_due(spot.word, now.tick());
        let deadline = now.deadline_after_or_last(lease_ttl.get());
        let renewed = if current { cell.renew(spot.word, deadline) } else { None };
        let Some(renewed) = renewed else {
            return Err(self.superseded(RenewError::Superseded));
        };
        self.entries.arm(spot.slot, spot.word, renewed);
        self.entries.accounts.mine().count(Event::Renewed);
        let deadline = self.clock.instant(deadline);
        lease.moved(deadline, Spot { word: renewed, ..spot }.encode());
        Ok(deadline)
    }

    /// The outcome if there is room for it, counted if there is none.
    fn charge(&self, mine: Mine<'_>, outcome: Outcome) -> Option<Outcome> {
        let charged = self.entries.outcomes.charge(outcome);
        if charged.is_none() {
            mine.count(Event::OutcomeDropped);
        }
        charged
    }

    /// Where a lease's entry is, if this store granted it.
    fn spot(&self, lease: &Lease) -> Option<(Spot, &LeaseWord)> {
        let spot = Spot::decode(lease.place());
        let cell = self.entries.word(spot.slot)?;
        (spot.store_id == self.identities.store_id()).then_some((spot, cell))
    }

    /// Whether the word is the very one that this lease's commit has left, and not yet due: past
    /// its due time it is gone, whether or not a sweep has been here.
    fn is_kept_by(&self, spot: Spot, word: Word, now: Tick) -> bool {
        word == spot.word && word.phase() == Phase::Committed && !self.entries.is_due(word, now)
    }

    fn superseded<E>(&self, error: E) -> E {
        self.entries.accounts.mine().count(Event::Superseded);
        error
    }
}

#[cfg(all(test, not(lease_loom)))]
mod tests {
    use std::time::Duration;

    use bytes::Bytes;

    use super::*;
    use crate::clock::Clock;
    use crate::config::MemoryConfig;
    use crate::contract::{Admission, Terms};

    /// After 2^24 grants a slot's generation comes back, with another deadline.
    #[test]
    fn a_lease_of_the_same_generation_and_another_deadline_is_not_current() {
        let (clock, _) = Clock::manual();
        let store = MemoryStore::with_clock(MemoryConfig::default(), clock).expect("valid");
        let ttl = Ttl::new(Duration::from_secs(60)).expect("above zero");
        let key = store.identify(&[b"key"]);
        let Ok(Admission::Granted(mut lease)) = store.acquire(key, &Terms::new(ttl)) else {
            panic!("the key is free")
        };
        let other = |lease: &Lease| {
            let spot = Spot::decode(lease.place());
            let word = Word::from_bits(spot.word.to_bits() ^ 1);
            Lease::new(lease.token(), lease.deadline(), Spot { word, ..spot }.encode())
        };
        let mut old = other(&lease);
        assert!(matches!(store.commit(&mut old, None, ttl), Err(CommitError::Superseded)));
        assert!(matches!(store.renew(&mut old, ttl), Err(RenewError::Superseded)));
        assert!(matches!(store.release(&mut old), Err(ReleaseError::Superseded)));
        assert!(matches!(store.commit(&mut lease, None, ttl), Ok(())));
        let outcome = Outcome::new(Bytes::from_static(b"another key's"));
        let mut old = other(&lease);
        assert!(matches!(store.attach(&old, outcome), Err(AttachError::TooLate)));
        assert!(matches!(store.commit(&mut old, None, ttl), Err(CommitError::Superseded)));
        assert!(matches!(store.commit(&mut lease, None, ttl), Ok(())), "its own is done");
    }
}
