//! One thread: asks for keys at random, judges the answers, and settles what it was granted.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::Ordering;

use leasehold::{AcquireError, Admission, Lease, Outcome, RecordState, Terms};

use crate::arena::{Arena, Key, LATENESS_MS, LONG_MS, ttl};
use crate::claim::{Checked, Claim, Violation, check};
use crate::log::Log;
use crate::mark::{Mark, Standing};
use crate::tally::Tally;

/// Acquires that a player takes from the round's at a time.
const BATCH: u64 = 64;

/// One player.
pub(crate) struct Player<'a> {
    pub(super) arena: &'a Arena,
    pub(super) random: fastrand::Rng,
    /// Whether it moves the clock.
    mover: bool,
    terms: Terms,
    pub(super) held: Vec<Held<'a>>,
    /// Keys that it keeps for a day and will forget.
    pub(super) kept: Vec<(&'a Key, Mark)>,
    /// When entries are certainly due that it has left to expire, and of which keys.
    expiring: BinaryHeap<Reverse<(u64, usize)>>,
    pub(crate) tally: Tally,
    pub(crate) log: Log,
}

/// A lease of a player's.
pub(super) struct Held<'a> {
    pub(super) key: &'a Key,
    pub(super) lease: Lease,
    /// Its mark, as the player left it.
    pub(super) mark: Mark,
    /// The latest time at which its TTL may end.
    pub(super) ends: u64,
}

impl<'a> Player<'a> {
    pub(crate) fn new(arena: &'a Arena, seed: u64, number: usize) -> Self {
        let seed = seed.wrapping_mul(64).wrapping_add(number as u64);
        Self {
            arena,
            random: fastrand::Rng::with_seed(seed),
            mover: number == 0,
            terms: Terms::new(ttl(LONG_MS)),
            held: Vec::new(),
            kept: Vec::new(),
            expiring: BinaryHeap::new(),
            tally: Tally::default(),
            log: Log::default(),
        }
    }

    /// Plays until the round's acquires are made, or something was found; then settles everything.
    pub(crate) fn play(&mut self) -> Checked {
        // Ends: each turn takes from what is left.
        while self.arena.left.load(Ordering::Relaxed) > 0 {
            let taken =
                self.arena.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                    Some(left.saturating_sub(BATCH))
                });
            let until = self.tally.acquires + taken.unwrap_or_default().min(BATCH);
            while self.tally.acquires < until {
                if self.arena.stop.load(Ordering::Relaxed) {
                    return Ok(());
                }
                self.step()?;
            }
            self.arena.survey()?;
        }
        while !self.held.is_empty() {
            self.settle_one()?;
        }
        while !self.kept.is_empty() {
            self.forget_one()?;
        }
        Ok(())
    }

    fn step(&mut self) -> Checked {
        if self.mover && self.random.bool() {
            self.arena.time.advance(self.random.u64(1..=32));
        }
        self.forget_expired();
        let may_hold_more = self.held.len() < self.arena.shape.leases;
        match self.random.u8(..32) {
            0..14 if may_hold_more => {
                let key = self.promising_key();
                self.acquire(key)
            }
            14..16 if !self.held.is_empty() => {
                let key = self.held[self.random.usize(..self.held.len())].key;
                self.acquire(key)
            }
            16 => self.peek(),
            17 => {
                self.arena.store.sweep(self.random.usize(1..=4));
                Ok(())
            }
            18..25 if !self.kept.is_empty() => self.forget_one(),
            _ if !self.held.is_empty() => self.settle_one(),
            _ => {
                let key = self.promising_key();
                self.acquire(key)
            }
        }
    }

    /// Any key, and as often one of two that all players ask for just now: keys that had to leave
    /// their slots to others meanwhile are then wanted by many at once.
    fn any_key(&mut self) -> &'a Key {
        let keys = &self.arena.keys;
        if self.random.bool() {
            return &keys[self.random.usize(..keys.len())];
        }
        let turn = self.arena.left.load(Ordering::Relaxed) / BATCH;
        &keys[(turn as usize + self.random.usize(..2)) % keys.len()]
    }

    /// Any key, but rather one that seems to be free: or most answers would be refusals.
    fn promising_key(&mut self) -> &'a Key {
        let now = self.arena.time.at_least();
        let tries = [self.any_key(), self.any_key(), self.any_key()];
        let free = tries.iter().find(|key| key.mark.read().until <= now);
        free.unwrap_or(&tries[0])
    }

    /// A TTL in milliseconds: one that ends soon, or a long one.
    pub(super) fn draw_ttl(&mut self) -> u64 {
        let long = self.random.u8(..16) >= self.arena.shape.expiring;
        if long { LONG_MS } else { self.random.u64(1..=self.arena.shape.ttl_ms_max) }
    }

    /// Leaves a key's entry to expire that ends at `ends` at the latest.
    pub(super) fn let_expire(&mut self, key: &Key, ends: u64) {
        self.expiring.push(Reverse((ends + LATENESS_MS, key.number)));
    }

    fn forget_expired(&mut self) {
        let now = self.arena.time.at_least();
        while let Some(Reverse((due, key))) = self.expiring.peek().copied()
            && due <= now
        {
            self.expiring.pop();
            self.arena.room.leave(key);
        }
    }

    fn acquire(&mut self, key: &'a Key) -> Checked {
        let arena = self.arena;
        let millis = self.draw_ttl();
        self.terms.lease_ttl = ttl(millis);
        self.terms.fingerprint = arena.shape.fingerprints.then_some(key.fingerprint);
        let visit = arena.room.enter(key.number);
        let before = key.mark.read();
        let begun = arena.time.at_least();
        let answer = arena.store.acquire(key.identity, &self.terms);
        let ended = arena.time.at_most();
        self.tally.acquires += 1;
        if let Ok(Admission::Granted(lease)) = answer {
            self.tally.granted += 1;
            let mark = Mark::new(key.token(&lease)?, Standing::Running, begun + millis);
            self.log.granted(key.number, mark.token, ended, mark.until);
            judge_grant(key, before, mark, ended, arena)?;
            self.held.push(Held { key, lease, mark, ends: ended + millis });
            return Ok(());
        }
        // A call in which much time passes may meet an entry that fell due after it looked.
        let full_is_explained =
            arena.room.may_have_been_full(visit) || ended - begun >= LATENESS_MS;
        let was_alone = arena.room.was_alone(visit);
        arena.room.leave(key.number);
        let is_had = matches!(answer, Ok(Admission::InFlight { .. } | Admission::Completed { .. }));
        check(!(is_had && was_alone), Claim::FreeIsGranted, || {
            format!("key {}: {answer:?}, after {before:?}", key.number)
        })?;
        // Known to stand throughout the call, if anything is.
        let stood = Some(before).filter(|mark| mark.until > ended && key.mark.read() == *mark);
        match answer {
            Ok(Admission::InFlight { .. }) => {
                self.tally.in_flight += 1;
                judge_in_flight(key, stood)
            }
            Ok(Admission::Completed { outcome, .. }) => {
                self.tally.completed += 1;
                judge_completed(key, before, stood, outcome.as_ref())
            }
            Ok(Admission::Mismatch) => {
                let seen = format!("key {}", key.number);
                Err(Violation::new(Claim::FingerprintsMatch, seen))
            }
            Err(AcquireError::Full) => {
                self.tally.full += 1;
                check(stood.is_none(), Claim::PresentIsNeverFull, || {
                    format!("key {} with {stood:?}", key.number)
                })?;
                check(full_is_explained, Claim::FullAtTheBound, || {
                    format!("key {}, while other keys had fewer places than there are", key.number)
                })
            }
            other => {
                let seen = format!("key {}: {other:?}", key.number);
                Err(Violation::new(Claim::NothingElseIsAnswered, seen))
            }
        }
    }

    fn peek(&mut self) -> Checked {
        let key = self.any_key();
        let before = key.mark.read();
        let state = self.arena.store.peek(key.identity);
        let ended = self.arena.time.at_most();
        let stood = Some(before).filter(|mark| mark.until > ended && key.mark.read() == *mark);
        match state {
            RecordState::InFlight { .. } => judge_in_flight(key, stood),
            RecordState::Completed { .. } => judge_completed(key, before, stood, None),
            RecordState::Free => check(stood.is_none(), Claim::OneHolder, || {
                format!("key {} is free with {stood:?}", key.number)
            }),
        }
    }
}

/// Whether a grant may follow what is marked, and leaves its own mark.
fn judge_grant(key: &Key, before: Mark, mark: Mark, ended: u64, arena: &Arena) -> Checked {
    let number = key.number;
    check(before.token < mark.token, Claim::TokensRise, || {
        format!("key {number} was granted with {mark:?} after {before:?}")
    })?;
    let met = key.mark.leave(mark);
    if met.token < mark.token {
        let claim = if met.is_kept() { Claim::KeptIsCompleted } else { Claim::OneHolder };
        return check(met.until <= ended, claim, || {
            format!("key {number} was granted with {mark:?} by {ended} ms beside {met:?}")
        });
    }
    check(met.token != mark.token, Claim::TokensRise, || {
        format!("key {number} was granted twice with {mark:?}")
    })?;
    // A later grant has been marked first. Then this one's time must be over by now.
    let now = arena.time.at_most();
    check(mark.until <= now, Claim::OneHolder, || {
        format!("key {number} was granted with {met:?} by {now} ms beside {mark:?}")
    })
}

fn judge_in_flight(key: &Key, stood: Option<Mark>) -> Checked {
    check(!stood.is_some_and(Mark::is_kept), Claim::KeptIsCompleted, || {
        format!("key {} is in flight with {stood:?}", key.number)
    })
}

fn judge_completed(
    key: &Key,
    before: Mark,
    stood: Option<Mark>,
    outcome: Option<&Outcome>,
) -> Checked {
    let number = key.number;
    check(
        !stood.is_some_and(|mark| mark.standing == Standing::Running),
        Claim::RunningIsInFlight,
        || format!("key {number} is completed with {stood:?}"),
    )?;
    let Some(outcome) = outcome else { return Ok(()) };
    let token = key.token_of(outcome)?;
    let fits = stood.map_or(token >= before.token, |mark| token == mark.token);
    check(fits, Claim::OutcomesAreTheirGrants, || {
        format!("key {number} has the outcome of token {token} with {before:?}, {stood:?}")
    })
}
