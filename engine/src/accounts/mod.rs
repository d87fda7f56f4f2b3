//! Each thread's account in a store: what it has counted, and its free places.
//!
//! # Places
//! A store has `max_entries` *places*. An entry is made with a place in hand and gives it back when
//! it ends; the table has more slots than that, so the places are the bound. At first all places
//! are in the *pool*. A thread takes from its own account, refills that from the pool in batches,
//! takes single ones from other accounts once the pool is empty, and returns half of what it has
//! beyond [`KEPT_MOST`]. So two threads rarely write one line of memory, and the last free place is
//! found wherever it is.
//!
//! # In hand
//! A thread is *busy* while it may have a place in hand: from before it takes one until it has been
//! spent on an entry or is back in an account ([`Place`]), and from before it kills an entry until
//! its place is given ([`hand::Ending`]). Places are taken, given and moved by busy threads alone,
//! and each time that a thread becomes busy is counted. At all times
//!
//! ```text
//! pool + accounts + in hand + entries = max_entries       in hand: in the hand of a busy thread
//! ```
//!
//! # Full is exact
//! A count of zero here and then of zero there does not mean that both were zero at once: a place
//! may have moved from the second to the first in between, or through a hand that was not looked
//! at. [`Accounts::verdict`] therefore looks three times: (1) nobody is busy, and how often each
//! has become busy; (2) every count is zero; (3) the same as (1), with the same numbers. Then there
//! was a moment within the call at which all places were held by entries: the moment T between (1)
//! and (2). Let D be everything that happens before T.
//!
//! - Of each account's thread, D holds just what it did up to the idle word that (1) read. That
//!   much, since the word was stored with `Release` and read with `Acquire`. No more, since what
//!   it does to places, or to an entry, comes after it becomes busy; if that were in D, (3) would
//!   have to see it, and it did not. So in D nobody is in the middle: what a thread took it has
//!   spent or put back, what it killed it has given.
//! - Every count is zero in D. (2) read the last change of a count that D holds, or a later one. A
//!   later one is by a thread that became busy after what (1) read; changes are `Release` and (2)
//!   is `Acquire`, so (3) would have seen that.
//! - So in D the pool and the accounts are empty and no hand holds anything: the entries have it
//!   all.
//!
//! D is closed: with an event it has all that happens before it. So an order in which D comes first
//! explains everything that anybody saw. The order of the looks within (1), (2) or (3) does not
//! matter, nor do accounts that appear meanwhile: their thread has not been busy as of T, or (3)
//! sees that it has. That the numbers of (3) are those of (1) is read off their sums, since none of
//! them falls. They have 48 bits: to pass for unchanged, a thread would have to become busy 2^48
//! times within one verdict.
//!
//! # Progress
//! Nobody waits. Who sees only zeros never becomes busy, so any number of callers at a full store
//! are told so at once. `Unsettled` means that a place is in some hand, or was during the call: the
//! caller may try again. It goes on while a thread stalls with a place in hand, as then nobody can
//! know whether the store is full.
//!
//! # Accounts and threads
//! A store has an account for each thread number ([`number`]), made in rows of [`rows::ROW_LENGTH`]
//! (4 KiB, the first with the store). Live threads differ in their numbers, so an account has one
//! writer, and counting is a plain load and store. A later thread takes over the account of an
//! ended one, with its places. Threads without a number share one account, which they write with
//! read-modify-writes: those that call while their thread-locals are destroyed, and those beyond
//! [`number::THREADS_MOST`].
//!
//! # What it must never do
//! Lose or make a place; say *full* when a place was free all along; panic in a thread-local's
//! destructor, where leases may be dropped. Nothing but people may depend on the counters.

mod account;
mod busy;
mod hand;
mod number;
mod places;
mod rows;
#[cfg(feature = "validate")]
mod validate;

use crossbeam_utils::CachePadded;

pub(crate) use self::account::Mine;
use self::account::{Account, Writers};
pub(crate) use self::hand::Place;
use self::places::Places;
use self::rows::Rows;
use crate::stats::{Event, Stats, Tally};

/// Places that an account takes from the pool at once. Bounds how many places lie idle with a
/// thread. Arbitrary: large enough that the pool's line is written once in so many grants.
const BATCH: u64 = if cfg!(lease_loom) { 2 } else { 64 };

/// Places beyond which an account returns half. Twice the batch, so that a thread that ends as many
/// entries as it makes never goes to the pool.
const KEPT_MOST: u64 = 2 * BATCH;

/// The accounts of one store, and its free places.
pub(crate) struct Accounts {
    rows: Rows,
    /// Of the threads without a number. Padded: it is written by many.
    shared: CachePadded<Account>,
    /// Padded: it is written by all threads, and the rows next to it are read by all.
    pool: CachePadded<Places>,
}

/// What a look at all accounts came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// At a moment within the call entries held all places.
    Full,
    /// A place was in somebody's hand, or moved.
    Unsettled,
    /// A place was free.
    Free,
}

impl Accounts {
    /// No entries: all places are in the pool.
    pub(crate) fn new(max_entries: usize) -> Self {
        Self {
            rows: Rows::new(),
            shared: CachePadded::new(Account::new(rows::ACCOUNTS_MOST, Writers::Many)),
            pool: CachePadded::new(Places::new(max_entries as u64)),
        }
    }

    /// The calling thread's account. Fetch it once per verb and pass it along. Allocates a row of
    /// accounts when it is the first of its row to call.
    #[inline]
    pub(crate) fn mine(&self) -> Mine<'_> {
        let own = number::of_this_thread().and_then(|number| self.rows.account(number));
        Mine::new(self, own.unwrap_or(&self.shared))
    }

    /// A place, if one is free anywhere: from the thread's own account, else from the pool, else
    /// from another account. Lock-free: a retry means that another thread moved a place.
    #[inline]
    pub(crate) fn take<'a>(&'a self, mine: Mine<'a>) -> Option<Place<'a>> {
        mine.take_from(mine.places(), 1)
            .or_else(|| mine.take_from(&self.pool, BATCH))
            .or_else(|| self.all().find_map(|account| mine.take_from(account.places(), 1)))
    }

    /// Whether the store is full, for who was given no place. The module's page says why `Full` is
    /// exact.
    pub(crate) fn verdict(&self) -> Verdict {
        let before = self.begun_if_idle();
        if self.pool.count() > 0 || self.all().any(|account| account.places().count() > 0) {
            return Verdict::Free;
        }
        if before.is_some() && before == self.begun_if_idle() {
            Verdict::Full
        } else {
            Verdict::Unsettled
        }
    }

    /// How often threads have become busy, if none is.
    fn begun_if_idle(&self) -> Option<u64> {
        // Cannot overflow: some thousand numbers of 48 bits.
        self.all().try_fold(0, |sum, account| Some(sum + account.busy().begun_if_idle()?))
    }

    fn all(&self) -> impl Iterator<Item = &Account> {
        self.rows.iter().chain([&*self.shared])
    }

    /// How many entries there are: exact once nothing runs.
    pub(crate) fn entries(&self) -> usize {
        // In this order, or a thread that makes and ends entries meanwhile counts its ends alone.
        let ended = self.sum(Event::Ended);
        let made = self.sum(Event::Made);
        usize::try_from(made.saturating_sub(ended)).unwrap_or(usize::MAX)
    }

    /// Sums the accounts: each figure is one that held at some moment during the call.
    pub(crate) fn snapshot(&self) -> Stats {
        Stats::from_sums(|event| self.sum(event))
    }

    fn sum(&self, event: Event) -> u64 {
        self.all().map(Account::tally).map(|tally: &Tally| tally.get(event)).sum()
    }
}

#[cfg(all(test, lease_loom))]
mod loom_tests;
#[cfg(all(test, not(lease_loom)))]
mod tests;
