//! The table's memory: one anonymous mapping of zeros, whose pages exist once they are touched.
//!
//! The heap is not used, since it touches every page of a large aligned block at once, and cannot
//! be told to use huge pages.

use std::io;

use super::bucket::Bucket;
use crate::config::Pages;

#[cfg(not(lease_loom))]
pub(super) use mapped::Buckets;
#[cfg(lease_loom)]
pub(super) use modelled::Buckets;

#[cfg(not(lease_loom))]
mod mapped {
    use memmap2::{MmapMut, MmapOptions, MmapRaw};

    use super::{Bucket, Pages, io};

    /// A fixed number of buckets.
    #[derive(Debug)]
    pub(in crate::index) struct Buckets {
        mapping: MmapRaw,
        count: usize,
    }

    impl Buckets {
        /// Buckets that were never used.
        ///
        /// # Errors
        ///
        /// The system's, if it does not give the memory.
        pub(in crate::index) fn new(count: usize, pages: Pages) -> io::Result<Self> {
            let bytes = count
                .checked_mul(size_of::<Bucket>())
                .ok_or(io::Error::from(io::ErrorKind::OutOfMemory))?;
            let mut mapping = MmapOptions::new().len(bytes).map_anon()?;
            if pages.huge {
                advise_huge(&mapping);
            }
            if pages.prefault {
                // Reading would map the one shared page of zeros: only a write makes a page.
                mapping.iter_mut().step_by(SMALLEST_PAGE).for_each(touch);
            }
            Ok(Self { mapping: mapping.into(), count })
        }

        #[inline]
        pub(in crate::index) fn as_slice(&self) -> &[Bucket] {
            // SAFETY: the mapping is `count` buckets long, starts at a page and so at a multiple of
            // 128, was zeros (which are valid integers) when it was made, and lives as long as
            // `self`. A bucket is atomics all through and nobody else knows the mapping, so shared
            // references are all there ever is.
            unsafe {
                std::slice::from_raw_parts(self.mapping.as_ptr().cast::<Bucket>(), self.count)
            }
        }
    }

    /// No page is smaller on any system.
    const SMALLEST_PAGE: usize = 4096;

    /// Writes what is there already, so that the optimizer cannot see through it.
    fn touch(byte: &mut u8) {
        *byte = std::hint::black_box(0);
    }

    /// Asks for huge pages. A refusal costs time, not correctness, so it is not an error.
    fn advise_huge(mapping: &MmapMut) {
        #[cfg(target_os = "linux")]
        let _ = mapping.advise(memmap2::Advice::HugePage);
        #[cfg(not(target_os = "linux"))]
        let _ = mapping;
    }
}

#[cfg(lease_loom)]
mod modelled {
    use super::{Bucket, Pages, io};

    /// The same for models, whose atomics are no plain integers.
    #[derive(Debug)]
    pub(in crate::index) struct Buckets(Box<[Bucket]>);

    impl Buckets {
        pub(in crate::index) fn new(count: usize, _pages: Pages) -> io::Result<Self> {
            Ok(Self((0..count).map(|_| Bucket::new()).collect()))
        }

        pub(in crate::index) fn as_slice(&self) -> &[Bucket] {
            &self.0
        }
    }
}

#[cfg(all(test, not(lease_loom)))]
mod tests {
    use super::*;

    #[test]
    fn buckets_start_unused_whatever_the_pages() {
        for (huge, prefault) in [(false, false), (false, true), (true, false), (true, true)] {
            let buckets = Buckets::new(1_000, Pages { huge, prefault }).expect("memory is there");
            assert_eq!(buckets.as_slice().len(), 1_000);
            let unused = |bucket: &Bucket| bucket.words.iter().all(|w| w.read().was_never_used());
            assert!(buckets.as_slice().iter().all(unused));
        }
    }

    #[test]
    fn memory_that_no_address_space_has_is_an_error() {
        assert!(Buckets::new(usize::MAX / 2, Pages::default()).is_err());
        assert!(Buckets::new(usize::MAX / 256, Pages::default()).is_err());
    }
}
