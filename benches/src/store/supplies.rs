//! What every rival needs besides its map: a clock, tokens, a count of places, a time to sweep.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use crossbeam_utils::CachePadded;

/// The rivals' clock: the one that the memory store reads too, as nanoseconds since it was made.
#[derive(Clone, Debug)]
pub struct Watch {
    clock: quanta::Clock,
    /// A raw reading.
    origin: u64,
}

impl Watch {
    /// The system's monotonic clock.
    #[must_use]
    pub fn system() -> Self {
        Self::of(quanta::Clock::new())
    }

    /// A clock that the test moves.
    #[must_use]
    pub fn mock() -> (Self, Arc<quanta::Mock>) {
        let (clock, hand) = quanta::Clock::mock();
        (Self::of(clock), hand)
    }

    fn of(clock: quanta::Clock) -> Self {
        let origin = clock.raw();
        Self { clock, origin }
    }

    /// Nanoseconds since it was made.
    #[inline]
    pub(super) fn nanos(&self) -> u64 {
        self.clock.delta_as_nanos(self.origin, self.clock.raw())
    }

    /// When a `ttl` that starts now is over.
    #[inline]
    pub(super) fn deadline(&self, ttl: Duration) -> u64 {
        self.nanos() + nanos(ttl)
    }
}

/// A duration of this process's life or of a ttl, which fits for five centuries.
#[inline]
pub(super) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Source of tokens: they rise over the whole store.
#[derive(Debug, Default)]
pub(super) struct Tokens(CachePadded<AtomicU64>);

impl Tokens {
    #[inline]
    pub(super) fn next(&self) -> u64 {
        // `Relaxed`: only that they differ and rise is needed; the map orders what they fence.
        self.0.fetch_add(1, Ordering::Relaxed) + 1
    }
}

/// Places that are taken, of a bound.
#[derive(Debug)]
pub(super) struct Places {
    taken: CachePadded<AtomicUsize>,
    bound: usize,
}

impl Places {
    pub(super) fn new(bound: usize) -> Self {
        Self { taken: CachePadded::new(AtomicUsize::new(0)), bound }
    }

    /// Takes a place; false if there is none. `Relaxed`: the count orders nothing else.
    #[inline]
    pub(super) fn take(&self) -> bool {
        let taken = self.taken.fetch_add(1, Ordering::Relaxed) < self.bound;
        if !taken {
            self.give_back(1);
        }
        taken
    }

    #[inline]
    pub(super) fn give_back(&self, places: usize) {
        self.taken.fetch_sub(places, Ordering::Relaxed);
    }

    /// For a look through all keys: whether this one stays, and its place back if not.
    pub(super) fn retain(&self, live: bool) -> bool {
        if !live {
            self.give_back(1);
        }
        live
    }
}

/// When all keys are to be looked through.
#[derive(Debug)]
pub(super) struct Sweeps {
    next: AtomicU64,
    every: u64,
}

impl Sweeps {
    pub(super) fn new(every: Duration, watch: &Watch) -> Self {
        Self { next: AtomicU64::new(watch.deadline(every)), every: nanos(every) }
    }

    /// Whether this caller is the one to sweep.
    #[inline]
    pub(super) fn is_due(&self, now: u64) -> bool {
        let next = self.next.load(Ordering::Relaxed);
        // `Relaxed`: it only decides who sweeps.
        now >= next
            && self
                .next
                .compare_exchange(next, now + self.every, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
    }
}
