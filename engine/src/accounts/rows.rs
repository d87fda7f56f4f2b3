//! The accounts of one store, by thread number: rows that are made when their first thread comes.
//!
//! Must never move or drop an account while the store lives, or leave a gap between rows.

use crossbeam_utils::CachePadded;
use once_cell::race::OnceBox;

use super::account::{Account, Writers};

/// Accounts of one allocation. Arbitrary: few enough to be looked through at once.
pub(super) const ROW_LENGTH: usize = if cfg!(lease_loom) { 2 } else { 16 };

/// Rows that there may be: enough for all thread numbers. The model has one, so that its third
/// thread shares an account.
const ROWS_MOST: usize =
    if cfg!(lease_loom) { 1 } else { super::number::THREADS_MOST / ROW_LENGTH };

/// Accounts that there may be.
pub(super) const ACCOUNTS_MOST: u32 = (ROWS_MOST * ROW_LENGTH) as u32;

type Row = [CachePadded<Account>; ROW_LENGTH];

/// All rows.
pub(super) struct Rows([OnceBox<Row>; ROWS_MOST]);

impl Rows {
    /// The first row.
    pub(super) fn new() -> Self {
        let rows = Self(std::array::from_fn(|_| OnceBox::new()));
        rows.make(0);
        rows
    }

    /// The account of a number, if there may be that many.
    #[inline]
    pub(super) fn account(&self, number: usize) -> Option<&Account> {
        let index = number / ROW_LENGTH;
        let row = match self.0.get(index)?.get() {
            Some(row) => row,
            None => self.make(index)?,
        };
        row.get(number % ROW_LENGTH).map(|account| &**account)
    }

    /// Makes a row and those before it, so that who walks them may stop at the first that is
    /// missing. Threads that meet here both allocate, and nobody waits.
    #[cold]
    fn make(&self, index: usize) -> Option<&Row> {
        let rows = self.0.get(..=index)?.iter().enumerate();
        rows.map(|(index, row)| row.get_or_init(|| Box::new(new_row(index)))).last()
    }

    /// All accounts that were made.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Account> {
        self.0.iter().map_while(OnceBox::get).flatten().map(|account| &**account)
    }
}

fn new_row(index: usize) -> Row {
    std::array::from_fn(|place| {
        CachePadded::new(Account::new((index * ROW_LENGTH + place) as u32, Writers::One))
    })
}
