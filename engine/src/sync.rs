//! The one place that names atomics: std's, or loom's under `cfg(lease_loom)`.
//!
//! The rest of the engine takes its atomics from here, so that loom explores the code that ships.
//! Nothing else may name `std::sync::atomic`.

/// Atomics that loom never models: clocks and counters, on which no protocol depends.
pub(crate) mod plain {
    pub(crate) use std::sync::atomic::{AtomicU64, Ordering};
}

#[cfg(lease_loom)]
pub(crate) use modelled::{AtomicU32, AtomicU64, Ordering, fence, step, thread_number, yield_now};
#[cfg(not(lease_loom))]
pub(crate) use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

/// Lets the thread go on that this one waits for.
#[cfg(not(lease_loom))]
pub(crate) fn yield_now() {
    std::thread::yield_now();
}

/// Marks a call into a crate that loom does not instrument. Under loom it is a switch point and a
/// happens-before edge, so that the call runs as one atomic step; otherwise it is nothing.
#[cfg(not(lease_loom))]
#[inline(always)]
pub(crate) const fn step() {}

#[cfg(lease_loom)]
mod modelled;
#[cfg(all(test, lease_loom))]
pub(crate) mod scenario;
