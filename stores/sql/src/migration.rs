//! The table's versions, and bringing it from one to the next.
//!
//! The driver's own migrations are files with fixed names and a table of their own with a fixed
//! name; here the table's name is configured, and several tables may live in one schema, each at
//! its own version. The versions that were applied stand in a table beside it, `<table>_version`,
//! and each migration writes its own there, so that one that an operator has applied by hand counts
//! like any other.
//!
//! Nothing here knows a database: each applies the statements in its own folder, under a lock.

use crate::config::{ConfigError, ConnectError, Dialect, SqlConfig};
use crate::table::Table;

/// One step of the table's history.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Migration {
    /// Its version, from 1 on.
    pub version: u32,
    /// Its statements, for the configured table; an operator may read and apply them, on PostgreSQL
    /// and SQLite in one transaction. The last one writes the version down.
    pub sql: String,
}

/// The files, in order, of each database.
const POSTGRES: &[&str] = &[include_str!("../migrations/postgres/0001-record.sql")];
/// These can be repeated, since MySQL commits each statement that changes a schema by itself.
const MYSQL: &[&str] = &[include_str!("../migrations/mysql/0001-record.sql")];
const SQLITE: &[&str] = &[include_str!("../migrations/sqlite/0001-record.sql")];

/// Every migration that a store of this configuration needs, in order. Asks no database.
///
/// # Errors
///
/// [`ConfigError`] if a setting is wrong.
pub fn migrations(config: &SqlConfig) -> Result<Vec<Migration>, ConfigError> {
    let (dialect, table) = config.check()?;
    Ok(of(dialect, &table))
}

/// Brings the table to this program's version. Gives the migrations that were applied; none if it
/// was there already. Several processes may do this at once.
///
/// On PostgreSQL and SQLite either all are applied or none. MySQL and MariaDB commit each statement
/// by itself: what was cut short there is completed by the next call.
///
/// To connect takes at most [`SqlConfig::store_timeout`]; the statements take as long as they take.
///
/// # Errors
///
/// [`ConnectError`]: a user who may not create tables is an [`Unavailable`] whose error is not
/// transient, a table that a newer program has migrated is a [`Newer`].
///
/// [`Unavailable`]: ConnectError::Unavailable
/// [`Newer`]: ConnectError::Newer
pub async fn migrate(config: &SqlConfig) -> Result<Vec<Migration>, ConnectError> {
    let (dialect, table) = config.check()?;
    let mut all = of(dialect, &table);
    let found = apply(config, dialect, &table, &all).await?;
    if found > latest(dialect) {
        return Err(ConnectError::Newer { found, known: latest(dialect) });
    }
    all.retain(|migration| migration.version > found);
    Ok(all)
}

/// Whether a store may work with a table of that version.
pub(crate) fn judge(dialect: Dialect, found: u32) -> Result<(), ConnectError> {
    let needed = latest(dialect);
    match found.cmp(&needed) {
        std::cmp::Ordering::Equal => Ok(()),
        std::cmp::Ordering::Less => Err(ConnectError::Migrate { found, needed }),
        std::cmp::Ordering::Greater => Err(ConnectError::Newer { found, known: needed }),
    }
}

/// Those that a table of the version `found` lacks.
pub(crate) fn after(all: &[Migration], found: u32) -> impl Iterator<Item = &Migration> {
    all.iter().filter(move |migration| migration.version > found)
}

/// Has the database apply what its table lacks. Gives the version that it was of.
///
/// Each database's `migrate` takes a lock that all processes share, reads the version under it (0
/// if there is no version table), applies what comes [`after`] it, and gives the lock up again,
/// also where one has failed.
#[cfg_attr(
    not(any(feature = "postgres", feature = "mysql", feature = "sqlite")),
    expect(clippy::unused_async, reason = "there is no database to wait for")
)]
async fn apply(
    config: &SqlConfig,
    dialect: Dialect,
    table: &Table,
    all: &[Migration],
) -> Result<u32, ConnectError> {
    match dialect {
        #[cfg(feature = "postgres")]
        Dialect::Postgres => crate::postgres::migrate(config, table, all).await,
        #[cfg(feature = "mysql")]
        Dialect::MySql => crate::mysql::migrate(config, table, all).await,
        #[cfg(feature = "sqlite")]
        Dialect::Sqlite => crate::sqlite::migrate(config, table, all).await,
        #[cfg(not(all(feature = "postgres", feature = "mysql", feature = "sqlite")))]
        _ => {
            let _ = (config, table, all);
            Err(ConfigError::url("this program was built without its database").into())
        }
    }
}

/// The version that this program works with.
fn latest(dialect: Dialect) -> u32 {
    u32::try_from(files(dialect).len()).unwrap_or(u32::MAX)
}

const fn files(dialect: Dialect) -> &'static [&'static str] {
    match dialect {
        Dialect::Postgres => POSTGRES,
        Dialect::MySql => MYSQL,
        Dialect::Sqlite => SQLITE,
    }
}

fn of(dialect: Dialect, table: &Table) -> Vec<Migration> {
    (1..)
        .zip(files(dialect))
        .map(|(version, text)| Migration { version, sql: table.statement(text) })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Dialect; 3] = [Dialect::Postgres, Dialect::MySql, Dialect::Sqlite];

    #[test]
    fn every_migration_writes_its_own_version() {
        let table = Table::new("orders").expect("a plain name");
        for dialect in ALL {
            for Migration { version, sql } in of(dialect, &table) {
                let last = format!("INSERT INTO orders_version (version) VALUES ({version});");
                assert_eq!(sql.lines().last(), Some(last.as_str()), "{dialect:?}");
                assert!(!sql.contains('{'), "{sql}");
            }
        }
    }

    #[test]
    fn only_the_programs_own_version_will_do() {
        for dialect in ALL {
            let own = latest(dialect);
            assert!(judge(dialect, own).is_ok());
            assert!(matches!(
                judge(dialect, own - 1),
                Err(ConnectError::Migrate { found, needed }) if found == own - 1 && needed == own
            ));
            assert!(matches!(
                judge(dialect, own + 1),
                Err(ConnectError::Newer { found, known }) if found == own + 1 && known == own
            ));
        }
    }

    #[test]
    fn a_table_is_given_what_it_lacks() {
        let table = Table::new("orders").expect("a plain name");
        let all = of(Dialect::Postgres, &table);
        assert_eq!(after(&all, 0).count(), all.len());
        assert_eq!(after(&all, latest(Dialect::Postgres)).count(), 0);
    }
}
