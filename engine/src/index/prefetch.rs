//! Fetches a bucket's two lines side by side, before the first is looked at.
//!
//! A look reads the second line by what it finds in the first, so that without a hint two misses
//! follow one another. On architectures without a stable intrinsic it does nothing.

use super::bucket::Bucket;

/// Starts to fetch the bucket.
#[inline]
pub(super) fn prefetch(bucket: &Bucket) {
    #[cfg(all(target_arch = "x86_64", not(lease_loom)))]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let line = std::ptr::from_ref(bucket).cast::<i8>();
        // SAFETY: a prefetch is a hint that reads nothing: any address may be given.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line) };
        // SAFETY: as above.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.wrapping_add(64)) };
    }
    #[cfg(not(all(target_arch = "x86_64", not(lease_loom))))]
    let _ = bucket;
}
