//! The table's memory, and that of the arrays beside it: anonymous mappings of zeros, whose pages
//! exist once they are touched.
//!
//! The heap is not used, since it touches every page of a large aligned block at once, cannot be
//! told to use huge pages, and ends the process where it is exhausted.

use std::io;

use crate::config::Pages;

#[cfg(not(lease_loom))]
pub(super) use mapped::Zeros;
#[cfg(lease_loom)]
pub(super) use modelled::Zeros;

/// What may live in memory of zeros.
///
/// # Safety
///
/// Zeros are a valid value, and what changes through a shared reference is atomic. It needs no more
/// than the alignment of a page, and is dropped by its owner if it has to be.
pub(super) unsafe trait FromZeros {
    /// The value of zeros, for models, whose atomics are no plain integers.
    #[cfg(lease_loom)]
    fn zero() -> Self;
}

#[cfg(not(lease_loom))]
mod mapped {
    use std::marker::PhantomData;

    use memmap2::{MmapMut, MmapOptions, MmapRaw};

    use super::{FromZeros, Pages, io};

    /// A fixed number of values, all zeros at first. Not dropped one by one.
    #[derive(Debug)]
    pub(in crate::index) struct Zeros<T> {
        mapping: MmapRaw,
        count: usize,
        holds: PhantomData<T>,
    }

    impl<T: FromZeros> Zeros<T> {
        /// Memory for so many values, at least one.
        ///
        /// # Errors
        ///
        /// The system's, if it does not give the memory.
        pub(in crate::index) fn new(count: usize, pages: Pages) -> io::Result<Self> {
            let bytes = count
                .checked_mul(size_of::<T>())
                .ok_or(io::Error::from(io::ErrorKind::OutOfMemory))?;
            let mut mapping = MmapOptions::new().len(bytes).map_anon()?;
            if pages.huge {
                advise_huge(&mapping);
            }
            if pages.prefault {
                // Reading would map the one shared page of zeros: only a write makes a page.
                mapping.iter_mut().step_by(SMALLEST_PAGE).for_each(touch);
            }
            Ok(Self { mapping: mapping.into(), count, holds: PhantomData })
        }

        #[inline]
        pub(in crate::index) fn as_slice(&self) -> &[T] {
            // SAFETY: the mapping is `count` values long, starts at a page, was zeros when it was
            // made, and lives as long as `self`. Nobody else knows it, so shared references are all
            // there ever is, and `FromZeros` promises the rest.
            unsafe { std::slice::from_raw_parts(self.mapping.as_ptr().cast::<T>(), self.count) }
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
    use super::{FromZeros, Pages, io};

    /// The same for models.
    #[derive(Debug)]
    pub(in crate::index) struct Zeros<T>(Box<[T]>);

    impl<T: FromZeros> Zeros<T> {
        pub(in crate::index) fn new(count: usize, _pages: Pages) -> io::Result<Self> {
            Ok(Self((0..count).map(|_| T::zero()).collect()))
        }

        pub(in crate::index) fn as_slice(&self) -> &[T] {
            &self.0
        }
    }
}

#[cfg(all(test, not(lease_loom)))]
mod tests {
    use super::super::bucket::Bucket;
    use super::*;

    #[test]
    fn buckets_start_unused_whatever_the_pages() {
        for (huge, prefault) in [(false, false), (false, true), (true, false), (true, true)] {
            let buckets = Zeros::new(1_000, Pages { huge, prefault }).expect("memory is there");
            assert_eq!(buckets.as_slice().len(), 1_000);
            let unused = |bucket: &Bucket| bucket.words.iter().all(|w| w.read().was_never_used());
            assert!(buckets.as_slice().iter().all(unused));
        }
    }

    #[test]
    fn memory_that_no_address_space_has_is_an_error() {
        assert!(Zeros::<Bucket>::new(usize::MAX / 2, Pages::default()).is_err());
        assert!(Zeros::<Bucket>::new(usize::MAX / 256, Pages::default()).is_err());
    }
}
