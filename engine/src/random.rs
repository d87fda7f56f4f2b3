//! Bits from the system's randomness, for keys of hashes.

/// 16 bytes that strangers cannot guess.
///
/// Where the system's source fails (a sandbox that forbids it), std's own per-process hash keys
/// stand in: weaker, since two calls then depend on one key, but never a panic.
#[cfg(not(lease_loom))]
pub(crate) fn random_bytes() -> [u8; 16] {
    use std::hash::{BuildHasher, Hasher, RandomState};

    let mut bytes = [0; 16];
    if getrandom::fill(&mut bytes).is_err() {
        for half in bytes.chunks_mut(8) {
            half.copy_from_slice(&RandomState::new().build_hasher().finish().to_le_bytes());
        }
    }
    bytes
}

/// The same bytes every time: a model must take the same way in each of its runs.
#[cfg(lease_loom)]
pub(crate) fn random_bytes() -> [u8; 16] {
    *b"one way each run"
}
