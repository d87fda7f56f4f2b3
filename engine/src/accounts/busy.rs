//! Whether a thread may hold a place in hand, and how often it has begun to.
//!
//! Must never read as idle while its thread has a place in hand; a thread that forgot to end would
//! keep a full store from saying so.

use super::account::Writers;
use crate::sync::{AtomicU64, Ordering};

/// Holds that one thread may have at once, one within another. Arbitrary: the engine has two.
const DEPTH_BITS: u32 = 16;

/// One more hold that has begun.
const BEGUN: u64 = 1 << DEPTH_BITS;

/// `times begun 48 | holds under way 16`.
pub(super) struct Busy(AtomicU64);

impl Busy {
    pub(super) fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Before a place is taken, or an entry killed.
    pub(super) fn begin(&self, writers: Writers) {
        match writers {
            Writers::One => {
                // [N1] `Relaxed`, both: the word is this thread's own; what it does next to places
                // and entries publishes the store, to [N2] after [N3].
                let word = self.0.load(Ordering::Relaxed);
                debug_assert!(word % BEGUN + 1 < BEGUN, "holds end");
                self.0.store(word.wrapping_add(BEGUN + 1), Ordering::Relaxed);
            }
            Writers::Many => {
                // [N1] `Relaxed`: the same.
                self.0.fetch_add(BEGUN + 1, Ordering::Relaxed);
            }
        }
    }

    /// After the place was spent or given back, or nothing was killed.
    pub(super) fn end(&self, writers: Writers) {
        match writers {
            Writers::One => {
                // [N1] `Relaxed`: the word is this thread's own.
                let word = self.0.load(Ordering::Relaxed);
                debug_assert!(!word.is_multiple_of(BEGUN), "what ends has begun");
                // [N2] `Release`: who sees the thread idle sees what it has done with places and
                // entries.
                self.0.store(word.wrapping_sub(1), Ordering::Release);
            }
            Writers::Many => {
                // [N2] `Release`: the same; later holds continue its release sequence.
                self.0.fetch_sub(1, Ordering::Release);
            }
        }
    }

    /// How many holds have begun, if none is under way.
    pub(super) fn begun_if_idle(&self) -> Option<u64> {
        // [N2] `Acquire`: what idle threads have done is seen. Pairs with `end`.
        let word = self.0.load(Ordering::Acquire);
        word.is_multiple_of(BEGUN).then_some(word >> DEPTH_BITS)
    }
}
