//! A record as the database keeps it, and what a caller asks for. Data alone: `rules` says what
//! becomes of it.
//!
//! All times are microseconds since 1970 by the database's clock, all spans microseconds.

use std::time::Duration;

use bytes::Bytes;
use leasehold::Terms;

/// The digest of an address: the row's unique key.
pub(crate) type Digest = [u8; 32];

/// What a row's status column says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// A lease runs, is late, or was left behind.
    Processing,
    /// Committed.
    Success,
    /// Released.
    Failed,
}

impl Status {
    /// The column's text.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Processing => "PROCESSING",
            Self::Success => "SUCCESS",
            Self::Failed => "FAILED",
        }
    }

    /// Reads the column; `None` if this version does not write it.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        [Self::Processing, Self::Success, Self::Failed]
            .into_iter()
            .find(|status| status.as_str() == text)
    }
}

/// One row, as far as decisions need it.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) status: Status,
    pub(crate) token: u64,
    pub(crate) attempt: [u8; 16],
    pub(crate) fingerprint: Option<[u8; 32]>,
    pub(crate) outcome: Option<Bytes>,
    /// When the lease or the kept key ends.
    pub(crate) expires: i64,
    /// From when on the row may be deleted. Until then a late holder may still settle.
    pub(crate) purge: i64,
    /// Since when it is marked as left behind; its grace is over then.
    pub(crate) stuck: Option<i64>,
}

/// What an acquire asks for.
#[derive(Clone, Copy)]
pub(crate) struct Ask {
    pub(crate) attempt: [u8; 16],
    pub(crate) fingerprint: Option<[u8; 32]>,
    pub(crate) lease_ttl: i64,
}

impl Ask {
    pub(crate) fn new(terms: &Terms) -> Self {
        Self {
            attempt: terms.attempt.to_bits().to_be_bytes(),
            fingerprint: terms.fingerprint.as_ref().map(|print| *print.as_bytes()),
            lease_ttl: micros(terms.lease_ttl.get()),
        }
    }
}

/// At least so many microseconds. Ten years, the longest time to live, are 3.2e14.
pub(crate) fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos().div_ceil(1_000)).unwrap_or(i64::MAX)
}

/// A span that was computed from two of the database's readings; what is negative is over.
pub(crate) fn span(micros: i64) -> Duration {
    Duration::from_micros(u64::try_from(micros).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_read_as_they_are_written() {
        for status in [Status::Processing, Status::Success, Status::Failed] {
            assert_eq!(Status::parse(status.as_str()), Some(status));
        }
        assert_eq!(Status::parse("processing"), None);
    }

    #[test]
    fn durations_round_up_to_microseconds() {
        assert_eq!(micros(Duration::ZERO), 0);
        assert_eq!(micros(Duration::from_nanos(1)), 1);
        assert_eq!(micros(Duration::from_nanos(1_001)), 2);
        assert_eq!(micros(Duration::MAX), i64::MAX);
        assert_eq!(span(-1), Duration::ZERO);
    }
}
