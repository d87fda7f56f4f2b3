//! Side array: which request each entry stands for, as 64 keyed bits, zero for none.
//!
//! A cell changes only while its slot's word is pending. A reader re-checks the word after reading
//! ([`LeaseWord::is_still`](crate::word::LeaseWord::is_still)), or it would pair a new generation
//! with an old fingerprint. Stores that never see a fingerprint never touch the array.

use super::Slot;
use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// The array.
#[derive(Debug)]
pub(crate) struct Fingerprints {
    cells: Box<[AtomicU64]>,
    /// 1 once any entry has had a fingerprint.
    used: AtomicU32,
}

impl Fingerprints {
    pub(crate) fn new(count: usize) -> Self {
        Self { cells: (0..count).map(|_| AtomicU64::new(0)).collect(), used: AtomicU32::new(0) }
    }

    /// Sets a pending slot's fingerprint.
    pub(crate) fn set(&self, slot: Slot, bits: Option<u64>) {
        let Some(cell) = self.cells.get(slot.0 as usize) else {
            return;
        };
        match bits {
            // [P1] `Release`: "used" is seen by who sees the entry published after it ([W3]).
            Some(_) if self.used.load(Ordering::Relaxed) == 0 => {
                self.used.store(1, Ordering::Release);
            }
            None if !self.is_used() => return,
            _ => {}
        }
        // [P2] `Release`: the word was taken before the cell changes, so who reads the new bits
        // sees the word changed. Pairs with [P3].
        cell.store(bits.unwrap_or(0), Ordering::Release);
    }

    /// A slot's fingerprint, to be believed only if its word is still what it was.
    pub(crate) fn get(&self, slot: Slot) -> Option<u64> {
        if !self.is_used() {
            return None;
        }
        // [P3] `Acquire`: see [P2].
        let bits = self.cells.get(slot.0 as usize)?.load(Ordering::Acquire);
        (bits != 0).then_some(bits)
    }

    fn is_used(&self) -> bool {
        // [P1] `Acquire`: see `set`.
        self.used.load(Ordering::Acquire) == 1
    }
}

#[cfg(all(test, not(lease_loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_is_replaced_and_cleared() {
        let fingerprints = Fingerprints::new(2);
        fingerprints.set(Slot(0), None);
        assert_eq!(fingerprints.get(Slot(0)), None);
        fingerprints.set(Slot(0), Some(7));
        assert_eq!((fingerprints.get(Slot(0)), fingerprints.get(Slot(1))), (Some(7), None));
        fingerprints.set(Slot(0), None);
        assert_eq!(fingerprints.get(Slot(0)), None);
    }
}
