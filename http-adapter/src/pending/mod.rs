//! Successes that the store does not know yet (rules 3.8 and 4.7): commits that failed, and runs
//! without a lease. They are repeated in the background, and their keys answered as completed.
//!
//! Nothing here may free a key: the write has happened.

mod listing;
mod repeat;
mod worker;

use leasehold::Address;
use listing::Listing;
pub(crate) use worker::Pending;

/// The successes of one layer that are not recorded in the store yet. A clone looks at the same
/// ones.
///
/// A server that shuts down waits for [`PendingCommits::settled`], for as long as it can, after its
/// last request has ended: what is pending then is lost with the runtime, and its keys are free
/// when their leases end.
#[derive(Clone, Debug)]
pub struct PendingCommits {
    listing: Listing,
}

impl PendingCommits {
    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.listing.count()
    }

    /// Gives up what is pending for a key, which is answered as completed no longer: for an
    /// operator who makes the store forget it. To be called before the store is, so that nothing
    /// that was pending can bring the key back. False if there was nothing.
    pub fn forget(&self, address: &Address) -> bool {
        self.listing.forget(address)
    }

    /// Waits until there is none: each was recorded, or given up.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future changes nothing.
    pub async fn settled(&self) {
        self.listing.empty().await;
    }
}
