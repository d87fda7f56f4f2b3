//! Side array: which request each entry stands for, as 64 keyed bits, zero for none.
//!
//! A cell changes only while its slot's word is pending. A reader re-checks the word after reading
//! ([`LeaseWord::is_still`](crate::word::LeaseWord::is_still)), or it would pair a new generation
//! with an old fingerprint.

use std::io;

use super::Slot;
use super::mapping::FromZeros;
use super::side::Side;
use crate::sync::{AtomicU64, Ordering};

/// The array.
#[derive(Debug)]
pub(crate) struct Fingerprints(Side<AtomicU64>);

// SAFETY: an atomic integer.
unsafe impl FromZeros for AtomicU64 {
    #[cfg(lease_loom)]
    fn zero() -> Self {
        Self::new(0)
    }
}

impl Fingerprints {
    /// No fingerprints.
    ///
    /// # Errors
    ///
    /// The system's, if it does not give the address space.
    pub(crate) fn new(slots: usize) -> io::Result<Self> {
        Side::new(slots).map(Self)
    }

    /// Sets a pending slot's fingerprint.
    pub(crate) fn set(&self, slot: Slot, bits: Option<u64>) {
        let cell = if bits.is_some() { self.0.get_to_use(slot) } else { self.0.get(slot) };
        if let Some(cell) = cell {
            // [P2] `Release`: the word was taken before the cell changes, so who reads the new bits
            // sees the word changed. Pairs with [P3].
            cell.store(bits.unwrap_or(0), Ordering::Release);
        }
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
        let fingerprints = Fingerprints::new(2).expect("the memory is there");
        fingerprints.set(Slot(0), None);
        assert_eq!(fingerprints.get(Slot(0)), None);
        fingerprints.set(Slot(0), Some(7));
        assert_eq!((fingerprints.get(Slot(0)), fingerprints.get(Slot(1))), (Some(7), None));
        fingerprints.set(Slot(0), None);
        assert_eq!(fingerprints.get(Slot(0)), None);
    }
}
