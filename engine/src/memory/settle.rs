//! What a holder does with its lease: commit, attach, release, renew.

use std::time::Instant;

use super::MemoryStore;
use crate::clock::Tick;
use crate::contract::{AttachError, CommitError, Lease, Outcome, ReleaseError, RenewError, Ttl};
use crate::index::{Found, Index, NotPut};
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
    pub fn commit(
        &self,
        lease: &mut Lease,
        outcome: Option<Outcome>,
        ttl: Ttl,
    ) -> Result<(), CommitError> {
        let (spot, cell) = self.spot(lease).ok_or(CommitError::Foreign)?;
        let mut outcome = outcome;
        // Ends: each turn means that another thread moved the word.
        loop {
            let now = self.clock.precise();
            let word = cell.read();
            if self.is_kept_by(spot, word, Phase::Committed, now.tick()) {
                return Ok(());
            }
            if !self.is_kept_by(spot, word, Phase::InFlight, now.tick()) {
                return Err(self.superseded(CommitError::Superseded));
            }
            // Before the move, so that whoever sees the key committed sees its outcome.
            if let Some(outcome) = outcome.take().and_then(|outcome| self.charge(outcome)) {
                let is_current = || cell.is_still(word);
                // A refusal means that the lease is lost, which the move below finds.
                let _ = self.entries.outcomes.put(spot.slot, spot.generation, outcome, is_current);
            }
            let late = word.deadline().is_past(now.tick());
            let deadline = now.deadline_after_or_last(ttl.get());
            let Some(kept) = cell.commit(word, deadline) else {
                self.entries.outcomes.clear(spot.slot, spot.generation);
                continue;
            };
            self.entries.arm(spot.slot, kept, now.tick());
            self.entries.count(Event::Committed);
            if late {
                self.entries.count(Event::LateCommitted);
            }
            return Ok(());
        }
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
        let is_kept =
            |word| self.is_kept_by(spot, word, Phase::Committed, self.clock.precise().tick());
        let is_current = || is_kept(cell.read());
        if !is_current() || self.entries.outcomes.get(spot.slot, spot.generation).is_some() {
            return Err(AttachError::TooLate);
        }
        let outcome = self.charge(outcome).ok_or(AttachError::NoRoom)?;
        match self.entries.outcomes.put(spot.slot, spot.generation, outcome, is_current) {
            Ok(()) if is_kept(cell.read_after_own_write()) => Ok(()),
            Ok(()) => {
                self.entries.outcomes.clear(spot.slot, spot.generation);
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
    pub fn release(&self, lease: &mut Lease) -> Result<(), ReleaseError> {
        let (spot, cell) = self.spot(lease).ok_or(ReleaseError::Foreign)?;
        // Ends: each turn means that another thread moved the word.
        loop {
            let word = cell.read();
            if word.generation() != spot.generation || word.phase() != Phase::InFlight {
                break;
            }
            if self.entries.end(Found { slot: spot.slot, word }) {
                self.entries.count(Event::Released);
                return Ok(());
            }
        }
        // Not ours to end: done if nothing is kept for the key, else somebody's.
        let now = self.clock.precise().tick();
        let gone = self.entries.index.find(spot.identity).is_none_or(|found| {
            found.word.phase() == Phase::Dead || self.entries.is_due(found.word, now)
        });
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
        // Ends: each turn means that another thread moved the word.
        loop {
            let now = self.clock.precise();
            let word = cell.read();
            if !self.is_kept_by(spot, word, Phase::InFlight, now.tick()) {
                return Err(self.superseded(RenewError::Superseded));
            }
            let deadline = now.deadline_after_or_last(lease_ttl.get());
            let Some(renewed) = cell.renew(word, deadline) else {
                continue;
            };
            self.entries.arm(spot.slot, renewed, now.tick());
            self.entries.count(Event::Renewed);
            let deadline = self.clock.instant(deadline);
            lease.moved(deadline, spot.encode());
            return Ok(deadline);
        }
    }

    /// The outcome if there is room for it, counted if there is none.
    fn charge(&self, outcome: Outcome) -> Option<Outcome> {
        let charged = self.entries.outcomes.charge(outcome);
        if charged.is_none() {
            self.entries.count(Event::OutcomeDropped);
        }
        charged
    }

    /// Where a lease's entry is, if this store granted it.
    fn spot(&self, lease: &Lease) -> Option<(Spot, &LeaseWord)> {
        let spot = Spot::decode(lease.place());
        let cell = self.entries.word(spot.slot)?;
        (spot.store_id == self.identities.store_id()).then_some((spot, cell))
    }

    /// Whether the word is this grant's, in this phase, and not yet due: past its due time it is
    /// gone, whether or not a sweep has been here.
    fn is_kept_by(&self, spot: Spot, word: Word, phase: Phase, now: Tick) -> bool {
        word.generation() == spot.generation
            && word.phase() == phase
            && !self.entries.is_due(word, now)
    }

    fn superseded<E>(&self, error: E) -> E {
        self.entries.count(Event::Superseded);
        error
    }
}
