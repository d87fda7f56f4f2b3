//! What can be asked of a store and what it can answer, as plain data.
//!
//! No store and no lease is held here, so that a history can be kept, printed and judged later.

use std::time::{Duration, Instant};

use leasehold::Ttl;

/// An outcome's bytes.
pub type Payload = Vec<u8>;

/// Which lease is meant: the one with this token at this address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Number of the address.
    pub address: usize,
    /// The lease's token.
    pub token: u64,
}

/// One call. `L` says how a lease is named: by its place in somebody's hands before the call, as a
/// [`Grant`] once it has been made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are those of the store's own verbs")]
pub enum Verb<L> {
    /// Acquire; the fingerprint is made from the byte.
    Acquire { address: usize, ttl: Ttl, fingerprint: Option<u8> },
    /// Commit, with an outcome or without.
    Commit { lease: L, outcome: Option<Payload>, ttl: Ttl },
    /// Attach an outcome.
    Attach { lease: L, outcome: Payload },
    /// Release.
    Release { lease: L },
    /// Renew.
    Renew { lease: L, ttl: Ttl },
    /// Abandon the attempt that was granted this lease or, if not `own`, an attempt of nobody's at
    /// the same address.
    Abandon { lease: L, own: bool },
    /// Peek.
    Peek { address: usize },
    /// Forget.
    Forget { address: usize },
    /// Sweep.
    Sweep { budget: usize },
    /// Close.
    Close,
}

impl<L> Verb<L> {
    /// The lease that the verb is about.
    #[must_use]
    pub const fn lease(&self) -> Option<&L> {
        match self {
            Self::Commit { lease, .. }
            | Self::Attach { lease, .. }
            | Self::Release { lease }
            | Self::Renew { lease, .. }
            | Self::Abandon { lease, .. } => Some(lease),
            Self::Acquire { .. }
            | Self::Peek { .. }
            | Self::Forget { .. }
            | Self::Sweep { .. }
            | Self::Close => None,
        }
    }
}

/// What came back. A verb that succeeds and gives nothing is `Done`; `Closed` and the like are the
/// errors of the same names.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are those of the store's own answers")]
pub enum Answer {
    Granted {
        token: u64,
        deadline: Instant,
    },
    InFlight {
        remaining: Duration,
    },
    Completed {
        outcome: Option<Payload>,
        remaining: Duration,
    },
    Mismatch,
    /// Refused at the bound, while so many acquires of other keys were under way that may have held
    /// places for a moment.
    Full {
        rivals: usize,
    },
    Closed,
    ClockExhausted,
    Done,
    Renewed {
        deadline: Instant,
        lease_says: Instant,
    },
    /// The lease's deadline after a renewal that failed was still the one before.
    Superseded {
        deadline_kept: bool,
    },
    Foreign,
    TooLate,
    NoRoom,
    Free,
    Kept {
        remaining: Duration,
        replayable: bool,
    },
    Forgotten {
        was_live: bool,
    },
    Swept(usize),
    /// Something that a store in memory never answers, or no answer at the first poll.
    Unexpected(String),
}
