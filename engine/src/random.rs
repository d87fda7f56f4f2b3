//! Bits from the system's randomness, for keys of hashes.

use std::hash::{BuildHasher, Hasher, RandomState};

/// 16 bytes that strangers cannot guess.
///
/// Where the system's source fails (a sandbox that forbids it), std's own per-process hash keys
/// stand in: weaker, since two calls then depend on one key, but never a panic.
pub(crate) fn random_bytes() -> [u8; 16] {
    let mut bytes = [0; 16];
    if getrandom::fill(&mut bytes).is_err() {
        for half in bytes.chunks_mut(8) {
            half.copy_from_slice(&RandomState::new().build_hasher().finish().to_le_bytes());
        }
    }
    bytes
}
