//! Counters of what a store has done.
//!
//! They are striped by thread, since one shared counter stops scaling at two. Nothing may depend on
//! them: they are figures for people, exact once nothing runs.

use crossbeam_utils::CachePadded;

use crate::sync::plain::{AtomicU64, Ordering};

/// Power of two. Arbitrary: more than the threads that usually write at once on small machines.
const STRIPES: usize = 8;

/// What is counted, in the order of [`Stats`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    Granted,
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
    /// An entry was made in a dead slot.
    Made,
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

/// The counters.
pub(crate) struct Counters {
    /// Padded: two threads write neighbouring stripes.
    stripes: [CachePadded<[AtomicU64; EVENTS]>; STRIPES],
}

impl Counters {
    pub(crate) fn new() -> Self {
        Self {
            stripes: std::array::from_fn(|_| {
                CachePadded::new(std::array::from_fn(|_| AtomicU64::new(0)))
            }),
        }
    }

    /// Counts one event.
    pub(crate) fn count(&self, event: Event) {
        // `Relaxed`: a figure for people.
        self.stripes[stripe()][event as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// How many entries there are: exact once nothing runs.
    pub(crate) fn entries(&self) -> u64 {
        // In this order, or a thread that makes and ends entries meanwhile counts its ends alone.
        let ended = self.sum(Event::Ended);
        self.sum(Event::Made).saturating_sub(ended)
    }

    fn sum(&self, event: Event) -> u64 {
        self.stripes.iter().map(|stripe| stripe[event as usize].load(Ordering::Relaxed)).sum()
    }

    /// Sums the stripes: each figure is one that held at some moment during the call.
    pub(crate) fn snapshot(&self) -> Stats {
        let sum = |event: Event| {
            self.stripes.iter().map(|stripe| stripe[event as usize].load(Ordering::Relaxed)).sum()
        };
        Stats {
            granted: sum(Event::Granted),
            taken_over: sum(Event::TakenOver),
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

/// The calling thread's stripe: threads take them in turn.
fn stripe() -> usize {
    static THREADS: AtomicU64 = AtomicU64::new(0);
    thread_local!(static STRIPE: usize =
        THREADS.fetch_add(1, Ordering::Relaxed) as usize % STRIPES);
    STRIPE.with(|stripe| *stripe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_thread_counts_and_the_snapshot_adds_up() {
        let counters = Counters::new();
        std::thread::scope(|scope| {
            for _ in 0..STRIPES + 1 {
                scope.spawn(|| (0..100).for_each(|_| counters.count(Event::Reclaimed)));
            }
        });
        counters.count(Event::Granted);
        let expected = Stats { granted: 1, reclaimed: 900, ..Stats::default() };
        assert_eq!(counters.snapshot(), expected);
    }
}
