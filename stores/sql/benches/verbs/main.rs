//! What do acquire and commit of a fresh key cost beside two bare statements of the same shape, on
//! the same driver and the same database?
//!
//! Contenders take turns, round by round; the medians of their rates and of the rounds' ratios
//! count. *bare* makes one insert
//! and one update with the store's columns, each committed by itself, in a table of the store's own
//! shape; every caller has a connection of its own. *pool* (SQLite) takes its connections from the
//! driver's pool, as plain code would. Run by `cargo bench -p leasehold-sql --all-features`;
//! without `--bench` each runs for a moment.

#[cfg(not(any(feature = "mysql", feature = "postgres", feature = "sqlite")))]
fn main() {}

#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
mod bare;
#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
mod race;

#[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
fn main() {
    let measures = std::env::args().any(|argument| argument == "--bench");
    let plan = if measures { race::Plan::MEASURE } else { race::Plan::TRY };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        #[cfg(feature = "sqlite")]
        {
            let folder = tempfile::tempdir().expect("a temporary folder");
            let url = format!("sqlite:{}", folder.path().join("leases.db").display());
            race::race::<bare::Sqlite>("SQLite", &url, plan).await;
        }
        #[cfg(feature = "postgres")]
        {
            let server = leasehold_sql_server::Postgres::start(&[]);
            race::race::<bare::Postgres>("PostgreSQL", &server.url(), plan).await;
        }
        #[cfg(feature = "mysql")]
        {
            let server = leasehold_sql_server::MariaDb::start(&[]);
            race::race::<bare::MySql>("MariaDB", &server.url(), plan).await;
        }
    });
}
