//! Ties a fast counter to the system's monotonic clock.
//!
//! A processor's counter is quick to read, but it is calibrated once, and then runs some millionths
//! fast or slow for ever: 16 ppm were seen, by which a key kept for a day ended 1.4 s early. It may
//! also jump when a virtual machine moves. So every few milliseconds one reading asks the system,
//! and notes how far the counter is ahead; the readings in between subtract that.
//!
//! A reading is an interval, since the counter may drift until it is anchored again. What has ended
//! is decided by its lower end, when something will end by its upper one: neither is ever early.
//!
//! The note is guarded by a version (a seqlock). A reader that meets a change asks the system
//! itself: nobody waits, and a writer that stalls makes readings slower, never wrong.

use super::Moment;
use crate::sync::{AtomicU64, Ordering};

/// How long a note is good for, in nanoseconds of the counter. Short against a tick, long against
/// the 25 ns of asking the system.
const PERIOD_NANOS: u64 = 8_000_000;

/// How far a corrected reading may be off, in nanoseconds: 2,000 ppm of a period, a hundred times
/// what was seen, and how long noting it may take.
const ERROR_NANOS: u64 = 20_000;

/// How long noting may take, in nanoseconds; a thread that was interrupted in it notes nothing.
const NOTING_NANOS_MAX: u64 = 4_000;

const _: () = assert!(PERIOD_NANOS / 500 + NOTING_NANOS_MAX <= ERROR_NANOS);

/// The note.
#[derive(Debug)]
pub(super) struct Anchor {
    /// Odd while the note changes.
    version: AtomicU64,
    /// The counter when it was noted.
    counter: AtomicU64,
    /// How far the counter was ahead of the system's clock; wraps below zero if it was behind.
    ahead: AtomicU64,
}

impl Anchor {
    /// Nothing is noted: the first reading asks the system.
    pub(super) fn new() -> Self {
        Self {
            version: AtomicU64::new(0),
            // Further from any reading than a period.
            counter: AtomicU64::new(u64::MAX),
            ahead: AtomicU64::new(0),
        }
    }

    /// The time, from the counter if it was anchored lately, else from the system. Both are in
    /// nanoseconds since the same moment.
    #[inline]
    pub(super) fn read(&self, counter: impl Fn() -> u64, system: impl Fn() -> u64) -> Moment {
        // [Q1] `Acquire`: the note of this version, or a later one, is read below. Pairs with [Q3].
        let version = self.version.load(Ordering::Acquire);
        // [Q2] `Acquire`: who reads a part of a later note sees the version changed. Pairs with the
        // `Release` stores of `note`.
        let noted = self.counter.load(Ordering::Acquire);
        let ahead = self.ahead.load(Ordering::Acquire);
        // [Q1] `Relaxed`: kept after the loads above by their `Acquire`.
        let whole = version.is_multiple_of(2) && self.version.load(Ordering::Relaxed) == version;
        let now = counter();
        if whole && now.abs_diff(noted) < PERIOD_NANOS {
            return Moment::about(now.wrapping_sub(ahead), ERROR_NANOS);
        }
        self.ask(whole.then_some(version), now, counter, system)
    }

    /// Asks the system, and notes what it says if the note of a version may be changed.
    #[cold]
    fn ask(
        &self,
        version: Option<u64>,
        now: u64,
        counter: impl Fn() -> u64,
        system: impl Fn() -> u64,
    ) -> Moment {
        let exact = system();
        let took = counter().wrapping_sub(now);
        if let Some(version) = version.filter(|_| took <= NOTING_NANOS_MAX) {
            self.note(version, now, now.wrapping_sub(exact));
        }
        Moment::exactly(exact)
    }

    /// Changes the note, unless another thread does or has.
    fn note(&self, version: u64, counter: u64, ahead: u64) {
        // [Q3] `AcqRel`: the parts change after the version is odd. On failure `Relaxed`: another
        // thread's note is as good.
        let begun = self.version.compare_exchange(
            version,
            version.wrapping_add(1),
            Ordering::AcqRel,
            Ordering::Relaxed,
        );
        if begun.is_ok() {
            // [Q2] `Release`: see `read`.
            self.counter.store(counter, Ordering::Release);
            self.ahead.store(ahead, Ordering::Release);
            // [Q3] `Release`: the note is whole before its version is even. Pairs with [Q1].
            self.version.store(version.wrapping_add(2), Ordering::Release);
        }
    }
}

#[cfg(all(test, not(lease_loom)))]
mod tests {
    use std::cell::Cell;

    use super::*;

    const HOUR: u64 = 3_600_000_000_000;

    /// A counter and a system clock that a test moves.
    struct Clocks {
        counter: Cell<u64>,
        system: Cell<u64>,
        asked: Cell<u32>,
    }

    impl Clocks {
        fn new() -> Self {
            Self { counter: Cell::new(0), system: Cell::new(0), asked: Cell::new(0) }
        }

        fn pass(&self, system: u64, counter: u64) {
            self.system.set(self.system.get() + system);
            self.counter.set(self.counter.get().wrapping_add(counter));
        }

        fn read(&self, anchor: &Anchor) -> Moment {
            let system = || {
                self.asked.set(self.asked.get() + 1);
                self.system.get()
            };
            anchor.read(|| self.counter.get(), system)
        }
    }

    #[test]
    fn a_counter_that_drifts_is_never_off_by_more_than_the_reading_says() {
        for (fast, slow) in [(1_002, 1_000), (1_000, 1_002), (1_000, 1_000)] {
            let (anchor, clocks) = (Anchor::new(), Clocks::new());
            for _ in 0..100_000 {
                clocks.pass(slow * 100, fast * 100);
                let now = clocks.system.get();
                let reading = clocks.read(&anchor);
                assert!(reading.earliest() <= now && now <= reading.latest());
            }
            assert!(clocks.asked.get() < 2_000, "most readings come from the counter");
        }
    }

    #[test]
    fn a_counter_that_jumps_either_way_is_caught_by_the_next_reading() {
        let (anchor, clocks) = (Anchor::new(), Clocks::new());
        clocks.read(&anchor);
        for jump in [HOUR, HOUR.wrapping_neg(), PERIOD_NANOS, PERIOD_NANOS.wrapping_neg()] {
            clocks.pass(1_000, jump);
            assert_eq!(clocks.read(&anchor), Moment::exactly(clocks.system.get()));
        }
    }

    #[test]
    fn a_long_pause_costs_no_precision() {
        let (anchor, clocks) = (Anchor::new(), Clocks::new());
        clocks.read(&anchor);
        clocks.pass(24 * HOUR, 24 * HOUR + 24 * HOUR / 50_000);
        assert_eq!(clocks.read(&anchor), Moment::exactly(24 * HOUR));
    }

    #[test]
    fn a_reading_that_was_interrupted_notes_nothing() {
        let (anchor, clocks) = (Anchor::new(), Clocks::new());
        let interrupted = || {
            clocks.pass(NOTING_NANOS_MAX + 1, NOTING_NANOS_MAX + 1);
            clocks.counter.get()
        };
        anchor.read(interrupted, || clocks.system.get());
        clocks.read(&anchor);
        clocks.read(&anchor);
        assert_eq!(clocks.asked.get(), 1, "the second reading notes, the third uses the note");
    }

    #[test]
    fn a_note_that_is_being_changed_is_not_used() {
        let (anchor, clocks) = (Anchor::new(), Clocks::new());
        clocks.read(&anchor);
        anchor.version.store(3, Ordering::Release);
        clocks.pass(10, 10);
        assert_eq!(clocks.read(&anchor), Moment::exactly(10));
        assert_eq!(anchor.version.load(Ordering::Acquire), 3, "its writer alone ends that");
    }
}
