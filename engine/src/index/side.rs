//! Memory beside the table for what only some stores have: one cell for each slot.
//!
//! The address space is taken with the store, so that nothing can fail or be waited for later; its
//! pages are touched by the first cell that is used, and until then nobody looks at any.

use std::io;

use super::Slot;
use super::mapping::{FromZeros, Zeros};
use crate::config::Pages;
use crate::sync::{AtomicU32, Ordering};

/// The cells.
#[derive(Debug)]
pub(super) struct Side<T> {
    cells: Zeros<T>,
    /// 1 once any cell was used.
    used: AtomicU32,
}

impl<T: FromZeros> Side<T> {
    /// Cells that were never used.
    ///
    /// # Errors
    ///
    /// The system's, if it does not give the address space.
    pub(super) fn new(slots: usize) -> io::Result<Self> {
        let pages = Pages { huge: false, prefault: false };
        Ok(Self { cells: Zeros::new(slots, pages)?, used: AtomicU32::new(0) })
    }

    /// A slot's cell, if any was used.
    #[inline]
    pub(super) fn get(&self, slot: Slot) -> Option<&T> {
        if self.is_used() { self.cells.as_slice().get(slot.0 as usize) } else { None }
    }

    /// A slot's cell, to use it. Before the entry that it belongs to is published.
    pub(super) fn get_to_use(&self, slot: Slot) -> Option<&T> {
        if !self.is_used() {
            // [P1] `Release`: "used" is seen by who sees the entry published after it.
            self.used.store(1, Ordering::Release);
        }
        self.cells.as_slice().get(slot.0 as usize)
    }

    /// All cells, if any was used.
    pub(super) fn all(&self) -> &[T] {
        if self.is_used() { self.cells.as_slice() } else { &[] }
    }

    #[inline]
    fn is_used(&self) -> bool {
        // [P1] `Acquire`: see `get_to_use`.
        self.used.load(Ordering::Acquire) == 1
    }
}
