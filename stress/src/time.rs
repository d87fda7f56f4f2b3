//! The round's time in milliseconds, as bounds: a store's reading within a call lies between
//! [`Time::at_least`] before the call and [`Time::at_most`] after it.

use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::time::{Duration, Instant};

use leasehold::{Clock, ManualClock};

/// Where the round's time comes from.
#[derive(Debug)]
pub(crate) enum Time {
    System(Instant),
    Manual(Manual),
}

/// A store's manual clock. One thread moves it.
#[derive(Debug)]
pub(crate) struct Manual {
    hand: ManualClock,
    /// Raised before the clock moves.
    at_most: AtomicU64,
    /// Raised after it has moved.
    at_least: AtomicU64,
}

impl Time {
    /// The time and the clock of a new store.
    #[expect(clippy::disallowed_methods, reason = "held against the store's own clock")]
    pub(crate) fn new(manual: bool) -> (Self, Clock) {
        if !manual {
            return (Self::System(Instant::now()), Clock::system());
        }
        let (clock, hand) = Clock::manual();
        let bounds = || AtomicU64::new(0);
        (Self::Manual(Manual { hand, at_most: bounds(), at_least: bounds() }), clock)
    }

    /// Not after what the store will read.
    pub(crate) fn at_least(&self) -> u64 {
        match self {
            Self::System(start) => millis(start),
            Self::Manual(manual) => manual.at_least.load(Ordering::SeqCst),
        }
    }

    /// Not before what the store has read.
    pub(crate) fn at_most(&self) -> u64 {
        match self {
            Self::System(start) => millis(start) + 1,
            Self::Manual(manual) => {
                // With the one in `advance`: if the store has read the moved clock, `at_most` is
                // seen raised, although the clock itself orders nothing.
                fence(Ordering::SeqCst);
                manual.at_most.load(Ordering::SeqCst)
            }
        }
    }

    pub(crate) fn is_manual(&self) -> bool {
        matches!(self, Self::Manual(_))
    }

    /// Moves a manual clock; a system's moves by itself.
    pub(crate) fn advance(&self, millis: u64) {
        if let Self::Manual(manual) = self {
            manual.at_most.fetch_add(millis, Ordering::SeqCst);
            fence(Ordering::SeqCst);
            manual.hand.advance(Duration::from_millis(millis));
            manual.at_least.fetch_add(millis, Ordering::SeqCst);
        }
    }
}

fn millis(start: &Instant) -> u64 {
    u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_clock_moves_both_bounds() {
        let (time, _) = Time::new(true);
        time.advance(5);
        time.advance(6);
        assert_eq!((time.at_least(), time.at_most(), time.is_manual()), (11, 11, true));
    }
}
