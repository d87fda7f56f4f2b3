//! What a store answers, and what a handler's end means.

use std::time::Duration;

use bytes::Bytes;

use super::lease::Lease;

/// The answer to an acquire. All four are normal answers; none is an error.
#[derive(Debug)]
#[must_use = "a granted lease must be settled"]
pub enum Admission {
    /// Nobody holds the key: run the request, then commit or release.
    Granted(Lease),
    /// Another holder is running the request.
    InFlight {
        /// How long the holder's lease still lasts at most, unless it is renewed. While the lease
        /// is being granted, a store may tell the caller's own lease TTL instead.
        remaining: Duration,
    },
    /// The request has succeeded before.
    Completed {
        /// What the first run left, if anything was kept.
        outcome: Option<Outcome>,
        /// How long the key is still kept.
        remaining: Duration,
    },
    /// The key stands for another request: the fingerprints differ.
    Mismatch,
}

/// What the first run left, perhaps a stored response: bytes shared by reference count.
///
/// Cloning is cheap and holds no guard of the store's; the bytes stay as long as any clone does.
/// `Debug` prints the length alone.
#[derive(Clone, PartialEq, Eq)]
pub struct Outcome(Bytes);

impl Outcome {
    /// Wraps bytes. They are shared, not copied: a slice of a larger buffer keeps that buffer.
    #[must_use]
    pub const fn new(bytes: Bytes) -> Self {
        Self(bytes)
    }

    /// The bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &Bytes {
        &self.0
    }

    /// The bytes, as an owner.
    #[must_use]
    pub fn into_bytes(self) -> Bytes {
        self.0
    }
}

impl std::fmt::Debug for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Outcome({} bytes)", self.0.len())
    }
}

/// What a handler's end means for its lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// The write has happened: keep the key for its TTL.
    Commit,
    /// The write has not happened: free the key, the client may try again.
    Release,
    /// Nobody knows: keep the key in flight for a while, then free it.
    Hold,
}

/// What an operator sees of one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordState {
    /// An acquire would be granted: there is no record, or it has expired.
    Free,
    /// A lease runs.
    InFlight {
        /// How long it still lasts unless it is renewed.
        remaining: Duration,
    },
    /// The request has succeeded.
    Completed {
        /// How long the key is still kept.
        remaining: Duration,
        /// Whether an outcome is kept with it.
        replayable: bool,
    },
}
