//! Which entries fall due, in order: a skiplist of due buckets.
//!
//! # Buckets
//! A bucket is named by the tick at which it *begins* and is opened then, not at its end: records
//! that are not due yet move to finer buckets. A record that is filed for `r` ticks ahead goes into
//! a bucket at most `r / 64` wide, so it is refiled four or five times in a day's life and stands
//! in a bucket of its own tick for the last two seconds. One skiplist node per bucket, not per
//! entry.
//!
//! # Records
//! Each slot has two records, allocated with the store: so they are bounded, and filing one
//! allocates nothing but now and then a bucket. A record is a link of the stack of one bucket, or
//! unfiled. A later deadline needs nothing: the record fires early and is filed again. An earlier
//! one files the second record. A slot that needs a third (its deadline moved to before both) makes
//! the store look through all slots when it falls due; that takes two shortenings in a row before
//! the first record has fired.
//!
//! # Covered
//! Whoever moves an entry's deadline calls [`Expiry::arm`] after the move; whoever takes a record
//! out of a bucket unfiles it *first* and reads the entry's word *then*. Both go through a
//! read-modify-write of the slot's filing state: so either the mover sees the record unfiled and
//! files it, or the taker sees the moved word and files it. Every kept entry has a record that
//! fires no later than it falls due.
//!
//! # Little in hand
//! A due entry is ended while its record is still in its bucket, by as many threads as like, and
//! only then is the record taken out: a thread that stalls in between hides nothing that is due.
//! What is out of every bucket for a moment is the record of an entry that is not due.
//!
//! # What it must never do
//! Decide what is due: that is the entry's word. Expiry is decided on read; this only finds memory
//! to reclaim.

mod bucket;
mod filing;
mod width;

use crossbeam_skiplist::SkipMap;
use crossbeam_skiplist::map::Entry;
use crossbeam_utils::CachePadded;

use self::bucket::{Bucket, Head, Links, Top};
use self::filing::{Answer, Filing, Lane};
use crate::clock::{Deadline, Tick};
use crate::sync::{AtomicU64, Ordering, step};

/// Number of a record: twice its slot, plus its lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Record(u32);

impl Record {
    const fn new(slot: u32, lane: Lane) -> Self {
        Self(slot << 1 | lane as u32)
    }

    const fn slot(self) -> u32 {
        self.0 >> 1
    }

    const fn lane(self) -> Lane {
        if self.0 & 1 == 0 { Lane::First } else { Lane::Second }
    }
}

/// The expiry index of one store.
pub(crate) struct Expiry {
    buckets: SkipMap<u64, Bucket>,
    links: Links,
    filings: Box<[Filing]>,
    /// The earliest tick at which an entry without a record falls due. Padded: sweeps read it, and
    /// it is next to nothing that they write.
    look_through: CachePadded<AtomicU64>,
}

/// A record that stands in a bucket which has begun.
pub(crate) struct DueRecord<'a> {
    entry: Entry<'a, u64, Bucket>,
    top: Top,
    record: Record,
}

impl DueRecord<'_> {
    /// The slot that it speaks of.
    pub(crate) const fn slot(&self) -> u32 {
        self.record.slot()
    }
}

impl Expiry {
    pub(crate) fn new(count: usize) -> Self {
        Self {
            buckets: SkipMap::new(),
            links: Links::new(count * 2),
            filings: (0..count).map(|_| Filing::new()).collect(),
            look_through: CachePadded::new(AtomicU64::new(u64::MAX)),
        }
    }

    /// Makes sure that a record of the slot fires no later than `due`. Call it after the move that
    /// set the deadline.
    pub(crate) fn arm(&self, slot: u32, due: Deadline, now: Tick) {
        let Some(filing) = self.filings.get(slot as usize) else {
            return;
        };
        let begin = width::bucket_begin(due, now);
        match filing.file(due, begin, now) {
            Answer::Covered => {}
            Answer::Filed(lane) => self.push(Record::new(slot, lane), begin),
            Answer::NoRecord => {
                // [X1] `AcqRel`: the moved word is published to whoever takes the mark ([X2]).
                self.look_through.fetch_min(due.0, Ordering::AcqRel);
            }
        }
    }

    fn push(&self, record: Record, begin: Tick) {
        // Ends: a closed bucket is removed by whoever meets it, and a bucket is closed once.
        loop {
            step();
            let entry = self.buckets.get_or_insert_with(begin.0, Bucket::new);
            if entry.value().push(&self.links, record) {
                return;
            }
            step();
            entry.remove();
        }
    }

    /// A record of a bucket that has begun, left where it is; nothing if none has begun. What it
    /// says may be old: read the slot's word.
    pub(crate) fn due(&self, now: Tick) -> Option<DueRecord<'_>> {
        // Ends: each turn removes a bucket, or sees that another thread did.
        loop {
            step();
            let entry = self.buckets.front()?;
            if *entry.key() > now.0 {
                return None;
            }
            match entry.value().top() {
                Head::Record(top) => {
                    return Some(DueRecord { entry, top, record: top.record() });
                }
                Head::Empty(top) if !entry.value().close(top) => {}
                Head::Empty(_) | Head::Closed => {
                    step();
                    entry.remove();
                }
            }
        }
    }

    /// Takes a record out of its bucket and unfiles it; false if another thread did. After *true*
    /// read the slot's word, and [`arm`](Self::arm) the slot if the entry is kept.
    pub(crate) fn take(&self, due: &DueRecord<'_>) -> bool {
        if !due.entry.value().pop(&self.links, due.top) {
            return false;
        }
        if let Some(filing) = self.filings.get(due.record.slot() as usize) {
            filing.unfile(due.record.lane());
        }
        true
    }

    /// Whether an entry without a record may be due, so that all slots must be looked through: kill
    /// what is due, then [`forget_look_through`](Self::forget_look_through), then arm what is kept.
    pub(crate) fn must_look_through(&self, now: Tick) -> bool {
        // [X2] `Acquire`: see [X1].
        self.look_through.load(Ordering::Acquire) <= now.0
    }

    /// Forgets the mark. An entry that was marked before is found by the arming that follows; one
    /// that is marked after keeps its mark.
    pub(crate) fn forget_look_through(&self) {
        // [X2] `AcqRel`: see [X1].
        self.look_through.swap(u64::MAX, Ordering::AcqRel);
    }

    /// Buckets that exist now.
    #[cfg(all(test, not(lease_loom)))]
    pub(crate) fn buckets(&self) -> usize {
        self.buckets.len()
    }
}

#[cfg(all(test, not(lease_loom)))]
mod tests;
