//! One account, and the calling thread's view of it.
//!
//! An account with one writer must be written by the thread whose number it has and by no other:
//! [`Mine`] is the only way to it, and stays on its thread. Others look, and take places.

use std::marker::PhantomData;

use crossbeam_utils::CachePadded;

use super::Accounts;
use super::busy::Busy;
use super::hand::{Ending, Hold, Place};
use super::places::Places;
use crate::stats::{Event, Tally};
use crate::sync::plain::{AtomicU64, Ordering};

/// Who may write an account's tally and busy word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writers {
    /// The thread that has the account's number.
    One,
    /// Every thread without a number.
    Many,
}

/// One thread's account in one store.
pub(super) struct Account {
    tally: Tally,
    #[cfg(test)]
    number: u32,
    writers: Writers,
    /// Padded: others read and take from it, while its thread counts next to it.
    exposed: CachePadded<Exposed>,
}

/// What other threads look at.
struct Exposed {
    places: Places,
    busy: Busy,
    /// Where the thread's next sweep begins. Nobody else looks at it; here it has room.
    cursor: AtomicU64,
}

impl Account {
    pub(super) fn new(number: u32, writers: Writers) -> Self {
        // Far from those of its neighbours in number: odd, and large against a node's children.
        let cursor = AtomicU64::new(u64::from(number).wrapping_mul(0x9e37_79b1));
        Self {
            tally: Tally::new(),
            #[cfg(test)]
            number,
            writers,
            exposed: CachePadded::new(Exposed {
                places: Places::new(0),
                busy: Busy::new(),
                cursor,
            }),
        }
    }

    pub(super) const fn tally(&self) -> &Tally {
        &self.tally
    }

    pub(super) fn places(&self) -> &Places {
        &self.exposed.places
    }

    pub(super) fn busy(&self) -> &Busy {
        &self.exposed.busy
    }

    pub(super) const fn writers(&self) -> Writers {
        self.writers
    }
}

/// The calling thread's account. Not `Send`, since another thread must not write it.
#[derive(Clone, Copy)]
pub(crate) struct Mine<'a> {
    accounts: &'a Accounts,
    account: &'a Account,
    stays: PhantomData<*const ()>,
}

impl<'a> Mine<'a> {
    pub(super) const fn new(accounts: &'a Accounts, account: &'a Account) -> Self {
        Self { accounts, account, stays: PhantomData }
    }

    /// Counts one event.
    #[inline]
    pub(crate) fn count(self, event: Event) {
        match self.account.writers {
            Writers::One => self.account.tally.count_alone(event),
            Writers::Many => self.account.tally.count_among_others(event),
        }
    }

    /// Where the thread's next sweep begins: a hint, so that threads meet less, and each goes on
    /// where it was.
    pub(crate) fn cursor(self) -> usize {
        // [N6] `Relaxed`: a hint.
        self.account.exposed.cursor.load(Ordering::Relaxed) as usize
    }

    /// Says where the next sweep begins.
    pub(crate) fn set_cursor(self, cursor: usize) {
        // [N6] `Relaxed`: a hint.
        self.account.exposed.cursor.store(cursor as u64, Ordering::Relaxed);
    }

    /// The number of the account.
    #[cfg(test)]
    pub(crate) const fn number(self) -> usize {
        self.account.number as usize
    }

    /// Call it before the move that may end an entry.
    pub(crate) fn begin_end(self) -> Ending<'a> {
        Ending::new(Hold::begin(self))
    }

    /// Takes up to `most` places, of which one comes into the hand and the others into the account.
    /// Does not become busy if there are none.
    pub(super) fn take_from(self, source: &Places, most: u64) -> Option<Place<'a>> {
        if source.count() == 0 {
            return None;
        }
        let hold = Hold::begin(self);
        let taken = source.take(most)?;
        if taken > 1 {
            self.places().give(taken - 1);
        }
        Some(Place::new(hold))
    }

    pub(super) const fn account(self) -> &'a Account {
        self.account
    }

    pub(super) fn places(self) -> &'a Places {
        self.account.places()
    }

    pub(super) fn pool(self) -> &'a Places {
        &self.accounts.pool
    }
}
