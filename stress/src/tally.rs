//! What was asked and answered, counted by each player for itself.

use std::fmt;
use std::ops::AddAssign;

use leasehold::Stats;

use crate::claim::{Checked, Claim, check};

/// Figures of a player, a round or a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) acquires: u64,
    pub(crate) granted: u64,
    pub(crate) in_flight: u64,
    pub(crate) completed: u64,
    pub(crate) full: u64,
    /// Counted by the stores.
    pub(crate) taken_over: u64,
    pub(crate) expired: u64,
}

impl Tally {
    /// Holds the figures of a store at rest, which granted each of its keys once before, against
    /// these; and takes over those that only it has.
    pub(crate) fn settle(&mut self, stats: &Stats, keys: usize) -> Checked {
        let counted = [
            ("granted", self.granted + keys as u64, stats.granted),
            ("in flight", self.in_flight, stats.in_flight),
            ("completed", self.completed, stats.completed),
            ("full", self.full, stats.full),
            ("mismatches", 0, stats.mismatch),
        ];
        for (what, ours, its) in counted {
            check(ours == its, Claim::FiguresAddUp, || {
                format!("{its} {what} by the store, {ours} answered")
            })?;
        }
        (self.taken_over, self.expired) = (stats.taken_over, stats.reclaimed);
        Ok(())
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.acquires += other.acquires;
        self.granted += other.granted;
        self.in_flight += other.in_flight;
        self.completed += other.completed;
        self.full += other.full;
        self.taken_over += other.taken_over;
        self.expired += other.expired;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} acquires: {} granted, {} completed, {} in flight, {} full; {} taken over, \
             {} expired",
            self.acquires,
            self.granted,
            self.completed,
            self.in_flight,
            self.full,
            self.taken_over,
            self.expired
        )
    }
}
