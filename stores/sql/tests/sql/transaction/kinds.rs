//! What the laws need of a kind of database: to open its transactions and to run statements without
//! parameters. The methods are the same text for each, since the driver's traits cannot be named
//! for all of them at once without more bounds than text.

use std::future::Future;

use leasehold_sql::TransactionDatabase;
use sqlx::{AssertSqlSafe, Pool, Transaction};

/// A kind of database under test.
pub(super) trait Kind: TransactionDatabase {
    /// Connects a caller's pool. Every connection begins with these statements.
    fn pool(url: &str, first: &str) -> impl Future<Output = Pool<Self>>;

    /// Runs statements in a transaction.
    fn run(
        transaction: &mut Transaction<'_, Self>,
        statements: &str,
    ) -> impl Future<Output = Result<(), sqlx::Error>>;

    /// One number, by a connection of the pool.
    fn number(pool: &Pool<Self>, question: &str) -> impl Future<Output = i64>;

    /// The same in a transaction.
    fn number_in(
        transaction: &mut Transaction<'_, Self>,
        question: &str,
    ) -> impl Future<Output = Result<i64, sqlx::Error>>;
}

macro_rules! kind {
    ($feature:literal, $database:ty) => {
        #[cfg(feature = $feature)]
        impl Kind for $database {
            async fn pool(url: &str, first: &str) -> Pool<Self> {
                let first = std::sync::Arc::<str>::from(first);
                sqlx::pool::PoolOptions::<Self>::new()
                    .max_connections(30)
                    .after_connect(move |connection, _| {
                        let first = std::sync::Arc::clone(&first);
                        Box::pin(async move {
                            sqlx::raw_sql(AssertSqlSafe(first)).execute(connection).await?;
                            Ok(())
                        })
                    })
                    .connect(url)
                    .await
                    .expect("the database takes connections")
            }

            async fn run(
                transaction: &mut Transaction<'_, Self>,
                statements: &str,
            ) -> Result<(), sqlx::Error> {
                let statements = AssertSqlSafe(statements.to_owned());
                sqlx::raw_sql(statements).execute(&mut **transaction).await?;
                Ok(())
            }

            async fn number(pool: &Pool<Self>, question: &str) -> i64 {
                let question = AssertSqlSafe(question.to_owned());
                sqlx::query_scalar(question).fetch_one(pool).await.expect("a number")
            }

            async fn number_in(
                transaction: &mut Transaction<'_, Self>,
                question: &str,
            ) -> Result<i64, sqlx::Error> {
                let question = AssertSqlSafe(question.to_owned());
                sqlx::query_scalar(question).fetch_one(&mut **transaction).await
            }
        }
    };
}

kind!("postgres", sqlx::Postgres);
kind!("mysql", sqlx::MySql);
kind!("sqlite", sqlx::Sqlite);
