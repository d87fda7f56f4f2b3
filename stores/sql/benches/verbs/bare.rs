//! Two bare statements by the driver alone: what an acquire and a commit of a fresh key write.

use leasehold::Attempt;

use crate::race::fresh_address;

/// The table of the bare statements, of the store's own shape.
pub(crate) const TABLE: &str = "bare_record";

/// A small response, such as a gateway keeps.
pub(crate) const OUTCOME: &[u8] = &[b'x'; 200];

const HOUR_MICROS: i64 = 3_600_000_000;

/// Any time will do, as long as it is as long as the store's.
const NOW: i64 = 1_764_551_043_123_456;

const COLUMNS: &str = "digest, biz_type, status, token, attempt, expires_us, purge_us, \
                       created_us, updated_us";

/// One caller of a driver.
pub(crate) trait Bare: Send + Sized + 'static {
    /// The driver's own pool, if plain code's use of it is of interest.
    type Pool: Clone + Send + 'static;

    /// So many callers, with a connection each.
    fn connect(url: &str, callers: usize) -> impl Future<Output = Vec<Self>> + Send;

    /// One insert and one update, each committed by itself.
    fn pair(&mut self) -> impl Future<Output = ()> + Send;

    /// A pool of so many connections.
    fn pool(url: &str, connections: usize) -> impl Future<Output = Option<Self::Pool>> + Send;

    /// The same two statements over the pool's connections.
    fn pooled(pool: Self::Pool) -> impl Future<Output = Self::Pool> + Send;
}

/// The insert, with placeholders for nine values, and the update, with placeholders for five.
fn texts(placeholder: impl Fn(usize) -> String, on_conflict: &str) -> [String; 2] {
    let values: Vec<_> = (1..=9).map(&placeholder).collect();
    let p = placeholder;
    let values = values.join(", ");
    [
        format!("INSERT INTO {TABLE} ({COLUMNS}) VALUES ({values}) {on_conflict}"),
        format!(
            "UPDATE {TABLE} SET status = 'SUCCESS', outcome = {}, expires_us = {}, purge_us = {} \
             WHERE digest = {} AND token = {} AND status = 'PROCESSING'",
            p(1),
            p(2),
            p(3),
            p(4),
            p(5)
        ),
    ]
}

const UPSERT: &str = "ON CONFLICT (digest) DO UPDATE SET status = excluded.status, \
                      token = excluded.token, attempt = excluded.attempt, \
                      expires_us = excluded.expires_us, purge_us = excluded.purge_us, \
                      updated_us = excluded.updated_us \
                      WHERE bare_record.purge_us <= excluded.updated_us RETURNING token";

/// Makes the two statements over an executor that the expression gives anew for each.
macro_rules! pair {
    ($texts:expr, $executor:expr) => {{
        let digest = fresh_address().as_bytes().to_vec();
        let [insert, update] = $texts;
        let inserted = sqlx::query(sqlx::AssertSqlSafe(insert.clone()))
            .bind(digest.clone())
            .bind("")
            .bind("PROCESSING")
            .bind(NOW)
            .bind(Attempt::random().to_bits().to_be_bytes().to_vec())
            .bind(NOW + HOUR_MICROS)
            .bind(NOW + HOUR_MICROS)
            .bind(NOW)
            .bind(NOW)
            .fetch_optional($executor)
            .await;
        inserted.expect("inserted");
        let updated = sqlx::query(sqlx::AssertSqlSafe(update.clone()))
            .bind(OUTCOME.to_vec())
            .bind(NOW + HOUR_MICROS)
            .bind(NOW + HOUR_MICROS)
            .bind(digest)
            .bind(NOW)
            .execute($executor)
            .await;
        assert_eq!(updated.expect("updated").rows_affected(), 1);
    }};
}

type Texts = std::sync::Arc<[std::sync::Arc<str>; 2]>;

fn shared(texts: [String; 2]) -> Texts {
    std::sync::Arc::new(texts.map(Into::into))
}

#[cfg(feature = "sqlite")]
pub(crate) use self::sqlite::Sqlite;

#[cfg(feature = "sqlite")]
mod sqlite {
    use std::sync::Arc;
    use std::time::Duration;

    use sqlx::SqlitePool;
    use sqlx::sqlite::{
        SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqlitePoolOptions,
        SqliteSynchronous,
    };
    use sqlx::{ConnectOptions as _, Connection as _};
    use tokio::sync::Mutex;

    use super::{
        Attempt, Bare, HOUR_MICROS, NOW, OUTCOME, Texts, UPSERT, fresh_address, shared, texts,
    };

    /// Its callers share one connection, which is the fastest way: more of them would wait for
    /// each other by sleeping.
    pub(crate) struct Sqlite {
        line: Arc<Mutex<SqliteConnection>>,
        texts: Texts,
    }

    /// As durable as the store's.
    fn options(url: &str) -> SqliteConnectOptions {
        let options: SqliteConnectOptions = url.parse().expect("a valid url");
        options
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .busy_timeout(Duration::from_secs(60))
            .disable_statement_logging()
    }

    fn own_texts() -> Texts {
        shared(texts(|_| "?".to_owned(), UPSERT))
    }

    impl Bare for Sqlite {
        type Pool = (SqlitePool, Texts);

        async fn connect(url: &str, callers: usize) -> Vec<Self> {
            let line = SqliteConnection::connect_with(&options(url)).await.expect("it connects");
            let line = Arc::new(Mutex::new(line));
            let texts = own_texts();
            (0..callers)
                .map(|_| Self { line: Arc::clone(&line), texts: Arc::clone(&texts) })
                .collect()
        }

        async fn pair(&mut self) {
            let line = &self.line;
            pair!(&*self.texts, &mut *line.lock().await);
        }

        async fn pool(url: &str, connections: usize) -> Option<Self::Pool> {
            let connections = u32::try_from(connections).expect("a few");
            let pool = SqlitePoolOptions::new()
                .max_connections(connections)
                .acquire_timeout(Duration::from_secs(60));
            let pool = pool.connect_with(options(url)).await.expect("it connects");
            Some((pool, own_texts()))
        }

        async fn pooled(pool: Self::Pool) -> Self::Pool {
            pair!(&*pool.1, &pool.0);
            pool
        }
    }
}

/// A driver whose callers have a connection each.
#[cfg(any(feature = "mysql", feature = "postgres"))]
macro_rules! server {
    ($name:ident, $connection:ty, $texts:expr) => {
        pub(crate) struct $name {
            line: $connection,
            texts: Texts,
        }

        impl Bare for $name {
            type Pool = ();

            async fn connect(url: &str, callers: usize) -> Vec<Self> {
                let texts = shared($texts);
                let mut all = Vec::new();
                for _ in 0..callers {
                    let line =
                        <$connection as sqlx::Connection>::connect(url).await.expect("it connects");
                    all.push(Self { line, texts: Texts::clone(&texts) });
                }
                all
            }

            async fn pair(&mut self) {
                pair!(&*self.texts, &mut self.line);
            }

            async fn pool(_: &str, _: usize) -> Option<()> {
                None
            }

            async fn pooled((): ()) {}
        }
    };
}

#[cfg(feature = "postgres")]
server!(Postgres, sqlx::PgConnection, texts(|number| format!("${number}"), UPSERT));

// The insert's `ON DUPLICATE KEY` finds none here: the keys are fresh.
#[cfg(feature = "mysql")]
server!(
    MySql,
    sqlx::MySqlConnection,
    texts(|_| "?".to_owned(), "ON DUPLICATE KEY UPDATE updated_us = VALUES(updated_us)")
);
