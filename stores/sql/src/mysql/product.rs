//! Which of the two answers, and what follows from it.

use std::time::Duration;

/// The oldest versions that can skip locked rows.
const OLDEST: [(Product, [u32; 2]); 2] = [(Product::MariaDb, [10, 6]), (Product::MySql, [8, 0])];

/// What a server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Product {
    /// MariaDB: a session may wait for no lock.
    MariaDb,
    /// MySQL: a session waits for a second at least.
    MySql,
}

impl Product {
    /// Reads `VERSION()`; `None` for one that is too old.
    ///
    /// MariaDB may say `5.5.5-10.11.6-MariaDB`, so that old replicas take it for a MySQL.
    pub(super) fn parse(version: &str) -> Option<Self> {
        let product = if version.contains("MariaDB") { Self::MariaDb } else { Self::MySql };
        let own = version.strip_prefix("5.5.5-").unwrap_or(version);
        let mut numbers = own.split(|one: char| !one.is_ascii_digit()).map(str::parse::<u32>);
        let found = [numbers.next()?.ok()?, numbers.next()?.ok()?];
        OLDEST
            .iter()
            .any(|(oldest, version)| *oldest == product && found >= *version)
            .then_some(product)
    }

    /// What is said to a new connection. Everything that a server's settings may turn otherwise and
    /// our statements rely on is set here.
    ///
    /// A statement that its caller no longer waits for is ended by MariaDB, so that it holds no
    /// lock for longer; MySQL knows such a limit only for those that read, which hold none.
    pub(super) fn greeting(self, patience: Duration) -> String {
        let waits = match self {
            Self::MariaDb => {
                format!(
                    "innodb_lock_wait_timeout = 0, max_statement_time = {:.3}",
                    seconds(patience)
                )
            }
            Self::MySql => "innodb_lock_wait_timeout = 1".to_owned(),
        };
        format!(
            "SET autocommit = 1, completion_type = 0, sql_mode = 'STRICT_ALL_TABLES', {waits}; \
             SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE"
        )
    }
}

/// Zero would be no limit, and MariaDB takes a year at most.
fn seconds(patience: Duration) -> f64 {
    patience.as_secs_f64().clamp(0.001, 31_536_000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_told_by_their_versions() {
        for (version, product) in [
            ("10.11.6-MariaDB-0+deb12u1", Some(Product::MariaDb)),
            ("5.5.5-10.6.0-MariaDB", Some(Product::MariaDb)),
            ("10.5.29-MariaDB", None),
            ("8.0.36", Some(Product::MySql)),
            ("9.1.0-commercial", Some(Product::MySql)),
            ("5.7.44-log", None),
            ("", None),
            ("new", None),
        ] {
            assert_eq!(Product::parse(version), product, "{version}");
        }
    }

    #[test]
    fn a_limit_is_never_none() {
        let shortest = Product::MariaDb.greeting(Duration::from_nanos(1));
        assert!(shortest.contains("max_statement_time = 0.001;"), "{shortest}");
        let longest = Product::MariaDb.greeting(Duration::MAX);
        assert!(longest.contains("max_statement_time = 31536000.000;"), "{longest}");
    }
}
