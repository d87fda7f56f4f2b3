//! Every statement finds its rows by an index, also one that was planned while the table was empty:
//! such a plan is kept, and the table fills.

use leasehold::LeaseStore as _;
use leasehold_sql::SqlConfig;

use crate::keys::{config, connect, fresh_address, granted, long_terms, works};
use crate::postgres::{shared, url_as};

/// Scans of the whole table, and by an index, once all connections of this test are closed: a
/// server's process adds its numbers at its end.
async fn scans(config: &SqlConfig) -> (u64, u64) {
    let ask = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'plans'";
    // Ends: the server sees within moments that a connection is closed.
    while shared().ask(ask) != "0" {
        tokio::task::yield_now().await;
    }
    let answer = shared().ask(&format!(
        "SELECT seq_scan, idx_scan FROM pg_stat_user_tables WHERE relname = '{}'",
        config.table
    ));
    let (whole, indexed) = answer.split_once('|').expect("two numbers");
    (whole.parse().expect("a number"), indexed.parse().expect("a number"))
}

#[tokio::test(flavor = "multi_thread")]
async fn no_statement_reads_the_whole_table() {
    let config = config(url_as("plans"));
    drop(connect(config.clone()).await);
    // Known to be empty, so that reading all of it looks cheapest.
    shared().ask(&format!("VACUUM {}", config.table));
    let (whole, indexed) = scans(&config).await;
    let store = connect(config.clone().connections(1)).await;
    // More often than the server plans a statement anew.
    for _ in 0..10 {
        works(&store).await;
        let (address, terms) = (fresh_address(), long_terms());
        let mut lease = granted(store.acquire(address, terms).await);
        store.release(&mut lease).await.expect("released");
        let _again = granted(store.acquire(address, terms).await);
        store.abandon(address, terms.attempt).await.expect("abandoned");
        store.peek(address).await.expect("an answer");
        store.upkeep_once().await.expect("kept up");
    }
    drop(store);
    let after = scans(&config).await;
    assert_eq!(after.0, whole);
    assert!(after.1 > indexed + 100, "{after:?}");
}
