//! What the rivals keep for a key.

use std::sync::Arc;

use super::Answer;

/// What a grant is settled with where keys are shared: it has the key, so that to settle it looks
/// the key up once and copies nothing.
#[derive(Debug)]
pub struct SharedLease {
    pub(super) token: u64,
    pub(super) key: Arc<[u8]>,
}

/// A lease or a kept key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) token: u64,
    /// Nanoseconds of the store's watch.
    pub(super) deadline: u64,
    pub(super) committed: bool,
}

impl Entry {
    pub(super) const fn granted(token: u64, deadline: u64) -> Self {
        Self { token, deadline, committed: false }
    }

    #[inline]
    pub(super) const fn is_live(&self, now: u64) -> bool {
        now < self.deadline
    }

    /// Whether this token may settle it.
    #[inline]
    pub(super) const fn is_leased_to(&self, token: u64) -> bool {
        self.token == token && !self.committed
    }

    /// Commits if the token may; says whether it did.
    #[inline]
    pub(super) const fn commit(&mut self, token: u64, deadline: u64) -> bool {
        let may = self.is_leased_to(token);
        if may {
            self.committed = true;
            self.deadline = deadline;
        }
        may
    }

    /// What somebody else is told while it is live.
    #[inline]
    pub(super) const fn answer<L>(&self) -> Answer<L> {
        if self.committed { Answer::Completed } else { Answer::InFlight }
    }
}
