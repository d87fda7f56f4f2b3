//! From a configuration to connections.

use std::str::FromStr;
use std::sync::Arc;

use leasehold::{StoreError, StoreErrorKind};
use sqlx::mysql::{MySqlConnectOptions, MySqlConnection};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, MySql};
use tokio::time::timeout;

use super::error::read;
use super::product::Product;
use super::statement::Statements;
use super::verbs::MySqlRecords;
use crate::config::{ConfigError, ConnectError, SqlConfig};
use crate::failure::Failure;
use crate::lines::Lines;
use crate::record::micros;
use crate::records::Records;
use crate::table::Table;

/// Connects once, to see what answers.
pub(crate) async fn open(
    config: &SqlConfig,
    table: &Table,
) -> Result<Box<dyn Records>, ConnectError> {
    let options = options(config, table)?;
    let mut line = connect(&options, config).await?;
    let version = timeout(config.store_timeout, version(&mut line))
        .await
        .unwrap_or_else(|_| Err(Failure::silence()))
        .map_err(|failure| ConnectError::Unavailable(failure.into()))?;
    let product = Product::parse(&version).ok_or_else(|| {
        let why = format!("the server is {version}: MariaDB 10.6 or MySQL 8.0 is needed at least");
        ConnectError::Unavailable(StoreError::with_source(StoreErrorKind::Refused, why))
    })?;
    Ok(Box::new(records(options, config, table, product)))
}

/// The records, for a server that is known.
pub(super) fn records(
    options: MySqlConnectOptions,
    config: &SqlConfig,
    table: &Table,
    product: Product,
) -> MySqlRecords {
    let greeting: Arc<str> = product.greeting(config.store_timeout).into();
    let lines = Lines::<MySql>::new(options, read, config.connections, config.store_timeout)
        .greeted(Box::new(move |line| {
            let greeting = Arc::clone(&greeting);
            Box::pin(async move {
                let done = sqlx::raw_sql(AssertSqlSafe(greeting)).execute(line).await;
                done.map(drop).map_err(read)
            })
        }));
    MySqlRecords {
        lines: Arc::new(lines),
        statements: Arc::new(Statements::new(table, product)),
        namespace: config.namespace.as_str().into(),
        late_grace: micros(config.late_grace),
        stuck_retention: micros(config.stuck_retention),
    }
}

/// What the driver is told. What our statements rely on is said by [`Product::greeting`].
pub(crate) fn options(
    config: &SqlConfig,
    table: &Table,
) -> Result<MySqlConnectOptions, ConfigError> {
    // The driver's words may repeat a part of the URL.
    let options = MySqlConnectOptions::from_str(&config.url).map_err(|_| {
        ConfigError::url("it is not mysql://[user][:password@]host[:port]/database[?parameter=…]")
    })?;
    if options.get_database().is_none() && table.parts().0.is_none() {
        return Err(ConfigError::url("it names no database, and the table has no schema"));
    }
    Ok(options
        .timezone("+00:00".to_owned())
        .pipes_as_concat(false)
        .no_engine_substitution(false)
        .disable_statement_logging())
}

/// One connection that no call shares.
pub(super) async fn connect(
    options: &MySqlConnectOptions,
    config: &SqlConfig,
) -> Result<MySqlConnection, ConnectError> {
    timeout(config.store_timeout, MySqlConnection::connect_with(options))
        .await
        .map_err(|_| Failure::unconnected())
        .and_then(|line| line.map_err(|error| read(error).before_sending()))
        .map_err(|failure| ConnectError::Unavailable(failure.into()))
}

async fn version(line: &mut MySqlConnection) -> Result<String, Failure> {
    sqlx::query_scalar("SELECT VERSION()").fetch_one(line).await.map_err(read)
}
