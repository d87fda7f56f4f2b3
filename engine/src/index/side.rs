//! Memory beside the table for what only some stores have: made when it is first needed.
//!
//! One cell for each slot. Several threads may make it at once; one of them wins, nobody waits.

use once_cell::race::OnceBox;

use super::Slot;

/// The cells.
#[derive(Debug)]
pub(super) struct Side<T> {
    slots: usize,
    cells: OnceBox<Box<[T]>>,
}

impl<T> Side<T> {
    /// Room for nothing yet.
    pub(super) const fn new(slots: usize) -> Self {
        Self { slots, cells: OnceBox::new() }
    }

    /// Makes the cells unless they are there.
    pub(super) fn make(&self, cell: impl Fn() -> T) -> &[T] {
        self.cells.get_or_init(|| Box::new((0..self.slots).map(|_| cell()).collect()))
    }

    /// A slot's cell, if the cells were made.
    #[inline]
    pub(super) fn get(&self, slot: Slot) -> Option<&T> {
        self.cells.get()?.get(slot.0 as usize)
    }
}
