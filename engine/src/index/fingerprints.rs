//! Side array: which request each entry stands for, as 64 keyed bits, zero for none.
//!
//! A cell changes only while its slot's word is pending. A reader re-checks the word after reading
//! ([`LeaseWord::is_still`](crate::word::LeaseWord::is_still)), or it would pair a new generation
//! with an old fingerprint. The array is made for the first fingerprint that a store sees.

use super::Slot;
use super::side::Side;
use crate::sync::{AtomicU64, Ordering};

/// The array.
#[derive(Debug)]
pub(crate) struct Fingerprints(Side<AtomicU64>);

impl Fingerprints {
    pub(crate) fn new(slots: usize) -> Self {
        Self(Side::new(slots))
    }

    /// Sets a pending slot's fingerprint. Call [`prepare`](Self::prepare) before the slot is taken.
    pub(crate) fn set(&self, slot: Slot, bits: Option<u64>) {
        if let Some(cell) = self.0.get(slot) {
            // [P2] `Release`: the word was taken before the cell changes, so who reads the new bits
            // sees the word changed. Pairs with [P3].
            cell.store(bits.unwrap_or(0), Ordering::Release);
        }
    }

    /// Makes room for fingerprints: it allocates, so it must not happen while a slot is pending.
    pub(crate) fn prepare(&self) {
        self.0.make(|| AtomicU64::new(0));
    }

    /// A slot's fingerprint, to be believed only if its word is still what it was.
    pub(crate) fn get(&self, slot: Slot) -> Option<u64> {
        // [P3] `Acquire`: see [P2].
        let bits = self.0.get(slot)?.load(Ordering::Acquire);
        (bits != 0).then_some(bits)
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
        fingerprints.prepare();
        fingerprints.set(Slot(0), Some(7));
        assert_eq!((fingerprints.get(Slot(0)), fingerprints.get(Slot(1))), (Some(7), None));
        fingerprints.set(Slot(0), None);
        assert_eq!(fingerprints.get(Slot(0)), None);
    }
}
