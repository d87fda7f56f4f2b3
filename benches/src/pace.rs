//! How long single operations take: in a closed loop, or started at a fixed rate.
//!
//! At a fixed rate an operation's time counts from when it was *meant* to start. So a stall is
//! charged to every operation that it held up, not to the one that it hit (coordinated omission).
//! Threads wait for the next start without sleeping.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use crate::key::Key;
use crate::passes::acquire_and_commit;
use crate::stopwatch;
use crate::store::Store;
use crate::team::{self, Share};

/// Longest time that is told apart from longer ones, in nanoseconds: a minute.
const LONGEST_NANOS: u64 = 60_000_000_000;

/// Digits of a time that are kept.
const DIGITS: u8 = 3;

/// When operations start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Each as soon as the thread's last one has ended.
    Closed,
    /// So many a second and thread.
    Rate(u32),
}

/// How long it goes on.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// Not recorded: until as many keys end as come.
    pub warm_up: Duration,
    /// Recorded.
    pub measured: Duration,
}

/// When the operations of one thread start.
#[derive(Debug)]
pub struct Starts {
    pace: Pace,
    start: Instant,
    /// When the thread was last seen to be free.
    free: Instant,
}

impl Starts {
    /// The first starts now.
    #[must_use]
    pub fn new(pace: Pace) -> Self {
        let start = stopwatch::now();
        Self { pace, start, free: start }
    }

    /// Waits until this operation is meant to start, and gives that time: it may have passed.
    pub fn wait(&mut self, number: u32) -> Instant {
        let meant = match self.pace {
            Pace::Closed => self.free,
            Pace::Rate(rate) => self.start + Duration::from_secs(1) * number / rate,
        };
        while self.free < meant {
            std::hint::spin_loop();
            self.free = stopwatch::now();
        }
        meant
    }

    /// Says that the operation has ended, and gives the time that it is.
    pub fn ended(&mut self) -> Instant {
        self.free = stopwatch::now();
        self.free
    }

    /// From the start to the end of the last operation.
    #[must_use]
    pub fn since_start(&self) -> Duration {
        self.free.duration_since(self.start)
    }
}

/// A histogram of nanoseconds.
///
/// # Panics
///
/// Never: the bounds are in range.
#[must_use]
pub fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LONGEST_NANOS, DIGITS).expect("bounds in range")
}

/// Lifecycles of fresh keys that are kept for a moment, one list of keys for each thread. Gives
/// the times of all threads.
///
/// # Panics
///
/// If a store that does not evict refuses a fresh key.
pub fn churn<S: Store>(
    store: &S,
    fresh: &[Vec<Key>],
    kept: &[Duration],
    pace: Pace,
    span: Span,
) -> Histogram<u64> {
    let all = Mutex::new(histogram());
    let work = team::run(fresh.len(), |thread| {
        let mut times = histogram();
        let mut share = Share::default();
        let mut starts = Starts::new(pace);
        let keys = fresh.get(thread).into_iter().flatten().zip(kept.iter().cycle());
        for (number, (key, ttl)) in (0_u32..).zip(keys) {
            let meant = starts.wait(number);
            share.count(acquire_and_commit(store, key, *ttl));
            let ended = starts.ended();
            let since_start = starts.since_start();
            if since_start >= span.warm_up {
                let time = ended.duration_since(meant).as_nanos();
                times.saturating_record(u64::try_from(time).unwrap_or(u64::MAX));
            }
            if since_start >= span.warm_up + span.measured {
                break;
            }
        }
        let mut all = all.lock().expect("no thread breaks while it adds");
        all.add(times).expect("same bounds");
        share
    });
    assert!(
        work.wrong == 0 || !S::PROMISES.keeps_live_keys,
        "{}: {} of {} fresh keys were refused",
        S::NAME,
        work.wrong,
        work.operations
    );
    all.into_inner().expect("all threads have ended")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Answer, Leasehold, Promises, Watch};
    use crate::workload::{Purpose, churn_ttls, keys};

    /// Stalls once, in its tenth acquire.
    struct Stalling {
        store: Leasehold,
        calls: std::sync::atomic::AtomicU32,
    }

    const STALL: Duration = Duration::from_millis(20);

    impl Store for Stalling {
        const NAME: &'static str = "stalling";
        const PROMISES: Promises = Leasehold::PROMISES;
        type Lease = <Leasehold as Store>::Lease;

        fn new(bound: usize, sweep_every: Duration, watch: Watch) -> Self {
            let store = Leasehold::new(bound, sweep_every, watch);
            Self { store, calls: std::sync::atomic::AtomicU32::new(0) }
        }

        fn acquire(&self, key: &Key) -> Answer<Self::Lease> {
            if self.calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 10 {
                let stall = stopwatch::Stopwatch::start();
                while stall.elapsed() < STALL {}
            }
            self.store.acquire(key)
        }

        fn commit(&self, key: &Key, lease: Self::Lease, kept: Duration) -> bool {
            self.store.commit(key, lease, kept)
        }

        fn release(&self, key: &Key, lease: Self::Lease) -> bool {
            self.store.release(key, lease)
        }

        fn entries(&self) -> usize {
            self.store.entries()
        }
    }

    fn slow_operations(pace: Pace) -> u64 {
        let store = Stalling::new(10_000, Duration::from_secs(60), Watch::system());
        let fresh = vec![keys(Purpose::Churn(0)).take(1_000).collect()];
        let span = Span { warm_up: Duration::ZERO, measured: Duration::from_secs(600) };
        let times = churn(&store, &fresh, &churn_ttls(1_000), pace, span);
        assert_eq!(times.len(), 1_000);
        times.count_between(10_000_000, LONGEST_NANOS)
    }

    #[test]
    fn a_stall_is_charged_to_all_that_it_held_up_at_a_fixed_rate() {
        // 20 ms at 10,000 a second: the first hundred of those that were held up, at least, end
        // more than 10 ms after they were meant to start.
        assert!(slow_operations(Pace::Rate(10_000)) >= 100);
        assert!(slow_operations(Pace::Closed) >= 1);
    }
}
