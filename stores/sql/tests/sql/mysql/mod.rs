//! Records in MariaDB, which is what is at hand. What is said to MySQL alone is tried by the unit
//! tests, against MariaDB too.

mod access;
mod clocks;
mod conflicts;
mod conformance;
mod dropped;
mod faults;
mod locks;
mod migration;
mod upkeep;

use std::sync::OnceLock;

use leasehold_sql_server::MariaDb;
use sqlx::{AssertSqlSafe, Connection as _, MySqlConnection};

/// One server for all tests that do it no harm; each takes a table of its own.
fn shared() -> &'static MariaDb {
    static SERVER: OnceLock<MariaDb> = OnceLock::new();
    SERVER.get_or_init(|| {
        MariaDb::start(&["--max-connections=1000", "--innodb-flush-log-at-trx-commit=0"])
    })
}

/// A server of one's own, whose every commit is on its disk.
fn server() -> MariaDb {
    MariaDb::start(&[])
}

/// The shared server's URL, with a user by whom a test finds its own connections.
fn url_as(name: &str) -> String {
    shared().ask(&format!(
        "CREATE USER {name}@'127.0.0.1'; GRANT ALL ON leasehold.* TO {name}@'127.0.0.1'"
    ));
    shared().url().replace("root@", &format!("{name}@"))
}

/// The connections of that user.
fn connections_of(name: &str) -> Vec<String> {
    let ask = format!("SELECT id FROM information_schema.processlist WHERE user = '{name}'");
    shared().ask(&ask).lines().map(str::to_owned).collect()
}

/// Somebody's own connection, which has run one statement.
async fn line_after(statement: impl Into<String>) -> MySqlConnection {
    let mut line = MySqlConnection::connect(&shared().url()).await.expect("the server answers");
    let statement = AssertSqlSafe(statement.into());
    sqlx::raw_sql(statement).execute(&mut line).await.expect("done");
    line
}
