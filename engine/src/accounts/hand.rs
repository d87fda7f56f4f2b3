//! A place in hand, and an end under way: what a thread holds while it is busy.
//!
//! Must never let a place be lost: whatever way a hold ends, its place is with an entry or back in
//! an account before the thread is idle.

use super::KEPT_MOST;
use super::account::Mine;

/// Its thread is busy until this is dropped.
pub(super) struct Hold<'a>(Mine<'a>);

impl<'a> Hold<'a> {
    /// Before a place is taken, or an entry killed.
    pub(super) fn begin(mine: Mine<'a>) -> Self {
        mine.account().busy().begin(mine.account().writers());
        Self(mine)
    }

    /// Puts a place into the thread's account; from one that has many, half goes to the pool.
    fn give(&self) {
        let places = self.0.places();
        let count = places.give(1);
        if count > KEPT_MOST
            && let Some(surplus) = places.take(count / 2)
        {
            self.0.pool().give(surplus);
        }
    }
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        self.0.account().busy().end(self.0.account().writers());
    }
}

/// A place in hand. Back in the thread's account when it is dropped.
pub(crate) struct Place<'a> {
    hold: Hold<'a>,
    is_spent: bool,
}

impl<'a> Place<'a> {
    pub(super) const fn new(hold: Hold<'a>) -> Self {
        Self { hold, is_spent: false }
    }

    /// The entry has it. After the move that made the entry.
    pub(crate) fn spend(mut self) {
        self.is_spent = true;
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if !self.is_spent {
            self.hold.give();
        }
    }
}

/// The end of an entry under way. If it is dropped, nothing was killed.
pub(crate) struct Ending<'a>(Hold<'a>);

impl<'a> Ending<'a> {
    pub(super) const fn new(hold: Hold<'a>) -> Self {
        Self(hold)
    }

    /// This call's move ended the entry: its place is free again.
    pub(crate) fn ended(self) {
        self.0.give();
    }
}
