//! Migrations are applied once, by whoever comes first, and completed by whoever comes next.

use leasehold_sql::{ConnectError, SqlStore, migrate, migrations};
use tokio::task::JoinSet;

use crate::keys::{config, connect, fresh_table, works};
use crate::mysql::shared;

#[tokio::test(flavor = "multi_thread")]
async fn many_migrate_at_once_and_one_does_it() {
    let config = config(shared().url());
    let mut processes = JoinSet::new();
    for _ in 0..16 {
        let config = config.clone();
        processes.spawn(async move { migrate(&config).await.expect("migrated").len() });
    }
    let applied: usize = processes.join_all().await.into_iter().sum();
    assert_eq!(applied, migrations(&config).expect("a valid configuration").len());
    works(&connect(config.auto_migrate(false)).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn table_is_never_made_unless_told() {
    let told = config(shared().url()).auto_migrate(false);
    let mut untold = told.clone();
    untold.auto_migrate = None;
    let table = told.table.clone();
    for silent in [told, untold] {
        match SqlStore::connect(silent).await {
            Err(ConnectError::Migrate { found: 0, needed }) => assert!(needed > 0),
            answer => panic!("{answer:?}"),
        }
    }
    assert_eq!(shared().ask(&format!("SHOW TABLES LIKE '{table}'")), "");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_operator_applies_by_hand_counts() {
    let config = config(shared().url()).auto_migrate(false);
    for migration in migrations(&config).expect("a valid configuration") {
        shared().ask(&migration.sql);
    }
    assert_eq!(migrate(&config).await.expect("an answer"), []);
    works(&connect(config).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn migration_that_was_cut_short_is_completed_by_the_next() {
    let config = config(shared().url());
    let table = &config.table;
    // In the way of the table of versions.
    shared().ask(&format!("CREATE TABLE {table}_version (version INT CHECK (version > 1))"));
    match migrate(&config).await {
        Err(ConnectError::Unavailable(error)) => assert!(!error.is_transient(), "{error:?}"),
        answer => panic!("{answer:?}"),
    }
    assert_eq!(shared().ask(&format!("SHOW TABLES LIKE '{table}'")), *table, "half of it is done");
    shared().ask(&format!("DROP TABLE {table}_version"));
    works(&connect(config).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn newer_table_is_refused_also_by_a_migration() {
    let config = config(shared().url());
    migrate(&config).await.expect("migrated");
    shared().ask(&format!("INSERT INTO {}_version (version) VALUES (999)", config.table));
    for answer in
        [SqlStore::connect(config.clone()).await.map(drop), migrate(&config).await.map(drop)]
    {
        assert!(matches!(answer, Err(ConnectError::Newer { found: 999, .. })), "{answer:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn table_of_a_schema_is_that_schemas() {
    let schema = fresh_table();
    shared().ask(&format!("CREATE SCHEMA {schema}"));
    let config = config(shared().url()).table(format!("{schema}.orders"));
    let store = connect(config).await;
    works(&store).await;
    store.upkeep_once().await.expect("kept up");
    assert_eq!(shared().ask(&format!("SELECT version FROM {schema}.orders_version")), "1");
    assert_eq!(shared().ask("SHOW TABLES LIKE 'orders'"), "");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_that_is_gone_though_its_version_is_there_is_refused_at_the_start() {
    let config = config(shared().url());
    let table = &config.table;
    migrate(&config).await.expect("migrated");
    shared().ask(&format!("DROP TABLE {table}"));
    match SqlStore::connect(config.clone()).await {
        Err(ConnectError::Unavailable(error)) => assert!(!error.is_transient(), "{error:?}"),
        answer => panic!("{answer:?}"),
    }
}
