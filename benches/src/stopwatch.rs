//! How long something took. The only file of this crate that reads a clock for a measurement.

use std::time::{Duration, Instant};

/// A point in time that was read from the system's monotonic clock.
#[expect(clippy::disallowed_methods, reason = "a bench measures time, it does not decide by it")]
#[must_use]
pub fn now() -> Instant {
    Instant::now()
}

/// A running measurement.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts to measure.
    #[must_use]
    pub fn start() -> Self {
        Self(now())
    }

    /// Time since the start.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        now().duration_since(self.0)
    }
}
