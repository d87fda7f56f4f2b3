//! How long from one renewal to the next.

use std::time::Duration;

/// Shortest time between two renewals: what the runtime's timers resolve. A shorter one would only
/// spin.
const MIN_PAUSE: Duration = Duration::from_millis(1);

/// The time from one renewal to the next.
pub(super) fn pace(ttl: Duration) -> Duration {
    (ttl / 3).max(MIN_PAUSE)
}

/// The pause after a failed renewal: a third of what is left of the lease, so that several more
/// attempts fit in, but never so short that a store in trouble is hammered. Past the lease's end
/// the usual pace: the store may still grant it a late renewal.
pub(super) fn retry_pause(left: Duration, ttl: Duration) -> Duration {
    if left.is_zero() { pace(ttl) } else { (left / 3).max(ttl / 100).max(MIN_PAUSE) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retries_come_sooner_than_renewals_and_are_never_a_storm() {
        let second = Duration::from_secs(1);
        let ttl = 30 * second;
        assert_eq!(retry_pause(20 * second, ttl), 20 * second / 3);
        assert_eq!(retry_pause(second / 10, ttl), Duration::from_millis(300));
        assert_eq!(retry_pause(Duration::ZERO, ttl), 10 * second);
        let tiny = Duration::from_nanos(1);
        assert_eq!((pace(ttl), pace(tiny)), (10 * second, MIN_PAUSE));
        assert_eq!(retry_pause(Duration::ZERO, tiny), MIN_PAUSE);
        assert_eq!(retry_pause(tiny, tiny), MIN_PAUSE);
    }
}
