//! How many calls are in the middle of something, counted in stripes.
//!
//! Two things take more than one step and are nowhere to be seen in between: giving a key a slot,
//! and listing a dead slot. Who finds no slot on the way to *full* asks here whether one of them is
//! under way, and looks again if so.

use crossbeam_utils::CachePadded;

use crate::sync::{AtomicU32, Ordering};

/// The counters.
#[derive(Debug)]
pub(super) struct UnderWay {
    /// Padded: threads in different stripes do not meet.
    stripes: Box<[CachePadded<AtomicU32>]>,
}

/// A call in the middle, until it is dropped.
pub(super) struct Step<'a>(&'a AtomicU32);

impl UnderWay {
    /// Nothing is under way. `stripes` is a power of two.
    pub(super) fn new(stripes: usize) -> Self {
        debug_assert!(stripes.is_power_of_two(), "stripes are masked");
        Self { stripes: (0..stripes).map(|_| CachePadded::new(AtomicU32::new(0))).collect() }
    }

    /// Says that a call begins, before its first step.
    pub(super) fn begin(&self, stripe: usize) -> Step<'_> {
        let stripe = &self.stripes[stripe & (self.stripes.len() - 1)];
        // [K1] `Relaxed`: published by the step that hides something: a pop ([F5], [F6]) for a
        // claim, the swap of `listed` ([F1]) for a push.
        stripe.fetch_add(1, Ordering::Relaxed);
        Step(stripe)
    }

    /// Whether a call of the stripe is under way. After the step that found nothing.
    pub(super) fn any_in(&self, stripe: usize) -> bool {
        // [K2] `Acquire`: if the call has ended, what it did is seen. Pairs with [K3].
        self.stripes[stripe & (self.stripes.len() - 1)].load(Ordering::Acquire) > 0
    }

    /// Whether any call is under way.
    pub(super) fn any(&self) -> bool {
        (0..self.stripes.len()).any(|stripe| self.any_in(stripe))
    }
}

impl Drop for Step<'_> {
    fn drop(&mut self) {
        // [K3] `Release`: the slot is linked in, or listed, before this. Pairs with [K2].
        self.0.fetch_sub(1, Ordering::Release);
    }
}

#[cfg(all(test, not(lease_loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_seen_in_its_stripe_until_it_ends() {
        let under_way = UnderWay::new(4);
        let (one, two) = (under_way.begin(3), under_way.begin(7));
        drop(one);
        assert!(under_way.any_in(3) && under_way.any());
        assert!(!under_way.any_in(0));
        drop(two);
        assert!(!under_way.any());
    }
}
