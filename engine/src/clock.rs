//! Time: the only file that reads a clock.
//!
//! A store counts time in ticks of 32 ms from its construction. A deadline is computed from a
//! *precise* reading and rounded up; whether it has passed is decided by a *coarse* one that is
//! rounded down and may lag. Both errors lengthen a lease, so a lease never ends early:
//! `deadline = ceil((precise + ttl) / tick)` has passed only when `floor(now / tick) >= deadline`.
//! On read a lease ends at most 64 ms late: 32 from rounding up, and less than 32 of lag.
//!
//! The reference is the system's monotonic clock. A faster counter stands in for it between two
//! looks (see `anchor`), which makes a reading an interval of some microseconds.

mod anchor;

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use self::anchor::Anchor;
use crate::sync::plain::{AtomicU64, Ordering};

/// Nanoseconds in a tick. A deadline has 34 bits in the lease word: of milliseconds they would last
/// 198 days of uptime, of 32 ms they last 17 years.
const TICK_NANOS: u64 = 32_000_000;

/// Largest tick that a deadline can name: 34 bits.
pub(crate) const LAST_TICK: u64 = (1 << 34) - 1;

/// How many coarse readings a thread takes before it reads precisely once, so that a stalled upkeep
/// delays expiry but never stops it. Arbitrary, and odd, so that a thread that goes from store to
/// store reads each of them precisely in turn; a precise reading costs some 15 ns.
const COARSE_READINGS_MAX: u32 = 61;

/// Whole ticks since the store's construction, rounded down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Tick(pub(crate) u64);

impl Tick {
    /// The tick that was this much earlier; the first one, if there was none.
    pub(crate) const fn minus(self, span: Span) -> Self {
        Self(self.0.saturating_sub(span.0))
    }
}

/// The tick from which something has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Deadline(pub(crate) u64);

impl Deadline {
    /// Whether it has passed.
    pub(crate) const fn is_past(self, now: Tick) -> bool {
        now.0 >= self.0
    }

    /// The deadline this much later. May exceed what a lease word can hold.
    pub(crate) const fn plus(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }

    /// Time from a reading to this deadline; zero once it has passed.
    pub(crate) fn remaining(self, now: Moment) -> Duration {
        Duration::from_nanos(self.0.saturating_mul(TICK_NANOS).saturating_sub(now.earliest()))
    }
}

/// A number of ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span(u64);

impl Span {
    /// At least so long.
    pub(crate) const fn of(duration: Duration) -> Self {
        Self(ticks_up(nanos(duration)))
    }
}

/// A precise reading: between two points, in nanoseconds since the store's construction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    earliest: u64,
    latest: u64,
}

impl Moment {
    /// A reading that is right.
    const fn exactly(nanos: u64) -> Self {
        Self { earliest: nanos, latest: nanos }
    }

    /// A reading that may be off by so much either way.
    const fn about(nanos: u64, error: u64) -> Self {
        Self { earliest: nanos.saturating_sub(error), latest: nanos.saturating_add(error) }
    }

    /// Not after the moment of the reading.
    const fn earliest(self) -> u64 {
        self.earliest
    }

    /// Not before it.
    const fn latest(self) -> u64 {
        self.latest
    }

    /// The tick that has certainly begun.
    pub(crate) const fn tick(self) -> Tick {
        Tick(self.earliest() / TICK_NANOS)
    }

    /// The deadline of a `ttl` that starts now, rounded up; `None` beyond the clock's range.
    pub(crate) fn deadline_after(self, ttl: Duration) -> Option<Deadline> {
        let ticks = ticks_up(self.latest().saturating_add(nanos(ttl)));
        (ticks <= LAST_TICK).then_some(Deadline(ticks))
    }

    /// The same, at the end of the range if it lies beyond: for what cannot be refused.
    pub(crate) fn deadline_after_or_last(self, ttl: Duration) -> Deadline {
        self.deadline_after(ttl).unwrap_or(Deadline(LAST_TICK))
    }
}

/// A coarse reading.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Glimpse {
    pub(crate) moment: Moment,
    /// Whether it is as good as a precise one.
    is_precise: bool,
}

/// At most 584 years.
const fn nanos(duration: Duration) -> u64 {
    // Not by `as_nanos`, whose 128 bits cost a library call when they are divided.
    let seconds = duration.as_secs().saturating_mul(1_000_000_000);
    seconds.saturating_add(duration.subsec_nanos() as u64)
}

const fn ticks_up(nanos: u64) -> u64 {
    nanos.div_ceil(TICK_NANOS)
}

/// What a store takes its time from: the system, or a test's hand.
///
/// A clock is made for one store and starts with it; a clone shares its time.
#[derive(Clone)]
pub struct Clock {
    source: Source,
    /// What `Tick(0)` is to the rest of the process.
    origin: Instant,
    coarse: Arc<Coarse>,
}

#[derive(Clone)]
enum Source {
    System { counter: quanta::Clock, origin: u64, anchor: Arc<Anchor> },
    Manual(ManualClock),
}

/// The coarse reading, shared by all users of the clock.
struct Coarse {
    /// The highest tick that anybody has read. `Relaxed`: it may lag, which lengthens leases.
    tick: AtomicU64,
    /// How many upkeeps run; while none does, coarse readings are precise ones.
    upkeeps: AtomicU64,
}

impl Clock {
    /// The system's monotonic clock, of which `quanta` gives most readings. It does not see changes
    /// of the wall clock, and it may stand still while the machine sleeps, which lengthens leases.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "this is the file that reads clocks")]
    pub fn system() -> Self {
        let counter = quanta::Clock::new();
        let origin = counter.raw();
        let anchor = Arc::new(Anchor::new());
        Self::new(Source::System { counter, origin, anchor }, Instant::now())
    }

    /// A clock that moves only by [`ManualClock::advance`], and the hand that moves it.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "this is the file that reads clocks")]
    pub fn manual() -> (Self, ManualClock) {
        let hand = ManualClock(Arc::new(AtomicU64::new(0)));
        (Self::new(Source::Manual(hand.clone()), Instant::now()), hand)
    }

    fn new(source: Source, origin: Instant) -> Self {
        let coarse = Coarse { tick: AtomicU64::new(0), upkeeps: AtomicU64::new(0) };
        Self { source, origin, coarse: Arc::new(coarse) }
    }

    /// Reads precisely, and raises the coarse reading.
    #[expect(clippy::disallowed_methods, reason = "this is the file that reads clocks")]
    #[inline]
    pub(crate) fn precise(&self) -> Moment {
        let moment = match &self.source {
            Source::System { counter, origin, anchor } => anchor.read(
                || counter.delta_as_nanos(*origin, counter.raw()),
                || nanos(Instant::now().duration_since(self.origin)),
            ),
            Source::Manual(hand) => Moment::exactly(hand.0.load(Ordering::Relaxed)),
        };
        // Loaded first, since a read-modify-write by every caller would be a contended line; the
        // tick changes 31 times a second.
        if moment.tick().0 > self.coarse.tick.load(Ordering::Relaxed) {
            self.coarse.tick.fetch_max(moment.tick().0, Ordering::Relaxed);
        }
        moment
    }

    /// Reads cheaply: a moment that has passed, and that lags by less than a tick while an upkeep
    /// runs. Without one, or once in [`COARSE_READINGS_MAX`] readings of a thread, it is precise.
    #[inline]
    pub(crate) fn coarse(&self) -> Glimpse {
        thread_local!(static READINGS: std::cell::Cell<u32> = const { std::cell::Cell::new(0) });
        let precise = || Glimpse { moment: self.precise(), is_precise: true };
        if self.coarse.upkeeps.load(Ordering::Relaxed) == 0 {
            return precise();
        }
        let readings = READINGS.get().wrapping_add(1);
        READINGS.set(readings);
        if readings.is_multiple_of(COARSE_READINGS_MAX) {
            return precise();
        }
        let ticks = self.coarse.tick.load(Ordering::Relaxed);
        let moment = Moment::exactly(ticks.saturating_mul(TICK_NANOS));
        Glimpse { moment, is_precise: false }
    }

    /// A precise reading for who has just had a coarse one: the same, if it was precise.
    #[inline]
    pub(crate) fn precise_after(&self, glimpse: Glimpse) -> Moment {
        if glimpse.is_precise { glimpse.moment } else { self.precise() }
    }

    /// Says that somebody reads precisely at least once in half a tick, until [`Self::end_upkeep`].
    pub(crate) fn begin_upkeep(&self) {
        self.coarse.upkeeps.fetch_add(1, Ordering::Relaxed);
    }

    /// Ends what [`Self::begin_upkeep`] began.
    pub(crate) fn end_upkeep(&self) {
        self.coarse.upkeeps.fetch_sub(1, Ordering::Relaxed);
    }

    /// A deadline as the rest of the process knows it.
    pub(crate) fn instant(&self, deadline: Deadline) -> Instant {
        let since = Duration::from_nanos(deadline.0.saturating_mul(TICK_NANOS));
        // Seventeen years cannot overflow a monotonic clock; if they do, the lease ends at once.
        self.origin.checked_add(since).unwrap_or(self.origin)
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.source {
            Source::System { .. } => "Clock(system)",
            Source::Manual(_) => "Clock(manual)",
        })
    }
}

/// Longest pause between two precise readings of an upkeep: half a tick.
pub(crate) const UPKEEP_PERIOD: Duration = Duration::from_millis(16);

/// Moves a manual [`Clock`]. Clones move the same one.
#[derive(Clone, Debug)]
pub struct ManualClock(Arc<AtomicU64>);

impl ManualClock {
    /// Moves the clock forward. It never goes back, and stops at 584 years.
    pub fn advance(&self, by: Duration) {
        let by = nanos(by);
        // `Relaxed`: a clock publishes nothing but itself. The closure never gives `None`.
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |nanos| {
            Some(nanos.saturating_add(by))
        });
    }
}

/// The wall clock in milliseconds since 1970; zero before it. Only tokens start from it.
#[expect(clippy::disallowed_methods, reason = "this is the file that reads clocks")]
pub(crate) fn wall_millis() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn deadlines_round_up_and_now_rounds_down() {
        let one = Duration::from_nanos(1);
        assert_eq!(Moment::exactly(0).deadline_after(one), Some(Deadline(1)));
        assert_eq!(Moment::exactly(0).deadline_after(Duration::from_millis(32)), Some(Deadline(1)));
        assert_eq!(Moment::exactly(1).deadline_after(Duration::from_millis(32)), Some(Deadline(2)));
        assert_eq!(Moment::exactly(32 * MS - 1).tick(), Tick(0));
        assert_eq!(Moment::exactly(32 * MS).tick(), Tick(1));
        assert!(!Deadline(1).is_past(Moment::exactly(32 * MS - 1).tick()));
        assert!(Deadline(1).is_past(Moment::exactly(32 * MS).tick()));
    }

    #[test]
    fn no_deadline_is_early_and_none_is_a_tick_late() {
        for start in [0, 1, 31 * MS, 32 * MS - 1, 32 * MS, 1_000_003] {
            for ttl in [1, MS, 32 * MS - 1, 32 * MS, 32 * MS + 1, 86_400_000 * MS] {
                let deadline = Moment::exactly(start)
                    .deadline_after(Duration::from_nanos(ttl))
                    .expect("well within the range");
                assert!(
                    !deadline.is_past(Moment::exactly(start + ttl - 1).tick()),
                    "{start} {ttl}"
                );
                assert!(
                    deadline.is_past(Moment::exactly(start + ttl + TICK_NANOS).tick()),
                    "{start} {ttl}"
                );
            }
        }
    }

    #[test]
    fn the_range_ends_after_seventeen_years() {
        let end = Moment::exactly(LAST_TICK * TICK_NANOS);
        assert_eq!(end.deadline_after(Duration::from_nanos(1)), None);
        assert_eq!(end.deadline_after_or_last(Duration::from_nanos(1)), Deadline(LAST_TICK));
        let before = Moment::exactly((LAST_TICK - 1) * TICK_NANOS);
        assert_eq!(before.deadline_after(Duration::from_millis(32)), Some(Deadline(LAST_TICK)));
        let years = Duration::from_nanos(end.earliest()).as_secs() / (365 * 24 * 60 * 60);
        assert_eq!(years, 17);
    }

    #[test]
    fn remaining_counts_to_the_deadline_and_stops_at_zero() {
        assert_eq!(Deadline(2).remaining(Moment::exactly(MS)), Duration::from_millis(63));
        assert_eq!(Deadline(2).remaining(Moment::exactly(64 * MS)), Duration::ZERO);
        assert_eq!(Deadline(2).remaining(Moment::exactly(65 * MS)), Duration::ZERO);
    }

    #[test]
    fn a_stalled_upkeep_delays_the_coarse_clock_and_never_stops_it() {
        let (clock, hand) = Clock::manual();
        clock.begin_upkeep();
        hand.advance(Duration::from_secs(1));
        let lagging =
            (0..COARSE_READINGS_MAX).filter(|_| clock.coarse().moment.tick() < Tick(31)).count();
        assert!(lagging >= 1, "an upkeep that never reads leaves the coarse clock behind");
        assert_eq!(
            clock.coarse().moment.tick(),
            Tick(31),
            "one reading in 61 is precise, and raises it"
        );
        clock.end_upkeep();
        hand.advance(Duration::from_secs(1));
        assert_eq!(
            clock.coarse().moment.tick(),
            Tick(62),
            "without an upkeep every reading is precise"
        );
    }

    #[test]
    fn a_precise_reading_raises_the_coarse_one() {
        let (clock, hand) = Clock::manual();
        clock.begin_upkeep();
        hand.advance(Duration::from_secs(2));
        clock.precise();
        assert_eq!(clock.coarse().moment.tick(), Tick(62));
    }
}
