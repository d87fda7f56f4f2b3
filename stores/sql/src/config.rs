//! What can be chosen about an SQL store, its checks, and why a start was refused.
//!
//! The URL may hold a password: nothing here may print it.

use std::fmt;
use std::time::Duration;

use leasehold::{MAX_TTL, StoreError};
use thiserror::Error;

use crate::table::{Table, TableError};

/// Settings of an [`SqlStore`](crate::SqlStore). Setters take what they are given; the checks are
/// made when the store connects.
///
/// `Debug` leaves the URL out, since it may hold a password.
#[derive(Clone)]
#[non_exhaustive]
pub struct SqlConfig {
    /// Where the database is:
    ///
    /// - `postgres://[user][:password@]host[:port][/database]`, also `postgresql://`
    /// - `mysql://[user][:password@]host[:port]/database`, also `mariadb://`
    /// - `sqlite:path`, whose file is made if it is not there
    ///
    /// with the parameters of the driver (`?sslmode=verify-full`, `?ssl-mode=VERIFY_IDENTITY`).
    /// Special characters of a user or password are percent-encoded.
    pub url: String,
    /// The table of the records, with its schema and a dot before it if need be; default
    /// `idempotent_record`. Business lines that are kept apart have a table each.
    pub table: String,
    /// What the column `biz_type` says of new records; default empty. It only tells an operator
    /// whose they are: the address is unique by itself. At most 64 bytes.
    pub namespace: String,
    /// How long a lease outlives its deadline for its holder alone, so that a late commit still
    /// counts; zero to ten years; default 30 s. It is written with a grant and a renewal.
    pub late_grace: Duration,
    /// Longest time a call takes, connecting included; above zero; default 1 s. After it the call
    /// fails as unavailable.
    pub store_timeout: Duration,
    /// Most connections at once, 1 to 1,024; default 8. A call holds one for a few milliseconds.
    /// SQLite has these for reading and one more, which writes.
    pub connections: u32,
    /// Make and update the table at the start; default: SQLite only.
    pub auto_migrate: Option<bool>,
    /// Most rows that one statement of a sweep deletes, 1 to 100,000; default 1,000.
    pub cleanup_batch: u32,
    /// How long a record stays that its holder has left behind, once it is marked; zero to ten
    /// years; default 7 days.
    pub stuck_retention: Duration,
}

/// Longest namespace, in bytes: the column's width.
const MAX_NAMESPACE_LENGTH: usize = 64;

/// Most connections. Arbitrary, far above what helps.
const MAX_CONNECTIONS: u32 = 1_024;

/// Most rows of a batch. Arbitrary: more would hold locks for seconds.
const MAX_CLEANUP_BATCH: u32 = 100_000;

/// A database that there is a store for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Dialect {
    /// PostgreSQL.
    Postgres,
    /// MySQL or MariaDB.
    MySql,
    /// SQLite.
    Sqlite,
}

impl SqlConfig {
    /// The defaults, for a database at a URL.
    #[must_use]
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            table: "idempotent_record".to_owned(),
            namespace: String::new(),
            late_grace: Duration::from_secs(30),
            store_timeout: Duration::from_secs(1),
            connections: 8,
            auto_migrate: None,
            cleanup_batch: 1_000,
            stuck_retention: Duration::from_secs(7 * 24 * 60 * 60),
        }
    }

    /// Sets [`SqlConfig::table`].
    #[must_use]
    pub fn table(mut self, table: impl Into<String>) -> Self {
        self.table = table.into();
        self
    }

    /// Sets [`SqlConfig::namespace`].
    #[must_use]
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = namespace.into();
        self
    }

    /// Sets [`SqlConfig::late_grace`].
    #[must_use]
    pub const fn late_grace(mut self, late_grace: Duration) -> Self {
        self.late_grace = late_grace;
        self
    }

    /// Sets [`SqlConfig::store_timeout`].
    #[must_use]
    pub const fn store_timeout(mut self, store_timeout: Duration) -> Self {
        self.store_timeout = store_timeout;
        self
    }

    /// Sets [`SqlConfig::connections`].
    #[must_use]
    pub const fn connections(mut self, connections: u32) -> Self {
        self.connections = connections;
        self
    }

    /// Sets [`SqlConfig::auto_migrate`].
    #[must_use]
    pub const fn auto_migrate(mut self, auto_migrate: bool) -> Self {
        self.auto_migrate = Some(auto_migrate);
        self
    }

    /// Sets [`SqlConfig::cleanup_batch`].
    #[must_use]
    pub const fn cleanup_batch(mut self, cleanup_batch: u32) -> Self {
        self.cleanup_batch = cleanup_batch;
        self
    }

    /// Sets [`SqlConfig::stuck_retention`].
    #[must_use]
    pub const fn stuck_retention(mut self, stuck_retention: Duration) -> Self {
        self.stuck_retention = stuck_retention;
        self
    }

    /// Which database the URL names.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Url`] if it names none, or one whose feature is not compiled in.
    pub fn dialect(&self) -> Result<Dialect, ConfigError> {
        let (scheme, rest) = self.url.split_once(':').unwrap_or(("", ""));
        let (dialect, feature, is_there) = match scheme {
            "postgres" | "postgresql" => {
                (Dialect::Postgres, "postgres", cfg!(feature = "postgres"))
            }
            "mysql" | "mariadb" => (Dialect::MySql, "mysql", cfg!(feature = "mysql")),
            "sqlite" => (Dialect::Sqlite, "sqlite", cfg!(feature = "sqlite")),
            _ => return Err(ConfigError::url("it begins with none of the known schemes")),
        };
        // Without them the drivers guess what is the host, and others what is a password.
        if dialect != Dialect::Sqlite && !rest.starts_with("//") {
            return Err(ConfigError::url("its scheme and host are parted by `://`"));
        }
        if is_there {
            Ok(dialect)
        } else {
            Err(ConfigError::url(format!("this program was built without the feature `{feature}`")))
        }
    }

    /// Checks every setting without asking a database. A start does so too.
    ///
    /// # Errors
    ///
    /// [`ConfigError`], which names the setting and repeats nothing of the URL.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.check().map(drop)
    }

    /// Checks every setting, the URL by its own driver.
    pub(crate) fn check(&self) -> Result<(Dialect, Table), ConfigError> {
        let dialect = self.dialect()?;
        #[cfg(feature = "sqlite")]
        if dialect == Dialect::Sqlite {
            crate::sqlite::options(&self.url)?;
        }
        let table = Table::new(&self.table)?;
        match dialect {
            #[cfg(feature = "postgres")]
            Dialect::Postgres => drop(crate::postgres::for_verbs(self)?),
            #[cfg(feature = "mysql")]
            Dialect::MySql => drop(crate::mysql::options(self, &table)?),
            #[cfg(feature = "sqlite")]
            Dialect::Sqlite => drop(crate::sqlite::options(&self.url)?),
            #[cfg(not(all(feature = "postgres", feature = "mysql", feature = "sqlite")))]
            _ => {}
        }
        if dialect == Dialect::Sqlite && table.parts().0.is_some() {
            return Err(ConfigError::Schema);
        }
        if self.namespace.len() > MAX_NAMESPACE_LENGTH {
            return Err(ConfigError::Namespace);
        }
        if self.late_grace > MAX_TTL {
            return Err(ConfigError::LateGrace);
        }
        if self.store_timeout.is_zero() || self.store_timeout > MAX_TTL {
            return Err(ConfigError::StoreTimeout);
        }
        if !(1..=MAX_CONNECTIONS).contains(&self.connections) {
            return Err(ConfigError::Connections);
        }
        if !(1..=MAX_CLEANUP_BATCH).contains(&self.cleanup_batch) {
            return Err(ConfigError::CleanupBatch);
        }
        if self.stuck_retention > MAX_TTL {
            return Err(ConfigError::StuckRetention);
        }
        Ok((dialect, table))
    }
}

impl fmt::Debug for SqlConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqlConfig")
            .field("table", &self.table)
            .field("namespace", &self.namespace)
            .field("late_grace", &self.late_grace)
            .field("store_timeout", &self.store_timeout)
            .field("connections", &self.connections)
            .field("auto_migrate", &self.auto_migrate)
            .field("cleanup_batch", &self.cleanup_batch)
            .field("stuck_retention", &self.stuck_retention)
            .finish_non_exhaustive()
    }
}

/// Why an [`SqlConfig`] was refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The URL is none of those that [`SqlConfig::url`] lists. It may hold a password, so only
    /// what is wrong with it is told.
    #[error("the url of the store is not valid: {reason}")]
    Url {
        /// What is wrong.
        reason: String,
    },
    /// `table` is not a plain name.
    #[error(transparent)]
    Table(#[from] TableError),
    /// `table` names a schema, which SQLite has none of.
    #[error("SQLite has no schemas: name the table alone")]
    Schema,
    /// `namespace` is too long.
    #[error("namespace is longer than {MAX_NAMESPACE_LENGTH} bytes")]
    Namespace,
    /// `late_grace` is longer than ten years.
    #[error("late_grace is longer than ten years")]
    LateGrace,
    /// `store_timeout` is zero, or longer than ten years.
    #[error("store_timeout is zero, or longer than ten years")]
    StoreTimeout,
    /// `connections` is zero or too large.
    #[error("connections must be from 1 to {MAX_CONNECTIONS}")]
    Connections,
    /// `cleanup_batch` is zero or too large.
    #[error("cleanup_batch must be from 1 to {MAX_CLEANUP_BATCH}")]
    CleanupBatch,
    /// `stuck_retention` is longer than ten years.
    #[error("stuck_retention is longer than ten years")]
    StuckRetention,
}

impl ConfigError {
    /// The URL is wrong; `reason` repeats nothing of it.
    pub(crate) fn url(reason: impl Into<String>) -> Self {
        Self::Url { reason: reason.into() }
    }
}

/// Why a store did not start.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// A setting is wrong: correct it.
    #[error("the configuration is not valid")]
    Config(#[from] ConfigError),
    /// The database did not answer, or refused the user: try again, or correct the URL.
    #[error("the store is unavailable")]
    Unavailable(#[source] StoreError),
    /// The table is missing, or of an older version than this program's: apply the migrations.
    #[error("the table is of version {found}, and this program needs {needed}: migrate it")]
    Migrate {
        /// The table's version; 0 if there is no table.
        found: u32,
        /// The version that this program works with.
        needed: u32,
    },
    /// A newer program has migrated the table: use that one.
    #[error("the table is of version {found}, and this program knows no later than {known}")]
    Newer {
        /// The table's version.
        found: u32,
        /// The latest that this program knows.
        known: u32,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(change: impl Fn(SqlConfig) -> SqlConfig) -> Result<(), ConfigError> {
        let schemes =
            [("sqlite:x", cfg!(feature = "sqlite")), ("mysql://h/d", cfg!(feature = "mysql"))];
        let url =
            schemes.iter().find(|(_, is_there)| *is_there).map_or("postgres://h", |(url, _)| url);
        change(SqlConfig::new(url)).validate()
    }

    #[cfg(any(feature = "postgres", feature = "mysql", feature = "sqlite"))]
    #[test]
    fn settings_are_checked_at_both_ends() {
        let over = MAX_TTL + Duration::from_nanos(1);
        assert_eq!(check(|c| c), Ok(()));
        assert_eq!(check(|c| c.namespace("x".repeat(64))), Ok(()));
        assert_eq!(check(|c| c.namespace("x".repeat(65))), Err(ConfigError::Namespace));
        assert_eq!(check(|c| c.late_grace(Duration::ZERO)), Ok(()));
        assert_eq!(check(|c| c.late_grace(over)), Err(ConfigError::LateGrace));
        assert_eq!(check(|c| c.store_timeout(Duration::ZERO)), Err(ConfigError::StoreTimeout));
        assert_eq!(check(|c| c.store_timeout(over)), Err(ConfigError::StoreTimeout));
        assert_eq!(check(|c| c.connections(0)), Err(ConfigError::Connections));
        assert_eq!(check(|c| c.connections(1_024)), Ok(()));
        assert_eq!(check(|c| c.connections(1_025)), Err(ConfigError::Connections));
        assert_eq!(check(|c| c.cleanup_batch(0)), Err(ConfigError::CleanupBatch));
        assert_eq!(check(|c| c.cleanup_batch(100_001)), Err(ConfigError::CleanupBatch));
        assert_eq!(check(|c| c.stuck_retention(over)), Err(ConfigError::StuckRetention));
        assert!(matches!(check(|c| c.table("a b")), Err(ConfigError::Table(_))));
    }

    #[test]
    fn other_schemes_are_refused_without_their_text() {
        let no_slashes = "postgres:u:hunter2@h";
        for url in ["", "hunter2", "redis://u:hunter2@h", "postgre://u:hunter2@h", no_slashes] {
            let refusal = SqlConfig::new(url).validate().expect_err(url);
            assert!(matches!(refusal, ConfigError::Url { .. }), "{refusal}");
            assert!(!refusal.to_string().contains("hunter2"), "{refusal}");
        }
    }

    #[cfg(all(feature = "postgres", feature = "mysql", feature = "sqlite"))]
    #[test]
    fn what_no_driver_can_read_is_refused_without_its_text() {
        for url in [
            "postgres://u:hunter2@h:hunter2/d",
            "postgres://u:hunter2@h/d?sslmode=hunter2",
            "mysql://u:hunter2@h:hunter2/d",
            "mysql://hunter2",
            "sqlite:",
        ] {
            let refusal = SqlConfig::new(url).validate().expect_err(url);
            assert!(matches!(refusal, ConfigError::Url { .. }), "{refusal}");
            assert!(!refusal.to_string().contains("hunter2"), "{refusal}");
        }
    }

    #[cfg(feature = "sqlite")]
    #[test]
    fn sqlite_has_no_schemas() {
        let config = SqlConfig::new("sqlite:x").table("a.b");
        assert_eq!(config.validate(), Err(ConfigError::Schema));
    }

    #[test]
    fn debug_does_not_print_the_url() {
        let config = SqlConfig::new("postgres://user:hunter2@host");
        assert!(!format!("{config:?}").contains("hunter2"));
    }
}
