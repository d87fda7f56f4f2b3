//! Hints to fetch buckets before they are looked at.
//!
//! A look reads a bucket's second line by what it finds in the first, so that without a hint two
//! misses follow one another. On architectures without a stable intrinsic it does nothing.

use super::bucket::Bucket;

/// Starts to fetch both lines of a bucket.
#[inline]
pub(super) fn prefetch(bucket: &Bucket) {
    let line = std::ptr::from_ref(bucket).cast::<u8>();
    fetch(line);
    fetch(line.wrapping_add(LINE));
}

/// Starts to fetch the line of a bucket that has its words.
#[inline]
pub(super) fn prefetch_words(bucket: &Bucket) {
    fetch(std::ptr::from_ref(bucket).cast());
}

/// Bytes of a cache line.
const LINE: usize = 64;

#[inline]
fn fetch(line: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(lease_loom)))]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch is a hint that reads nothing: any address may be given.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.cast()) };
    }
    #[cfg(not(all(target_arch = "x86_64", not(lease_loom))))]
    let _ = line;
}
