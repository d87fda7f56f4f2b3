//! The bound on open files, which bounds connections before `max-connections` does.
//!
//! A soft limit of 1,024 is common, and with it the 512th busy client would be left waiting in the
//! listener's queue. The gateway takes what the hard limit allows; it must never fail for this.

/// A client's connection may need one to the upstream.
const FILES_PER_CONNECTION: u64 = 2;

/// Raises this process's soft limit towards what `max_connections` need, and warns where the hard
/// limit is lower.
pub(crate) fn raise(max_connections: usize) {
    let wanted = (max_connections as u64).saturating_mul(FILES_PER_CONNECTION);
    match rlimit::increase_nofile_limit(wanted) {
        Ok(limit) if limit < wanted => tracing::warn!(
            limit,
            wanted,
            "max-connections: the system's limit on open files is lower, raise its hard limit"
        ),
        Ok(limit) => tracing::debug!(limit, "open files"),
        Err(error) => tracing::warn!(%error, "the limit on open files stays as it is"),
    }
}
