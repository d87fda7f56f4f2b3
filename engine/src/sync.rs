//! The one place that names atomics: std's, loom's under `cfg(lease_loom)`, or std's with pauses
//! under `cfg(lease_jitter)`.
//!
//! The rest of the engine takes its atomics from here, so that loom and the stress run explore the
//! code that ships. Nothing else may name `std::sync::atomic`.

/// Atomics that loom never models: clocks and counters, on which no protocol depends.
pub(crate) mod plain {
    pub(crate) use std::sync::atomic::{AtomicU64, Ordering};
}

#[cfg(all(lease_jitter, not(lease_loom)))]
pub(crate) use jittered::{AtomicU32, AtomicU64, step};
#[cfg(lease_loom)]
pub(crate) use modelled::{AtomicU32, AtomicU64, Ordering, fence, step, thread_number, yield_now};
#[cfg(not(any(lease_loom, lease_jitter)))]
pub(crate) use std::sync::atomic::{AtomicU32, AtomicU64};
#[cfg(not(lease_loom))]
pub(crate) use std::sync::atomic::{Ordering, fence};

/// Lets the thread go on that this one waits for.
#[cfg(not(lease_loom))]
pub(crate) fn yield_now() {
    std::thread::yield_now();
}

/// Marks a call into a crate that loom does not instrument. Under loom it is a switch point and a
/// happens-before edge, so that the call runs as one atomic step; otherwise it is nothing, but for
/// a pause now and then under jitter.
#[cfg(not(any(lease_loom, lease_jitter)))]
#[inline(always)]
pub(crate) const fn step() {}

#[cfg(all(lease_jitter, not(lease_loom)))]
mod jittered;
#[cfg(lease_loom)]
mod modelled;
#[cfg(all(test, lease_loom))]
pub(crate) mod scenario;
