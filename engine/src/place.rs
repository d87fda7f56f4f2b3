//! What a memory store writes into a lease's 32 bytes: which store, which key, which slot, and the
//! exact word of the grant.

use crate::contract::Place;
use crate::identity::Identity;
use crate::index::Slot;
use crate::word::Word;

/// Where a lease's entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spot {
    pub(crate) store_id: u32,
    pub(crate) identity: Identity,
    pub(crate) slot: Slot,
    /// As the lease's holder left it: only the holder moves it while the lease is current.
    pub(crate) word: Word,
}

impl Spot {
    #[inline]
    pub(crate) fn encode(self) -> Place {
        let mut bytes = [0; 32];
        bytes[..4].copy_from_slice(&self.store_id.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.slot.0.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.word.to_bits().to_le_bytes());
        bytes[16..].copy_from_slice(&self.identity.to_bits().to_le_bytes());
        Place(bytes)
    }

    #[inline]
    pub(crate) fn decode(place: &Place) -> Self {
        Self {
            store_id: u32::from_le_bytes(field(place, 0)),
            slot: Slot(u32::from_le_bytes(field(place, 4))),
            word: Word::from_bits(u64::from_le_bytes(field(place, 8))),
            identity: Identity::from_bits(u128::from_le_bytes(field(place, 16))),
        }
    }
}

/// `N` bytes from `start`; both are constants of this file, within the 32.
fn field<const N: usize>(place: &Place, start: usize) -> [u8; N] {
    std::array::from_fn(|offset| place.0[start + offset])
}

#[cfg(all(test, not(lease_loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_as_it_was_written() {
        let spot = Spot {
            store_id: u32::MAX - 1,
            identity: Identity::from_bits(u128::MAX - 2),
            slot: Slot(u32::MAX - 3),
            word: Word::from_bits(u64::MAX - 4),
        };
        assert_eq!(Spot::decode(&spot.encode()), spot);
    }
}
