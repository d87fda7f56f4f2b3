//! What a memory store writes into a lease's 32 bytes: which store, which key, which slot, which
//! grant.

use crate::contract::Place;
use crate::identity::Identity;
use crate::index::Slot;
use crate::word::Generation;

/// Where a lease's entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spot {
    pub(crate) store_id: u64,
    pub(crate) identity: Identity,
    pub(crate) slot: Slot,
    pub(crate) generation: Generation,
}

impl Spot {
    pub(crate) fn encode(self) -> Place {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&self.store_id.to_le_bytes());
        bytes[8..24].copy_from_slice(&self.identity.to_bits().to_le_bytes());
        bytes[24..28].copy_from_slice(&self.slot.0.to_le_bytes());
        bytes[28..].copy_from_slice(&self.generation.to_bits().to_le_bytes());
        Place(bytes)
    }

    pub(crate) fn decode(place: &Place) -> Self {
        Self {
            store_id: u64::from_le_bytes(field(place, 0)),
            identity: Identity::from_bits(u128::from_le_bytes(field(place, 8))),
            slot: Slot(u32::from_le_bytes(field(place, 24))),
            generation: Generation::from_bits(u32::from_le_bytes(field(place, 28))),
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
            store_id: u64::MAX - 1,
            identity: Identity::from_bits(u128::MAX - 2),
            slot: Slot(u32::MAX - 3),
            generation: Generation::from_bits((1 << 28) - 4),
        };
        assert_eq!(Spot::decode(&spot.encode()), spot);
    }
}
