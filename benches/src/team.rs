//! Threads that start together, and how long they took together.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::stopwatch;

/// What a team did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// Operations of all threads.
    pub operations: u64,
    /// Operations that were not told what the workload expects.
    pub wrong: u64,
    /// From the first thread's start to the last thread's end.
    pub elapsed: Duration,
}

impl Work {
    /// Nanoseconds between two ends of an operation, whichever thread's: two threads that do not
    /// hinder each other halve it.
    #[must_use]
    pub fn ns_per_op(&self) -> f64 {
        self.elapsed.as_secs_f64() * 1e9 / self.operations.max(1) as f64
    }
}

/// What one thread did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Share {
    /// Operations.
    pub operations: u64,
    /// Those that were told something else than expected.
    pub wrong: u64,
}

impl Share {
    /// Counts one operation.
    #[inline]
    pub fn count(&mut self, as_expected: bool) {
        self.operations += 1;
        self.wrong += u64::from(!as_expected);
    }
}

/// A starting line at which threads wait without sleeping, so that they leave it together.
#[derive(Debug)]
pub struct Line {
    missing: AtomicUsize,
}

impl Line {
    /// A line for so many threads.
    #[must_use]
    pub const fn new(threads: usize) -> Self {
        Self { missing: AtomicUsize::new(threads) }
    }

    /// Waits for the others.
    pub fn wait(&self) {
        // `AcqRel` and `Acquire`: what a thread prepared happens before all leave.
        self.missing.fetch_sub(1, Ordering::AcqRel);
        let mut turns = 0_u32;
        while self.missing.load(Ordering::Acquire) > 0 {
            turns += 1;
            // With more threads than free cores the last one needs this core to arrive.
            if turns.is_multiple_of(1_000) {
                thread::yield_now();
            } else {
                std::hint::spin_loop();
            }
        }
    }
}

/// Runs one share per thread, timed from the common start.
///
/// # Panics
///
/// If a thread does: a measurement that broke must not give a figure.
pub fn run(threads: usize, share: impl Fn(usize) -> Share + Sync) -> Work {
    let line = Line::new(threads);
    let timed = |thread: usize| {
        line.wait();
        let start = stopwatch::now();
        let share = std::hint::black_box(share(thread));
        (share, start, stopwatch::now())
    };
    let shares: Vec<(Share, Instant, Instant)> = thread::scope(|scope| {
        let timed = &timed;
        let others: Vec<_> =
            (1..threads).map(|thread| scope.spawn(move || timed(thread))).collect();
        let first = timed(0);
        let joined = others.into_iter().map(|other| other.join().expect("a thread broke"));
        std::iter::once(first).chain(joined).collect()
    });
    let start = shares.iter().map(|(_, start, _)| *start).min();
    let end = shares.iter().map(|(_, _, end)| *end).max();
    Work {
        operations: shares.iter().map(|(share, ..)| share.operations).sum(),
        wrong: shares.iter().map(|(share, ..)| share.wrong).sum(),
        elapsed: end.zip(start).map_or(Duration::ZERO, |(end, start)| end.duration_since(start)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_the_sum_of_the_shares() {
        let work = run(3, |thread| Share { operations: thread as u64, wrong: 1 });
        assert_eq!((work.operations, work.wrong), (3, 3));
    }

    #[test]
    fn cost_is_the_time_between_two_ends() {
        let work = Work { operations: 4, wrong: 0, elapsed: Duration::from_nanos(100) };
        assert!((work.ns_per_op() - 25.0).abs() < 1e-9);
    }
}
