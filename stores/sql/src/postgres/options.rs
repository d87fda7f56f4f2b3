//! How our connections to PostgreSQL are opened: what the URL says, and what every statement of
//! ours relies on.
//!
//! No error made here, and no line logged, may hold any part of the URL.

use std::time::Duration;

use sqlx::ConnectOptions as _;
use sqlx::postgres::PgConnectOptions;

use crate::config::{ConfigError, SqlConfig};

/// Longest wait for a lock, so that nobody waits for a caller's open transaction. The statements
/// skip locked rows where they can; what is left are inserts that meet one that is being committed,
/// and settling verbs. Arbitrary: above what a commit takes on a common disk.
const LOCK_TIMEOUT: &str = "5ms";

/// What the driver takes from a URL. It logs other parameters with their values, and one of those
/// may be a mistyped password.
const PARAMETERS: [&str; 18] = [
    "sslmode",
    "ssl-mode",
    "sslrootcert",
    "ssl-root-cert",
    "ssl-ca",
    "sslcert",
    "ssl-cert",
    "sslkey",
    "ssl-key",
    "statement-cache-capacity",
    "host",
    "hostaddr",
    "port",
    "dbname",
    "user",
    "password",
    "application_name",
    "options",
];

/// For the verbs' connections: nothing takes longer on the server than the caller waits, and every
/// statement goes by an index, whatever the statistics of a table say that was empty a moment ago.
pub(crate) fn for_verbs(config: &SqlConfig) -> Result<PgConnectOptions, ConfigError> {
    let timeout = format!("{}ms", statement_timeout_ms(config.store_timeout));
    Ok(parse(&config.url)?.options([
        ("lock_timeout", LOCK_TIMEOUT),
        ("statement_timeout", &timeout),
        ("default_transaction_isolation", "read committed"),
        ("enable_seqscan", "off"),
        ("enable_bitmapscan", "off"),
        ("enable_sort", "off"),
        // Plans that were discouraged look expensive enough to be compiled.
        ("jit", "off"),
    ]))
}

/// For migrations, which take as long as they take, and wait for each other.
pub(super) fn for_migrations(config: &SqlConfig) -> Result<PgConnectOptions, ConfigError> {
    Ok(parse(&config.url)?.options([
        ("lock_timeout", "0"),
        ("statement_timeout", "0"),
        ("default_transaction_isolation", "read committed"),
    ]))
}

fn parse(url: &str) -> Result<PgConnectOptions, ConfigError> {
    let query = url.split_once('?').map_or("", |(_, query)| query);
    let query = query.split_once('#').map_or(query, |(query, _)| query);
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let name = pair.split_once('=').map_or(pair, |(name, _)| name);
        if !PARAMETERS.contains(&name) && !name.starts_with("options[") {
            return Err(ConfigError::url("it has a parameter that is none of PostgreSQL's"));
        }
    }
    // The driver's own words may repeat the URL.
    let options: PgConnectOptions =
        url.parse().map_err(|_| ConfigError::url("it cannot be read as one of PostgreSQL's"))?;
    let options = match options.get_application_name() {
        Some(_) => options,
        None => options.application_name("leasehold"),
    };
    Ok(options.disable_statement_logging())
}

/// At least one, since zero is for ever, and no more than the server takes.
fn statement_timeout_ms(timeout: Duration) -> i32 {
    i32::try_from(timeout.as_nanos().div_ceil(1_000_000)).unwrap_or(i32::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_repeat_nothing_of_the_url() {
        for url in [
            "postgres://u:hunter2@host:port/db",
            "postgres://u:hunter2@[::1/db",
            "postgres://u:hun/ter2@host/db?sslmode=hunter2",
            "postgres://u@host/db?pasword=hunter2",
            "postgres://u@host/db?hunter2",
            "postgres://u@host/db?port=hunter2",
        ] {
            let error = for_verbs(&SqlConfig::new(url)).expect_err(url);
            assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
        }
    }

    #[test]
    fn the_urls_own_options_come_first_and_ours_last() {
        let url = "postgres://u@h/d?options=-c%20lock_timeout%3D9s&application_name=orders";
        let options = for_verbs(&SqlConfig::new(url)).expect("a valid url");
        let text = options.get_options().expect("there are some").to_owned();
        let (theirs, ours) = (text.find("lock_timeout=9s"), text.find("lock_timeout=5ms"));
        assert!(theirs.is_some() && theirs < ours, "{text}");
        assert_eq!(options.get_application_name(), Some("orders"));
    }

    #[test]
    fn timeouts_are_whole_milliseconds_and_never_none() {
        assert_eq!(statement_timeout_ms(Duration::from_nanos(1)), 1);
        assert_eq!(statement_timeout_ms(Duration::from_micros(1_001)), 2);
        assert_eq!(statement_timeout_ms(Duration::MAX), i32::MAX);
    }
}
