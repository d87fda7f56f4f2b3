//! How long something took, and for how long a thread had a core. The only file of this crate that
//! reads a clock.

use std::fs;
use std::time::{Duration, Instant};

/// A running measurement of wall time.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts to measure.
    #[expect(
        clippy::disallowed_methods,
        reason = "a bench measures time, it does not decide by it"
    )]
    #[must_use]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Time since the start.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

/// For how long the calling thread has had a core. The kernel brings it up to date when the thread
/// sleeps and at each of its ticks, so it may lag by some milliseconds after a busy stretch.
///
/// # Errors
///
/// A sentence, where the kernel keeps no such account.
pub fn thread_time() -> Result<Duration, String> {
    let path = "/proc/thread-self/schedstat";
    let text = fs::read_to_string(path).map_err(|error| format!("cannot read {path}: {error}"))?;
    let nanos = text.split_whitespace().next().and_then(|word| word.parse().ok());
    nanos.map(Duration::from_nanos).ok_or_else(|| format!("{path} has no number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_keeps_an_account_of_this_thread() {
        let before = thread_time().expect("an account");
        assert!(thread_time().expect("an account") >= before);
    }
}
