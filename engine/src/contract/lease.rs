//! The right to run one request, and the number that fences its writes.

use std::fmt;
use std::time::Instant;

/// A fencing token: it rises with each grant of an address, also across restarts.
///
/// Between 1 and 2^63 - 1, so that it fits a signed database column. A service that keeps the
/// highest token it has seen for a key can refuse writes of older holders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(u64);

impl Token {
    /// Wraps a number. Stores make tokens; others only carry them.
    #[must_use]
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// How a store finds a lease's record again: 32 bytes whose meaning is the store's own.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Place(pub [u8; 32]);

/// The right to run one request until its deadline.
///
/// Plain data: dropping it changes nothing in the store, so settle it (commit or release), or let
/// it end by itself. It is renewed and settled through `&mut`, so these cannot race each other, and
/// it cannot be cloned, so it has one owner.
#[must_use = "a lease that is neither committed nor released blocks its key until its deadline"]
pub struct Lease {
    token: Token,
    deadline: Instant,
    place: Place,
}

impl Lease {
    /// For stores: makes a lease that has been granted.
    pub const fn new(token: Token, deadline: Instant, place: Place) -> Self {
        Self { token, deadline, place }
    }

    /// The fencing token of this grant.
    #[must_use]
    pub const fn token(&self) -> Token {
        self.token
    }

    /// Until when the store keeps the lease at least, unless it is renewed.
    #[must_use]
    pub const fn deadline(&self) -> Instant {
        self.deadline
    }

    /// For stores: where the record is.
    #[must_use]
    pub const fn place(&self) -> &Place {
        &self.place
    }

    /// For stores: records a renewal, or where the record now is.
    pub const fn moved(&mut self, deadline: Instant, place: Place) {
        self.deadline = deadline;
        self.place = place;
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease")
            .field("token", &self.token)
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}
