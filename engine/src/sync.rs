//! The one place that names atomics.

/// Atomics that no model explores: clocks and counters, on which no protocol depends.
pub(crate) mod plain {
    pub(crate) use std::sync::atomic::{AtomicU64, Ordering};
}
