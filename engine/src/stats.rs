//! Counters of what a store has done.
//!
//! Each thread counts in a tally of its own, in its account. Nothing may depend on them: they are
//! figures for people, exact once nothing runs.

use crate::sync::plain::{AtomicU64, Ordering};

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A lease was granted and its entry made in a dead slot.
    Made,
    /// A lease was granted by taking over an expired one.
    TakenOver,
    InFlight,
    Completed,
    Mismatch,
    Full,
    Committed,
    LateCommitted,
    OutcomeDropped,
    Released,
    Renewed,
    Superseded,
    Forgotten,
    Reclaimed,
    /// An entry ended, in whatever way.
    Ended,
}

const EVENTS: usize = Event::Ended as usize + 1;

/// What a store has done since it was made. Each figure counts answers or entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Leases granted, takeovers among them.
    pub granted: u64,
    /// Leases granted by taking over an expired one.
    pub taken_over: u64,
    /// Acquires answered "in flight".
    pub in_flight: u64,
    /// Acquires answered "completed".
    pub completed: u64,
    /// Acquires answered "mismatch".
    pub mismatch: u64,
    /// Acquires refused because the store was full.
    pub full: u64,
    /// Commits that landed, repeated ones not counted.
    pub committed: u64,
    /// Commits that landed after the lease's deadline, within its late grace.
    pub late_committed: u64,
    /// Outcomes that found no room.
    pub outcome_dropped: u64,
    /// Leases released by their holder.
    pub released: u64,
    /// Renewals that landed.
    pub renewed: u64,
    /// Calls of a holder whose lease was not the current one any more.
    pub superseded: u64,
    /// Live records removed by an operator.
    pub forgotten: u64,
    /// Expired entries that were reclaimed.
    pub reclaimed: u64,
}

impl Stats {
    /// The figures, from the sums over all tallies.
    pub(crate) fn from_sums(sum: impl Fn(Event) -> u64) -> Self {
        let taken_over = sum(Event::TakenOver);
        Self {
            granted: sum(Event::Made) + taken_over,
            taken_over,
            in_flight: sum(Event::InFlight),
            completed: sum(Event::Completed),
            mismatch: sum(Event::Mismatch),
            full: sum(Event::Full),
            committed: sum(Event::Committed),
            late_committed: sum(Event::LateCommitted),
            outcome_dropped: sum(Event::OutcomeDropped),
            released: sum(Event::Released),
            renewed: sum(Event::Renewed),
            superseded: sum(Event::Superseded),
            forgotten: sum(Event::Forgotten),
            reclaimed: sum(Event::Reclaimed),
        }
    }
}

/// What one thread has counted, or some threads together.
pub(crate) struct Tally([AtomicU64; EVENTS]);

impl Tally {
    pub(crate) const fn new() -> Self {
        Self([const { AtomicU64::new(0) }; EVENTS])
    }

    /// Counts one event where no other thread counts.
    #[inline]
    pub(crate) fn count_alone(&self, event: Event) {
        // `Relaxed`: a figure for people. Two accesses, since nobody can come in between.
        let counter = &self.0[event as usize];
        counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Counts one event where others may count too.
    pub(crate) fn count_among_others(&self, event: Event) {
        // `Relaxed`: a figure for people.
        self.0[event as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn get(&self, event: Event) -> u64 {
        self.0[event as usize].load(Ordering::Relaxed)
    }
}
