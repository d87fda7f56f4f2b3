//! How wide a bucket is, from how far ahead it lies.

use crate::clock::{Deadline, Tick};

/// A bucket is at most this part of the time until it is due: a power of two. Larger means fewer
/// records per bucket and fewer moves; smaller means fewer buckets. Some 64 to 128 buckets exist
/// per doubling of the time ahead.
const FRACTION: u64 = 64;

/// No bucket is filed further ahead than this: a record for later fires early, after a year. See
/// `filing`, which has 30 bits and a sign for it, and compares by readings that may be older than
/// the one of the filing: by nine hours at most, which is what the difference is for.
pub(super) const AHEAD_MAX: u64 = (1 << 30) - (1 << 20);

/// The tick at which the bucket for `due` begins: at most `due`, and after `now` if `due` is.
pub(super) const fn bucket_begin(due: Deadline, now: Tick) -> Tick {
    let ahead = due.0.saturating_sub(now.0);
    let part = ahead / FRACTION;
    if part <= 1 {
        return Tick(due.0);
    }
    let width = 1 << part.ilog2();
    let begin = due.0 & !(width - 1);
    let last = now.0.saturating_add(AHEAD_MAX);
    Tick(if begin < last { begin } else { last })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_begin_after_now_and_no_later_than_due() {
        for now in [0, 1, 63, 64, 1_000_003, 1 << 33] {
            for ahead in (1..300).chain([1 << 12, (1 << 12) + 1, 2_700_000, 1 << 33]) {
                let begin = bucket_begin(Deadline(now + ahead), Tick(now)).0;
                assert!(begin > now && begin <= now + ahead, "{now} {ahead} {begin}");
                let early = now + ahead - begin;
                assert!(early <= ahead / FRACTION || begin == now + AHEAD_MAX, "{now} {ahead}");
            }
            assert_eq!(bucket_begin(Deadline(now), Tick(now)), Tick(now));
        }
    }

    #[test]
    fn what_is_overdue_goes_to_its_own_tick() {
        assert_eq!(bucket_begin(Deadline(3), Tick(9)), Tick(3));
    }

    #[test]
    fn a_day_is_refiled_at_most_five_times() {
        let due = Deadline(2_700_000);
        let mut now = Tick(0);
        let mut moves = 0;
        while now.0 < due.0 {
            now = bucket_begin(due, now);
            moves += 1;
        }
        assert!(moves <= 5, "{moves}");
    }
}
