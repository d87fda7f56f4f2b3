//! When something ends, as far as the contract lets anybody know.
//!
//! A time to live never ends early and is seen to have ended at most [`LATENESS`] late, so all that
//! a model can keep is a span of moments; every answer of the store's narrows it. This module must
//! never round: all inexactness is the store's.

use std::time::{Duration, Instant};

/// How late, at most, a reader may see that a deadline has passed. Source: the contract's rule on
/// time, for the store in memory.
pub const LATENESS: Duration = Duration::from_millis(64);

/// How long after its construction a store in memory can still count time, at least: 17 years of
/// 365 days. A deadline beyond may be cut to this, even if that has passed: who runs a store for
/// longer may be refused every new lease, and is promised nothing for the old ones.
pub const CLOCK_RANGE: Duration = Duration::from_secs(17 * 365 * 24 * 60 * 60);

const INSTANT: Duration = Duration::from_nanos(1);

/// The moments at which something may end, counted from the construction of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Before this it surely runs.
    pub earliest: Duration,
    /// From this on it is surely over.
    pub latest: Duration,
}

impl Span {
    /// The end of a time to live that starts now.
    #[must_use]
    pub fn after(now: Duration, ttl: Duration) -> Self {
        let exact = now.saturating_add(ttl);
        Self { earliest: exact.min(CLOCK_RANGE), latest: exact.saturating_add(LATENESS) }
    }

    /// Whether it has surely not ended.
    #[must_use]
    pub fn runs(&self, now: Duration) -> bool {
        now < self.earliest
    }

    /// Whether it has surely ended.
    #[must_use]
    pub fn is_over(&self, now: Duration) -> bool {
        now >= self.latest
    }

    /// Takes note of an answer that shows it running; false if it cannot be.
    #[must_use]
    pub fn saw_running(&mut self, now: Duration) -> bool {
        self.earliest = self.earliest.max(now.saturating_add(INSTANT));
        !self.is_over(now)
    }

    /// Takes note of an answer that shows it ended; false if it cannot be.
    #[must_use]
    pub fn saw_over(&mut self, now: Duration) -> bool {
        self.latest = self.latest.min(now);
        !self.runs(now)
    }

    /// Takes note that it may have been ended from outside.
    pub fn may_end(&mut self, now: Duration) {
        self.earliest = self.earliest.min(now);
    }

    /// Whether a remaining time that a store gave agrees with it.
    #[must_use]
    pub fn leaves(&self, now: Duration, remaining: Duration) -> bool {
        let least = self.earliest.saturating_sub(now);
        let most = self.latest.saturating_sub(now);
        (least..=most).contains(&remaining)
    }
}

/// The moment of the store's construction on the process's clock, which nobody is told: each
/// deadline that a store gives narrows it, and one that is too early or too late leaves none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    earliest: Option<Instant>,
    latest: Option<Instant>,
}

impl Origin {
    /// Takes note of a deadline that was given for `end`; false if it agrees with no origin.
    #[must_use]
    pub fn agrees(&mut self, deadline: Instant, end: Span) -> bool {
        let (low, high) = (deadline.checked_sub(end.latest), deadline.checked_sub(end.earliest));
        self.earliest = self.earliest.max(low);
        self.latest = match (self.latest, high) {
            (Some(known), Some(new)) => Some(known.min(new)),
            (known, new) => known.or(new),
        };
        !matches!((self.earliest, self.latest), (Some(low), Some(high)) if low > high)
    }
}
