//! What an error of the client library means for a caller: did the write land, may it work later?

use leasehold::{StoreError, StoreErrorKind};
use redis::{ErrorKind, RedisError, ServerErrorKind};
use thiserror::Error;

/// Why a call got no answer from its script.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The server has no memory for one more record. Nothing was written.
    OutOfMemory(RedisError),
    /// Everything else.
    Store(StoreError),
}

impl Failure {
    /// Nothing was sent, since there was no connection in time.
    pub(crate) const fn unconnected() -> Self {
        Self::Store(StoreError::new(StoreErrorKind::Unreachable))
    }

    /// Nothing was sent, since there was no connection.
    pub(crate) fn unconnected_by(error: RedisError) -> Self {
        let kind = match error.kind() {
            ErrorKind::AuthenticationFailed
            | ErrorKind::InvalidClientConfig
            | ErrorKind::RESP3NotSupported
            | ErrorKind::Server(ServerErrorKind::NoPerm) => StoreErrorKind::Refused,
            _ => StoreErrorKind::Unreachable,
        };
        Self::Store(StoreError::with_source(kind, error))
    }

    /// No answer came in time; what was sent may have landed.
    pub(crate) const fn silence() -> Self {
        Self::Store(StoreError::new(StoreErrorKind::NoAnswer))
    }

    /// What came instead of a script's answer.
    pub(crate) fn of(error: RedisError) -> Self {
        let kind = match error.code() {
            Some("OOM") => return Self::OutOfMemory(error),
            Some("WRONGTYPE") => StoreErrorKind::Corrupt,
            // These mean that nothing was done, and that a later call may find a better server.
            Some(
                "LOADING" | "BUSY" | "MISCONF" | "MASTERDOWN" | "NOREPLICAS" | "READONLY" | "MOVED"
                | "ASK" | "TRYAGAIN" | "CLUSTERDOWN",
            ) => StoreErrorKind::Unreachable,
            Some(_) => StoreErrorKind::Refused,
            // A cluster's client that finds no node may have lost it, and the answer with it.
            None => match error.kind() {
                ErrorKind::AuthenticationFailed | ErrorKind::InvalidClientConfig => {
                    StoreErrorKind::Refused
                }
                _ => StoreErrorKind::NoAnswer,
            },
        };
        Self::Store(StoreError::with_source(kind, error))
    }

    /// The same where this call may have written before: it says nothing about that.
    pub(crate) fn after_a_write(self) -> Self {
        match self {
            Self::Store(error) if error.is_outcome_unknown() => Self::Store(error),
            other => {
                let source = StoreError::from(other);
                Self::Store(StoreError::with_source(StoreErrorKind::NoAnswer, source))
            }
        }
    }

    /// An answer that none of this version's scripts gives.
    pub(crate) fn unreadable() -> Self {
        Self::Store(StoreError::with_source(StoreErrorKind::Corrupt, Unreadable))
    }

    /// A record that this version does not write.
    pub(crate) const fn corrupt() -> Self {
        Self::Store(StoreError::new(StoreErrorKind::Corrupt))
    }

    /// Too few replicas have what was written.
    pub(crate) fn unacknowledged(acknowledged: u64, wanted: usize) -> Self {
        let source = TooFewReplicas { acknowledged, wanted };
        Self::Store(StoreError::with_source(StoreErrorKind::NoAnswer, source))
    }
}

impl From<Failure> for StoreError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::OutOfMemory(error) => Self::with_source(StoreErrorKind::Refused, error),
            Failure::Store(error) => error,
        }
    }
}

#[derive(Debug, Error)]
#[error("the server's answer is not one of this version's scripts")]
struct Unreadable;

#[derive(Debug, Error)]
#[error("{acknowledged} replicas have the write in time, of {wanted} wanted")]
struct TooFewReplicas {
    acknowledged: u64,
    wanted: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(failure: Failure) -> StoreErrorKind {
        StoreError::from(failure).kind()
    }

    fn server_error(line: &str) -> RedisError {
        let value = redis::parse_redis_value(format!("-{line}\r\n").as_bytes());
        match value.and_then(redis::Value::extract_error) {
            Err(error) => error,
            Ok(value) => panic!("{value:?} is no error"),
        }
    }

    #[test]
    fn server_errors_tell_whether_to_try_again() {
        for (line, expected) in [
            ("WRONGTYPE Operation against a key", StoreErrorKind::Corrupt),
            ("LOADING Redis is loading", StoreErrorKind::Unreachable),
            ("READONLY You can't write", StoreErrorKind::Unreachable),
            ("CLUSTERDOWN Hash slot not served", StoreErrorKind::Unreachable),
            ("NOREPLICAS Not enough good replicas", StoreErrorKind::Unreachable),
            ("MISCONF Redis is configured to save", StoreErrorKind::Unreachable),
            ("NOPERM this user has no permissions", StoreErrorKind::Refused),
            ("ERR unknown command", StoreErrorKind::Refused),
        ] {
            assert_eq!(kind(Failure::of(server_error(line))), expected, "{line}");
        }
    }

    #[test]
    fn out_of_memory_is_told_apart() {
        let failure = Failure::of(server_error("OOM command not allowed"));
        assert!(matches!(failure, Failure::OutOfMemory(_)));
    }

    #[test]
    fn after_a_write_no_failure_says_that_nothing_was_written() {
        let failures = [
            Failure::unconnected(),
            Failure::silence(),
            Failure::of(server_error("READONLY You can't write")),
            Failure::of(server_error("UNBLOCKED force unblock from blocking operation")),
            Failure::of(server_error("OOM command not allowed")),
        ];
        for failure in failures {
            let told = format!("{failure:?}");
            assert_eq!(kind(failure.after_a_write()), StoreErrorKind::NoAnswer, "{told}");
        }
    }

    #[test]
    fn a_broken_connection_leaves_the_outcome_unknown() {
        let broken = RedisError::from(std::io::Error::from(std::io::ErrorKind::BrokenPipe));
        assert!(StoreError::from(Failure::of(broken)).is_outcome_unknown());
        let refused = RedisError::from(std::io::Error::from(std::io::ErrorKind::ConnectionRefused));
        assert_eq!(kind(Failure::unconnected_by(refused)), StoreErrorKind::Unreachable);
    }
}
