//! The records of one due bucket: a lock-free stack through links that all buckets share.
//!
//! A record is in at most one bucket, so one link per record is enough. A bucket is closed once,
//! when it is empty; a push that meets a closed bucket must make a new one.

use super::Record;
use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// Stands for "no record": the bottom of a stack.
const NONE: u32 = u32::MAX;
/// Stands for a bucket that takes no more records.
const CLOSED: u32 = u32::MAX - 1;

// Two records a slot, and two numbers that stand for something else.
const _: () = assert!((crate::config::MAX_ENTRIES as u64) * 2 < CLOSED as u64);

/// The record below each record. Written by whoever pushes the record.
#[derive(Debug)]
pub(super) struct Links(Box<[AtomicU32]>);

impl Links {
    pub(super) fn new(count: usize) -> Self {
        Self((0..count).map(|_| AtomicU32::new(NONE)).collect())
    }
}

/// One reading of a bucket's top: tag in the upper half, record in the lower.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Top(u64);

impl Top {
    pub(super) const fn record(self) -> Record {
        Record(self.0 as u32)
    }

    /// The next tag with another record.
    const fn then(self, record: u32) -> Self {
        Self((self.0 >> 32).wrapping_add(1) << 32 | record as u64)
    }
}

/// What a top says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Head {
    Record(Top),
    Empty(Top),
    Closed,
}

impl Head {
    const fn of(top: Top) -> Self {
        match top.record().0 {
            NONE => Self::Empty(top),
            CLOSED => Self::Closed,
            _ => Self::Record(top),
        }
    }
}

/// One bucket.
#[derive(Debug)]
pub(super) struct Bucket(AtomicU64);

impl Bucket {
    pub(super) fn new() -> Self {
        Self(AtomicU64::new(u64::from(NONE)))
    }

    pub(super) fn top(&self) -> Head {
        // [R1] `Acquire`: the top record's link is readable. Pairs with [R2].
        Head::of(Top(self.0.load(Ordering::Acquire)))
    }

    /// Puts a record on top; false if the bucket is closed. The caller has filed the record and
    /// owns its link.
    pub(super) fn push(&self, links: &Links, record: Record) -> bool {
        let Some(link) = links.0.get(record.0 as usize) else {
            return true;
        };
        // [R1] `Acquire` is more than the push needs; one reading serves all.
        let mut head = self.top();
        loop {
            let (Head::Record(top) | Head::Empty(top)) = head else {
                return false;
            };
            // [R3] `Relaxed`: published by [R2].
            link.store(top.record().0, Ordering::Relaxed);
            // Ends: a failure means that another thread pushed, popped or closed.
            match self.swap(top, record.0) {
                Ok(()) => return true,
                Err(now) => head = now,
            }
        }
    }

    /// Removes the record that was on top; false if the top has changed.
    pub(super) fn pop(&self, links: &Links, top: Top) -> bool {
        let Some(link) = links.0.get(top.record().0 as usize) else {
            return false;
        };
        // [R3] `Relaxed`: written before the push that [R1] saw; if the record was popped and
        // pushed since, the tag has changed and the swap fails.
        let below = link.load(Ordering::Relaxed);
        self.swap(top, below).is_ok()
    }

    /// Closes an empty bucket; false if it is not empty any more, or closed by another.
    pub(super) fn close(&self, top: Top) -> bool {
        self.swap(top, CLOSED).is_ok()
    }

    fn swap(&self, top: Top, record: u32) -> Result<(), Head> {
        // [R2] `AcqRel`: `Release` publishes the pushed record's link, and orders the kill of a due
        // entry before its record disappears; `Acquire`, on failure too, pairs with it.
        self.0
            .compare_exchange(top.0, top.then(record).0, Ordering::AcqRel, Ordering::Acquire)
            .map(|_| ())
            .map_err(|now| Head::of(Top(now)))
    }
}

#[cfg(all(test, not(lease_loom)))]
mod tests {
    use super::*;

    fn top(bucket: &Bucket) -> Top {
        match bucket.top() {
            Head::Record(top) | Head::Empty(top) => top,
            Head::Closed => panic!("closed"),
        }
    }

    #[test]
    fn records_come_out_last_in_first_out() {
        let (links, bucket) = (Links::new(4), Bucket::new());
        assert!(bucket.push(&links, Record(3)) && bucket.push(&links, Record(0)));
        assert_eq!(top(&bucket).record(), Record(0));
        assert!(bucket.pop(&links, top(&bucket)));
        assert_eq!(top(&bucket).record(), Record(3));
        assert!(bucket.pop(&links, top(&bucket)));
        assert!(matches!(bucket.top(), Head::Empty(_)));
    }

    #[test]
    fn a_top_that_was_popped_and_pushed_again_is_not_the_same() {
        let (links, bucket) = (Links::new(2), Bucket::new());
        assert!(bucket.push(&links, Record(1)));
        let seen = top(&bucket);
        assert!(bucket.pop(&links, seen) && bucket.push(&links, Record(1)));
        assert!(!bucket.pop(&links, seen));
    }

    #[test]
    fn only_an_empty_bucket_closes_and_a_closed_one_takes_nothing() {
        let (links, bucket) = (Links::new(2), Bucket::new());
        let empty = top(&bucket);
        assert!(bucket.push(&links, Record(1)));
        assert!(!bucket.close(empty));
        assert!(bucket.pop(&links, top(&bucket)));
        assert!(bucket.close(top(&bucket)));
        assert!(!bucket.push(&links, Record(1)));
        assert_eq!(bucket.top(), Head::Closed);
    }
}
