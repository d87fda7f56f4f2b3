//! What a store's refusal to start means: another try, or another setting, and which.

use std::error::Error;

use leasehold::StoreError;

use crate::config::{ConfigError, STORE, redis_refusal, sql_refusal};

/// What makes a table, or brings it to this release's version.
const MIGRATE: &str = "run `leasehold migrate` with the same settings, or set auto-migrate = true";

/// Why an attempt to connect has given no store.
#[derive(Debug)]
pub(super) enum Refusal {
    /// The server is not there: another attempt may do.
    ForNow(StoreError),
    /// What has to be changed before another attempt makes sense.
    Settings(ConfigError),
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        if error.is_transient() { Self::ForNow(error) } else { of(&error) }
    }
}

impl From<leasehold_redis::ConnectError> for Refusal {
    fn from(error: leasehold_redis::ConnectError) -> Self {
        use leasehold_redis::ConnectError as Redis;
        match error {
            Redis::Unavailable(error) => error.into(),
            Redis::Config(error) => Self::Settings(redis_refusal(&error)),
            Redis::Eviction { .. } => {
                with_remedy(&error, "set noeviction, or allow-eviction = true")
            }
            Redis::EvictionUnknown => {
                with_remedy(&error, "allow its user the command INFO, or set allow-eviction = true")
            }
            other => of(&other),
        }
    }
}

impl From<leasehold_sql::ConnectError> for Refusal {
    fn from(error: leasehold_sql::ConnectError) -> Self {
        use leasehold_sql::ConnectError as Sql;
        match error {
            Sql::Unavailable(error) => error.into(),
            Sql::Config(error) => Self::Settings(sql_refusal(&error)),
            Sql::Migrate { .. } => with_remedy(&error, MIGRATE),
            other => of(&other),
        }
    }
}

/// A refusal of the store's URL, or of what it leads to.
fn of(error: &dyn Error) -> Refusal {
    Refusal::Settings(ConfigError::new(STORE, with_sources(error)))
}

fn with_remedy(error: &dyn Error, remedy: &str) -> Refusal {
    Refusal::Settings(ConfigError::new(STORE, format!("{error}: {remedy}")))
}

/// An error with all that lies below it, but for what an error repeats of its own source.
pub(super) fn with_sources(error: &dyn Error) -> String {
    let sources = std::iter::successors(error.source(), |&error| error.source());
    sources.map(ToString::to_string).fold(error.to_string(), |text, source| {
        if text.ends_with(&source) { text } else { format!("{text}: {source}") }
    })
}

#[cfg(test)]
mod tests {
    use leasehold::StoreErrorKind;
    use leasehold_sql::ConnectError;

    use super::*;

    fn line(error: impl Into<Refusal>) -> Option<String> {
        match error.into() {
            Refusal::ForNow(_) => None,
            Refusal::Settings(error) => Some(error.to_string()),
        }
    }

    #[test]
    fn a_table_that_is_not_this_programs_is_refused_with_the_remedy() {
        let missing = line(ConnectError::Migrate { found: 0, needed: 1 }).expect("no other try");
        assert!(missing.starts_with("idempotency.store: "), "{missing}");
        assert!(missing.contains("leasehold migrate"), "{missing}");
        assert!(missing.contains("auto-migrate = true"), "{missing}");
        let newer = line(ConnectError::Newer { found: 2, known: 1 }).expect("no other try");
        assert!(newer.starts_with("idempotency.store: ") && newer.contains('2'), "{newer}");
        assert!(!newer.contains("auto-migrate"), "{newer}");
    }

    #[test]
    fn only_a_server_that_may_come_back_is_asked_again() {
        for (kind, is_final) in [
            (StoreErrorKind::Unreachable, false),
            (StoreErrorKind::NoAnswer, false),
            (StoreErrorKind::Refused, true),
            (StoreErrorKind::Corrupt, true),
        ] {
            let error = ConnectError::Unavailable(StoreError::with_source(kind, "below"));
            let line = line(error);
            assert_eq!(line.is_some(), is_final, "{kind:?}");
            assert!(line.is_none_or(|line| line.ends_with(": below")), "{kind:?}");
        }
    }
}
