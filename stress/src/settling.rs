//! What a player does with a lease: every way to settle it, and what may be answered.
//!
//! Before a call that may end a grant its mark is lowered. If that fails, a later grant has been
//! marked, and the call must not succeed.

use leasehold::{AttachError, CommitError, ReleaseError, RenewError};

use crate::arena::{LONG_MS, ttl};
use crate::claim::{Checked, Claim, Violation, check};
use crate::mark::{Mark, Standing};
use crate::player::{Held, Player};

impl<'a> Player<'a> {
    /// Settles one of its leases in some way, or renews it.
    pub(super) fn settle_one(&mut self) -> Checked {
        let held = self.held.swap_remove(self.random.usize(..self.held.len()));
        let runs_long = held.mark.until >= LONG_MS;
        match self.random.u8(..16) {
            0..6 => self.release(held),
            6..8 => self.renew(held),
            8 if runs_long => self.forget_running(held),
            9..11 if !runs_long => {
                self.let_expire(held.key, held.ends + self.arena.shape.late_grace_ms);
                Ok(())
            }
            _ => self.commit(held),
        }
    }

    fn release(&mut self, mut held: Held<'a>) -> Checked {
        self.log.given_up(held.key.number, held.mark.token);
        held.key.mark.replace(held.mark, held.mark.with(Standing::Running, 0));
        let answer = self.arena.store.release(&mut held.lease);
        self.arena.room.leave(held.key.number);
        match answer {
            Ok(()) => Ok(()),
            Err(ReleaseError::Superseded) => self.may_be_lost(&held, "release"),
            Err(other) => Err(unexpected(&held, &other)),
        }
    }

    fn renew(&mut self, mut held: Held<'a>) -> Checked {
        let millis = self.draw_ttl();
        let begun = self.arena.time.at_least();
        let lowered = held.mark.at_most(Standing::Running, begun + millis);
        let current = held.key.mark.replace(held.mark, lowered);
        match self.arena.store.renew(&mut held.lease, ttl(millis)) {
            Ok(_) => {
                let ended = self.arena.time.at_most();
                check_current(current, &held, "renewed")?;
                let renewed = held.mark.with(Standing::Running, begun + millis);
                self.log.moved(held.key.number, held.mark.token, renewed.until, false);
                self.raise(&held, lowered, renewed, Claim::OneHolder)?;
                held.mark = renewed;
                held.ends = ended + millis;
                self.held.push(held);
                Ok(())
            }
            Err(RenewError::Superseded) => {
                self.arena.room.leave(held.key.number);
                self.may_be_lost(&held, "renewal")
            }
            Err(other) => Err(unexpected(&held, &other)),
        }
    }

    fn commit(&mut self, mut held: Held<'a>) -> Checked {
        let millis = self.draw_ttl();
        let with_outcome = self.arena.shape.outcomes && self.random.bool();
        let outcome = with_outcome.then(|| held.key.outcome_of(held.mark.token));
        let begun = self.arena.time.at_least();
        let settling = held.mark.at_most(Standing::Settling, begun + millis);
        let current = held.key.mark.replace(held.mark, settling);
        match self.arena.store.commit(&mut held.lease, outcome, ttl(millis)) {
            Ok(()) => {}
            Err(CommitError::Superseded) => {
                self.arena.room.leave(held.key.number);
                return self.may_be_lost(&held, "commit");
            }
            Err(other) => return Err(unexpected(&held, &other)),
        }
        let ended = self.arena.time.at_most();
        check_current(current, &held, "committed")?;
        let standing = if with_outcome { Standing::Whole } else { Standing::Bare };
        let kept = held.mark.with(standing, begun + millis);
        self.log.moved(held.key.number, held.mark.token, kept.until, true);
        self.raise(&held, settling, kept, Claim::KeptIsCompleted)?;
        held.mark = kept;
        if self.arena.shape.outcomes && !with_outcome && self.random.bool() {
            self.attach(&mut held)?;
        }
        if millis == LONG_MS {
            self.kept.push((held.key, held.mark));
        } else {
            self.let_expire(held.key, ended + millis);
        }
        Ok(())
    }

    fn attach(&mut self, held: &mut Held<'_>) -> Checked {
        let outcome = held.key.outcome_of(held.mark.token);
        match self.arena.store.attach(&held.lease, outcome) {
            Ok(()) => {
                let whole = held.mark.with(Standing::Whole, held.mark.until);
                if held.key.mark.replace(held.mark, whole) {
                    held.mark = whole;
                }
                Ok(())
            }
            Err(AttachError::TooLate) => self.may_be_lost(held, "attached outcome"),
            Err(other) => Err(unexpected(held, &other)),
        }
    }

    /// Takes a running lease's key away as an operator would; then its commit comes too late.
    fn forget_running(&mut self, mut held: Held<'a>) -> Checked {
        self.log.given_up(held.key.number, held.mark.token);
        let current = held.key.mark.replace(held.mark, held.mark.with(Standing::Running, 0));
        let forgotten = self.arena.store.forget(held.key.identity);
        check(current && forgotten, Claim::HolderSettles, || {
            format!("key {} was not there to forget with {:?}", held.key.number, held.mark)
        })?;
        let committed = self.arena.store.commit(&mut held.lease, None, ttl(1));
        self.arena.room.leave(held.key.number);
        check(committed.is_err(), Claim::SupersededSettlesNothing, || {
            format!("key {} was committed with {:?}, forgotten", held.key.number, held.mark)
        })
    }

    /// Forgets a key that it keeps.
    pub(super) fn forget_one(&mut self) -> Checked {
        let (key, mark) = self.kept.swap_remove(self.random.usize(..self.kept.len()));
        self.log.given_up(key.number, mark.token);
        let current = key.mark.replace(mark, mark.with(Standing::Running, 0));
        let forgotten = self.arena.store.forget(key.identity);
        self.arena.room.leave(key.number);
        check(current && forgotten, Claim::KeptIsCompleted, || {
            format!("key {} was not there to forget with {mark:?}", key.number)
        })
    }

    /// Raises a mark after a call that has moved its end. A grant that was marked meanwhile must
    /// have come after that end.
    fn raise(&self, held: &Held<'_>, lowered: Mark, raised: Mark, claim: Claim) -> Checked {
        if held.key.mark.replace(lowered, raised) {
            return Ok(());
        }
        let met = held.key.mark.read();
        let now = self.arena.time.at_most();
        check(raised.until <= now, claim, || {
            format!(
                "key {} was granted with {met:?} by {now} ms beside {raised:?}",
                held.key.number
            )
        })
    }

    /// A call that found its lease lost: its time must be over.
    fn may_be_lost(&self, held: &Held<'_>, what: &str) -> Checked {
        let now = self.arena.time.at_most();
        check(held.mark.until <= now, Claim::HolderSettles, || {
            format!("key {}: the {what} of {:?} failed by {now} ms", held.key.number, held.mark)
        })
    }
}

/// A later grant was marked before the call began, so it must not have succeeded.
fn check_current(current: bool, held: &Held<'_>, what: &str) -> Checked {
    check(current, Claim::SupersededSettlesNothing, || {
        let (number, met) = (held.key.number, held.key.mark.read());
        format!("key {number} was {what} with {:?} after {met:?}", held.mark)
    })
}

fn unexpected(held: &Held<'_>, error: &dyn std::error::Error) -> Violation {
    let seen = format!("key {} with {:?}: {error}", held.key.number, held.mark);
    Violation::new(Claim::NothingElseIsAnswered, seen)
}
