//! Which file a URL names, and how it is opened. What would weaken a promise is refused: a database
//! in memory, and the driver's parameters.
//!
//! Nothing here repeats the URL.

use std::str::FromStr as _;
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions as _, Connection as _};
use tokio::time::{Instant, timeout_at};

use super::failure::{is_busy, is_refused, read};
use super::texts::{Text, Texts};
use crate::config::{ConfigError, ConnectError};
use crate::failure::Failure;

/// How long SQLite itself tries again while another has the lock; who waits longer asks again.
/// Arbitrary: a group of ours holds it for about as long.
const BUSY: Duration = Duration::from_millis(5);

/// Rows that the driver's thread may be ahead of us: as many as a group reads.
const ROWS_AHEAD: usize = 512;

/// The options of every connection to the file of a URL. They make no file.
///
/// A key that is committed survives the process and a loss of power: each commit is written through
/// to the disk (`synchronous = FULL`), with the drive's own cache where the system offers that.
pub(crate) fn options(url: &str) -> Result<SqliteConnectOptions, ConfigError> {
    if url.contains('?') {
        return Err(ConfigError::url(
            "SQLite takes no parameters here; a question mark in a path is written %3F",
        ));
    }
    let options = SqliteConnectOptions::from_str(url)
        .map_err(|_| ConfigError::url("the path is not valid UTF-8 once it is decoded"))?;
    match options.get_filename().to_str() {
        None | Some("") => return Err(ConfigError::url("it names no file")),
        Some(path) if url.ends_with(":memory:") || path.starts_with(":memory:") => {
            return Err(ConfigError::url(
                "a database in memory is no durable record: for leases in memory say `memory:`",
            ));
        }
        Some(path) if path.starts_with("file:") => {
            return Err(ConfigError::url("it names a path, not a `file:` URI"));
        }
        Some(path) if path.contains('\0') => {
            return Err(ConfigError::url("no path contains a zero byte"));
        }
        Some(_) => {}
    }
    Ok(options
        .create_if_missing(false)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .pragma("fullfsync", "ON")
        .pragma("checkpoint_fullfsync", "ON")
        .busy_timeout(BUSY)
        .row_buffer_size(ROWS_AHEAD)
        .thread_name(|number| format!("leasehold-sqlite-{number}"))
        .disable_statement_logging())
}

/// Refuses a path that can never be opened, before anything is tried.
pub(crate) async fn check(options: &SqliteConnectOptions) -> Result<(), ConfigError> {
    let path = options.get_filename().to_owned();
    let check = move || {
        if path.is_dir() {
            return Err(ConfigError::url("its path is a folder, not a file"));
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        if folder.is_some_and(|folder| !folder.is_dir()) {
            return Err(ConfigError::url("the folder of its file does not exist"));
        }
        Ok(())
    };
    // If the runtime ends, the next step tells so.
    tokio::task::spawn_blocking(check).await.unwrap_or(Ok(()))
}

/// Whether there is a file. What cannot be told is tried.
pub(super) async fn exists(options: &SqliteConnectOptions) -> bool {
    let path = options.get_filename().to_owned();
    tokio::task::spawn_blocking(move || path.try_exists().unwrap_or(true)).await.unwrap_or(true)
}

/// Opens the file for a moment, to see that it can be written, and makes it if the options say so.
/// Several processes may do so at once.
///
/// SQLite opens a file that it may not write as one to read, without a word, so this has to be
/// asked.
pub(super) async fn probe(
    options: &SqliteConnectOptions,
    texts: &Texts,
    patience: Duration,
) -> Result<(), ConnectError> {
    let until = Instant::now() + patience;
    // Ends with the time, or with the first answer but *busy*: one at a time turns a file to WAL.
    loop {
        match timeout_at(until, write_nothing(options, &texts.probe)).await {
            Ok(Err(error)) if is_busy(&error) && Instant::now() < until => {}
            Ok(Err(error)) => return Err(ConnectError::Unavailable(read(error).into())),
            Ok(Ok(())) => return Ok(()),
            Err(_) => return Err(ConnectError::Unavailable(Failure::unconnected().into())),
        }
    }
}

/// Writes nothing, yet needs the lock for it. Somebody else's lock is as good an answer, and so is
/// that there is no table.
async fn write_nothing(options: &SqliteConnectOptions, text: &Text) -> Result<(), sqlx::Error> {
    let mut line = SqliteConnection::connect_with(options).await?;
    let written = sqlx::query(text.sql()).execute(&mut line).await;
    // Whatever becomes of it, the next connection tells.
    let _ = line.close().await;
    match written {
        Err(error) if !is_busy(&error) && !is_refused(&error) => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use sqlx::Row as _;

    use super::*;

    fn reason(url: &str) -> String {
        options(url).expect_err(url).to_string()
    }

    #[test]
    fn a_url_is_a_path() {
        for (url, path) in [
            ("sqlite:leases.db", "leases.db"),
            ("sqlite://leases.db", "leases.db"),
            ("sqlite:/var/lib/leases.db", "/var/lib/leases.db"),
            ("sqlite:///var/lib/leases.db", "/var/lib/leases.db"),
            ("sqlite:what%3F%20a%23b.db", "what? a#b.db"),
        ] {
            let options = options(url).unwrap_or_else(|refusal| panic!("{url}: {refusal}"));
            assert_eq!(options.get_filename(), Path::new(path), "{url}");
        }
    }

    #[tokio::test]
    async fn a_commit_is_written_through_to_the_disk() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let url = format!("sqlite:{}", folder.path().join("x.db").display());
        let options = options(&url).expect("a path").create_if_missing(true);
        let mut line = SqliteConnection::connect_with(&options).await.expect("it is opened");
        let mut ask = async |text: &'static str| -> String {
            let row = sqlx::query(text).fetch_one(&mut line).await.expect("an answer");
            row.try_get_unchecked::<String, _>(0).expect("text")
        };
        assert_eq!(ask("PRAGMA journal_mode").await, "wal");
        assert_eq!(ask("SELECT CAST(synchronous AS TEXT) FROM pragma_synchronous").await, "2");
        assert_eq!(ask("SELECT CAST(fullfsync AS TEXT) FROM pragma_fullfsync").await, "1");
    }

    #[test]
    fn what_is_no_durable_file_is_refused() {
        for url in ["sqlite::memory:", "sqlite://:memory:", "sqlite:%3Amemory:"] {
            assert!(reason(url).contains("memory:"), "{url}");
        }
        for url in ["sqlite:", "sqlite://", "sqlite:file:x", "sqlite:a%00b", "sqlite:%ff"] {
            let _ = reason(url);
        }
        for parameters in ["mode=memory", "mode=ro", "immutable=1", "vfs=unix-none", "x=hunter2"] {
            let refusal = reason(&format!("sqlite:x?{parameters}"));
            assert!(refusal.contains("parameters") && !refusal.contains("hunter2"), "{refusal}");
        }
    }
}
