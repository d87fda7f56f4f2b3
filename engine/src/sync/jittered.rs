//! Std's atomics, whose accesses now and then hold their thread up first.
//!
//! A race is lost between two accesses. A thread that goes on undisturbed is there for nanoseconds;
//! one that spins or gives its core away there lets the others pass, however few cores there are.
//! Most accesses are left alone, or nothing would ever contend. Nothing here is compiled into what
//! ships, and nothing may depend on how long a thread is held up.
//!
//! The variable `LEASE_JITTER` says how many accesses lie between two that are held up, on average;
//! zero holds nothing up.

use std::cell::Cell;
use std::ops::Deref;
use std::sync::LazyLock;
use std::sync::atomic::{self, Ordering};

/// Accesses from one that is held up to the next, on average, unless the environment says
/// otherwise. From 4 to 64 the stress run finds planted faults after about as many acquires, at 200
/// after more, and at 0 most of them never. At 24 two cores make 200,000 to 400,000 acquires a
/// second. Source: `cargo xtask mutants`, 2026-11.
const MEAN_GAP: u32 = 24;

/// See [`MEAN_GAP`].
static GAP: LazyLock<u32> = LazyLock::new(|| {
    let set = std::env::var("LEASE_JITTER").ok().and_then(|set| set.parse().ok());
    set.unwrap_or(MEAN_GAP)
});

/// An atomic that is reached by way of a pause. The pause stands in the dereference, so that every
/// access has it whatever its name.
#[derive(Debug)]
pub(crate) struct Jittered<T>(T);

pub(crate) type AtomicU32 = Jittered<atomic::AtomicU32>;
pub(crate) type AtomicU64 = Jittered<atomic::AtomicU64>;

impl AtomicU32 {
    pub(crate) const fn new(value: u32) -> Self {
        Self(atomic::AtomicU32::new(value))
    }
}

impl AtomicU64 {
    pub(crate) const fn new(value: u64) -> Self {
        Self(atomic::AtomicU64::new(value))
    }
}

impl<T> Deref for Jittered<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        step();
        &self.0
    }
}

/// Holds the thread up, now and then. Also before calls into crates that are not instrumented.
#[inline]
pub(crate) fn step() {
    PACE.with(|pace| match pace.left.get().checked_sub(1) {
        Some(left) => pace.left.set(left),
        None => pace.hold_up(),
    });
}

thread_local!(static PACE: Pace = const { Pace { left: Cell::new(0), random: Cell::new(0) } });

/// One thread's pace.
struct Pace {
    /// Accesses until the next one that is held up.
    left: Cell<u32>,
    /// State of a xorshift generator (G. Marsaglia 2003); zero before the first draw.
    random: Cell<u64>,
}

impl Pace {
    /// Of 64 times: 40 spins, 23 yields, and one long pause, in which every other thread comes far;
    /// of those again one in 64 is very long.
    #[cold]
    fn hold_up(&self) {
        let gap = *GAP;
        if gap == 0 {
            self.left.set(u32::MAX);
            return;
        }
        let drawn = self.draw();
        self.left.set((drawn >> 32) as u32 % gap.saturating_mul(2));
        let (kind, length) = (drawn % 64, (drawn >> 6) % 64);
        match kind {
            0 if length == 0 => yields(1024),
            0 => yields(length),
            1..24 => yields(1),
            _ => (0..length).for_each(|_| std::hint::spin_loop()),
        }
    }

    fn draw(&self) -> u64 {
        let mut x = self.random.get();
        if x == 0 {
            x = seed();
        }
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        self.random.set(x);
        x
    }
}

fn yields(count: u64) {
    (0..count).for_each(|_| std::thread::yield_now());
}

/// Another start for every thread; never zero.
fn seed() -> u64 {
    static THREADS: atomic::AtomicU64 = atomic::AtomicU64::new(1);
    // `Relaxed`: only the counter's own atomicity is needed. An odd factor maps only zero to zero.
    THREADS.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accesses_do_what_they_do_without_jitter() {
        let atomic = AtomicU64::new(1);
        for _ in 0..1_000 {
            atomic.fetch_add(1, Ordering::Relaxed);
        }
        assert_eq!(atomic.swap(3, Ordering::Relaxed), 1_001);
        let swapped = atomic.compare_exchange(3, 4, Ordering::Relaxed, Ordering::Relaxed);
        assert_eq!((swapped, atomic.load(Ordering::Relaxed)), (Ok(3), 4));
    }

    #[test]
    fn gaps_differ_and_threads_differ() {
        let draws = || (0..8).map(|_| PACE.with(Pace::draw)).collect::<Vec<_>>();
        let mine = draws();
        let others = std::thread::spawn(draws).join().expect("it only draws");
        assert!(mine.iter().all(|draw| !others.contains(draw)));
    }
}
