//! Which leases are kept, and when each is due: plain data behind a few short locks.
//!
//! Nothing here waits, renews, or knows of a store. Entering and leaving take constant time; a
//! look for what is due passes over all entries, which is cheaper than keeping them in order,
//! since most leave before they are ever due.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::runtime::Id;
use tokio::time::Instant;

use crate::held::HeldLease;

/// Number of shards: workers that enter and leave at once rarely meet. Arbitrary, a power of two.
const SHARDS: usize = 16;

/// The part of its time to live by which a lease may be renewed before it is due, so that one look
/// serves all leases that are due at about the same time.
const AHEAD: u32 = 64;

/// Longest time from one look to the next, in microseconds. Arbitrary: a look costs little, and a
/// lease that is due after the next look has nobody to be told.
const LOOKS_APART_MAX: u64 = 1_000_000;

/// Never.
const NEVER: u64 = u64::MAX;

/// When a lease is to be renewed, in microseconds since the roster's origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Due {
    /// A look is made at this time.
    at: u64,
    /// A look that is made anyway takes it from this time on.
    from: u64,
}

/// How often a lease is to be renewed, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pace {
    pause: u64,
    ahead: u64,
}

impl Pace {
    /// Each time after a pause, for a lease that lasts `ttl`.
    pub(super) fn new(pause: Duration, ttl: Duration) -> Self {
        let pause = micros(pause);
        Self { pause, ahead: micros(ttl / AHEAD).min(pause) }
    }

    const fn due_after(self, moment: u64) -> Due {
        let at = moment.saturating_add(self.pause);
        Due { at, from: at.saturating_sub(self.ahead) }
    }
}

impl Due {
    /// At this time and not before.
    const fn at(at: u64) -> Self {
        Self { at, from: at }
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(NEVER)
}

/// Where a lease stands in the roster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    shard: usize,
    slot: usize,
}

/// A lease whose time has come.
#[derive(Debug)]
pub(super) struct Called {
    pub(super) held: HeldLease,
    pub(super) place: Place,
}

/// What became of an entry.
#[derive(Debug)]
pub(super) struct Entered {
    pub(super) place: Place,
    /// Whether it is due before the next look that is planned.
    pub(super) is_sooner: bool,
    /// Whether its runtime is known to have a task at work.
    pub(super) is_attended: bool,
}

/// What a look has found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Outlook {
    /// When the next look is to be made: in a second, if nothing is due before.
    pub(super) next: u64,
    /// Whether there are any entries.
    pub(super) any: bool,
    /// Whether more were due than there was room for.
    pub(super) more: bool,
}

pub(super) struct Roster {
    origin: Instant,
    shards: [Padded; SHARDS],
}

/// A shard on cache lines of its own: each is written by another worker at the same time.
#[repr(align(128))]
#[derive(Default)]
struct Padded(Mutex<Shard>);

struct Shard {
    slots: Vec<Slot>,
    /// The slots that are empty.
    empty: Vec<usize>,
    /// By when all tasks at work will have looked again; not after the earliest time at which one
    /// of its leases is due.
    next: u64,
    /// The shortest pause from a lease's entry until it was due. Looks are no further apart, so
    /// that leases that come and go between two of them are not sooner than the next.
    pause_min: u64,
    /// Runtimes that have a task at work; there may be others.
    attended: Vec<Id>,
}

impl Default for Shard {
    fn default() -> Self {
        let pause_min = LOOKS_APART_MAX;
        Self { slots: Vec::new(), empty: Vec::new(), next: NEVER, pause_min, attended: Vec::new() }
    }
}

struct Slot {
    due: Due,
    pace: Pace,
    held: Option<HeldLease>,
}

impl Roster {
    pub(super) fn new(origin: Instant) -> Self {
        Self { origin, shards: Default::default() }
    }

    /// A moment as the roster counts time.
    pub(super) fn micros(&self, moment: Instant) -> u64 {
        micros(moment.saturating_duration_since(self.origin))
    }

    /// A time of the roster's as a moment, at most a day from `now`: those who wait look again.
    pub(super) fn moment(&self, time: u64, now: Instant) -> Instant {
        const DAY: Duration = Duration::from_secs(24 * 60 * 60);
        now + Duration::from_micros(time.saturating_sub(self.micros(now))).min(DAY)
    }

    /// Enters a lease that was granted at this time, from a handler that runs in `runtime`.
    pub(super) fn enter(
        &self,
        held: HeldLease,
        since: u64,
        pace: Pace,
        runtime: Option<Id>,
    ) -> Entered {
        let due = pace.due_after(since);
        let index = usize::from(held.address().as_bytes()[0]) % SHARDS;
        let mut shard = self.shard(index);
        let is_attended = runtime.is_none_or(|id| shard.attended.contains(&id));
        let is_sooner = due.at < shard.next;
        shard.next = shard.next.min(due.at);
        shard.pause_min = shard.pause_min.min(pace.pause);
        let slot = Slot { due, pace, held: Some(held) };
        let place = match shard.empty.pop() {
            Some(empty) => {
                shard.slots[empty] = slot;
                empty
            }
            None => {
                shard.slots.push(slot);
                shard.slots.len() - 1
            }
        };
        Entered { place: Place { shard: index, slot: place }, is_sooner, is_attended }
    }

    /// Takes a lease out again.
    pub(super) fn leave(&self, place: Place) {
        let left = {
            let mut shard = self.shard(place.shard);
            let slot = &mut shard.slots[place.slot];
            slot.due = Due::at(NEVER);
            let left = slot.held.take();
            shard.empty.push(place.slot);
            left
        };
        // Outside of the lock, should it be the last to know of the lease.
        drop(left);
    }

    /// Puts what is due into `called`, at most up to `room` of them, and plans the next look. Each
    /// is due again after its usual time, come what may of its renewal.
    pub(super) fn look(&self, now: u64, room: usize, called: &mut Vec<Called>) -> Outlook {
        let mut outlook = Outlook { next: NEVER, any: false, more: false };
        for index in 0..SHARDS {
            let mut shard = self.shard(index);
            let mut next = now.saturating_add(shard.pause_min);
            for (number, slot) in shard.slots.iter_mut().enumerate() {
                if slot.due.from <= now
                    && let Some(held) = &slot.held
                {
                    if called.len() < room {
                        slot.due = slot.pace.due_after(now);
                        let place = Place { shard: index, slot: number };
                        called.push(Called { held: held.clone(), place });
                    } else if slot.due.at <= now {
                        outlook.more = true;
                    }
                }
                next = next.min(slot.due.at);
            }
            shard.next = next;
            outlook.any |= shard.empty.len() < shard.slots.len();
            outlook.next = outlook.next.min(next);
        }
        outlook
    }

    /// Sets another time for a lease, if it is still there; gives that time.
    pub(super) fn put_off(&self, called: &Called, due: Due) -> u64 {
        let mut shard = self.shard(called.place.shard);
        let slot = &mut shard.slots[called.place.slot];
        if slot.held.as_ref().is_some_and(|held| held.is(&called.held)) {
            slot.due = due;
            shard.next = shard.next.min(due.at);
        }
        due.at
    }

    /// The time at which a lease that was lost is due.
    pub(super) const fn never() -> Due {
        Due::at(NEVER)
    }

    /// The time of another attempt.
    pub(super) fn retry(&self, now: Instant, pause: Duration) -> Due {
        Due::at(self.micros(now).saturating_add(micros(pause)))
    }

    /// Notes that a runtime has a task at work.
    pub(super) fn attended(&self, place: Place, runtime: Id) {
        let mut shard = self.shard(place.shard);
        if !shard.attended.contains(&runtime) {
            shard.attended.push(runtime);
        }
    }

    /// Notes that a runtime's task is about to end; true if nothing is kept. What is entered from
    /// now on finds its runtime unattended.
    pub(super) fn unattended(&self, runtime: Id) -> bool {
        let mut all_empty = true;
        for index in 0..SHARDS {
            let mut shard = self.shard(index);
            shard.attended.retain(|id| *id != runtime);
            all_empty &= shard.empty.len() == shard.slots.len();
        }
        all_empty
    }

    fn shard(&self, index: usize) -> MutexGuard<'_, Shard> {
        // No code panics while it holds this lock.
        self.shards[index].0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
