//! Loom's atomics, each with a companion.
//!
//! Loom keeps only the last access per object, and so misses interleavings of "load, then compare
//! and swap" (tokio-rs/loom issues 166 and 392). A `Relaxed` read-modify-write on the companion
//! before every operation makes each of them count. Nothing here is compiled into what ships.

use loom::sync::atomic::{AtomicU32 as LoomU32, AtomicU64 as LoomU64, AtomicUsize as LoomUsize};
pub(crate) use loom::sync::atomic::{Ordering, fence};
pub(crate) use loom::thread::yield_now;

loom::lazy_static! {
    static ref STEPS: LoomUsize = LoomUsize::new(0);
}

loom::thread_local! {
    static NUMBER: usize = NUMBERS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
}

loom::lazy_static! {
    static ref NUMBERS: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
}

/// The calling thread's number in this run of the model. Threads are numbered as they ask.
pub(crate) fn thread_number() -> usize {
    NUMBER.with(|number| *number)
}

/// See the version without loom.
pub(crate) fn step() {
    STEPS.fetch_add(1, Ordering::AcqRel);
}

#[derive(Debug)]
pub(crate) struct AtomicU64 {
    value: LoomU64,
    companion: LoomUsize,
}

impl AtomicU64 {
    pub(crate) fn new(value: u64) -> Self {
        Self { value: LoomU64::new(value), companion: LoomUsize::new(0) }
    }

    fn touched(&self) -> &LoomU64 {
        self.companion.fetch_add(1, Ordering::Relaxed);
        &self.value
    }

    pub(crate) fn load(&self, ordering: Ordering) -> u64 {
        self.touched().load(ordering)
    }

    pub(crate) fn store(&self, value: u64, ordering: Ordering) {
        self.touched().store(value, ordering);
    }

    pub(crate) fn fetch_add(&self, value: u64, ordering: Ordering) -> u64 {
        self.touched().fetch_add(value, ordering)
    }

    pub(crate) fn fetch_sub(&self, value: u64, ordering: Ordering) -> u64 {
        self.touched().fetch_sub(value, ordering)
    }

    pub(crate) fn fetch_or(&self, value: u64, ordering: Ordering) -> u64 {
        self.touched().fetch_or(value, ordering)
    }

    pub(crate) fn compare_exchange(
        &self,
        current: u64,
        new: u64,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u64, u64> {
        self.touched().compare_exchange(current, new, success, failure)
    }
}

#[derive(Debug)]
pub(crate) struct AtomicU32 {
    value: LoomU32,
    companion: LoomUsize,
}

impl AtomicU32 {
    pub(crate) fn new(value: u32) -> Self {
        Self { value: LoomU32::new(value), companion: LoomUsize::new(0) }
    }

    fn touched(&self) -> &LoomU32 {
        self.companion.fetch_add(1, Ordering::Relaxed);
        &self.value
    }

    pub(crate) fn load(&self, ordering: Ordering) -> u32 {
        self.touched().load(ordering)
    }

    pub(crate) fn store(&self, value: u32, ordering: Ordering) {
        self.touched().store(value, ordering);
    }
}
