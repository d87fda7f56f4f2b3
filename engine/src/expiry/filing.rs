//! Where a slot's two records are filed, in one atomic word.
//!
//! Each half says whether its record is in a bucket, and the low 31 bits of the tick at which that
//! bucket begins. A half is filed by who puts the record into a bucket, and unfiled by who took it
//! out.

use super::width::AHEAD_MAX;
use crate::clock::{Deadline, Tick};
use crate::sync::{AtomicU64, Ordering};

/// The half's record is in a bucket.
const FILED: u32 = 1 << 31;

// A bucket lies at most this far ahead when it is filed, and comes nearer ever after, so 31 bits
// and a sign tell how far. Only one that nobody has swept for a year could be taken for a later
// one, and that files a record too many, never one too few.
const _: () = assert!(AHEAD_MAX < 1 << 30);

/// Which of a slot's two records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    First = 0,
    Second = 1,
}

impl Lane {
    const fn shift(self) -> u32 {
        self as u32 * 32
    }

    const fn mask(self) -> u64 {
        0xffff_ffff << self.shift()
    }
}

/// The answer to a filing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// A record fires early enough already.
    Covered,
    /// This record was unfiled and is the caller's to push into its bucket.
    Filed(Lane),
    /// Both records are filed, and both fire too late.
    NoRecord,
}

/// The filing state of one slot.
#[derive(Debug)]
pub(super) struct Filing(AtomicU64);

impl Filing {
    pub(super) fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Files a record that fires at `begin`, unless one fires no later than `due` already.
    pub(super) fn file(&self, due: Deadline, begin: Tick, now: Tick) -> Answer {
        let due_ahead = i128::from(due.0) - i128::from(now.0);
        let covers = |half: u32| half & FILED != 0 && i128::from(ahead(half, now)) <= due_ahead;
        // [E1] `AcqRel`, and a read-modify-write although nothing changes: it and [E2] are in one
        // order. If this one comes first, the taker's `Acquire` sees the word that the caller
        // moved. If the taker's comes first, this one sees the record unfiled.
        let mut seen = self.0.fetch_or(0, Ordering::AcqRel);
        // Ends: a failed swap means that a record was filed or unfiled, each at most once per
        // move of the entry's word.
        loop {
            let halves = [half(seen, Lane::First), half(seen, Lane::Second)];
            if halves.into_iter().any(covers) {
                return Answer::Covered;
            }
            let lane = match halves.map(|half| half & FILED != 0) {
                [false, _] => Lane::First,
                [_, false] => Lane::Second,
                _ => return Answer::NoRecord,
            };
            let filed = u64::from(FILED | begin.0 as u32) << lane.shift();
            // [E1] `AcqRel`, on failure `Acquire`: see above.
            match self.0.compare_exchange(
                seen,
                seen & !lane.mask() | filed,
                Ordering::AcqRel,
                Ordering::Acquire,
            ) {
                Ok(_) => return Answer::Filed(lane),
                Err(now) => seen = now,
            }
        }
    }

    /// The record is in no bucket any more.
    pub(super) fn unfile(&self, lane: Lane) {
        // [E2] `AcqRel`: pairs with [E1]; the caller reads the slot's word after this.
        self.0.fetch_and(!lane.mask(), Ordering::AcqRel);
    }
}

const fn half(state: u64, lane: Lane) -> u32 {
    (state >> lane.shift()) as u32
}

/// How many ticks after now the half's bucket begins; negative if it has begun.
const fn ahead(half: u32, now: Tick) -> i32 {
    // Both without their top bit, and the difference's sign from its 31st.
    (half.wrapping_sub(now.0 as u32) << 1) as i32 >> 1
}

#[cfg(all(test, not(lease_loom)))]
mod tests {
    use super::*;

    fn file(filing: &Filing, at: u64) -> Answer {
        filing.file(Deadline(at), Tick(at), Tick(0))
    }

    #[test]
    fn a_later_deadline_is_covered_and_an_earlier_one_files_the_other_record() {
        let filing = Filing::new();
        assert_eq!(file(&filing, 100), Answer::Filed(Lane::First));
        assert_eq!(file(&filing, 100), Answer::Covered);
        assert_eq!(file(&filing, 500), Answer::Covered);
        assert_eq!(file(&filing, 99), Answer::Filed(Lane::Second));
        assert_eq!(file(&filing, 40), Answer::NoRecord);
        filing.unfile(Lane::Second);
        assert_eq!(file(&filing, 40), Answer::Filed(Lane::Second));
        filing.unfile(Lane::First);
        assert_eq!(file(&filing, 400), Answer::Covered);
        filing.unfile(Lane::Second);
        assert_eq!(file(&filing, 400), Answer::Filed(Lane::First));
    }

    #[test]
    fn a_bucket_that_has_begun_covers_everything() {
        let filing = Filing::new();
        assert_eq!(file(&filing, 5), Answer::Filed(Lane::First));
        assert_eq!(filing.file(Deadline(9), Tick(9), Tick(9)), Answer::Covered);
    }

    #[test]
    fn distances_hold_wherever_the_clock_stands() {
        for now in [0, 7, (1 << 31) - 2, 1 << 31, (1 << 32) - 1, 1 << 32, (1 << 34) - 9] {
            let (due, later) = (now + 5, now + AHEAD_MAX);
            let filing = Filing::new();
            let file = |due| filing.file(Deadline(due), Tick(due), Tick(now));
            assert_eq!(file(later), Answer::Filed(Lane::First), "{now}");
            assert_eq!(file(due), Answer::Filed(Lane::Second), "{now}");
            assert_eq!(file(due + 1), Answer::Covered, "{now}");
            assert_eq!(file(due - 1), Answer::NoRecord, "{now}");
        }
    }
}
