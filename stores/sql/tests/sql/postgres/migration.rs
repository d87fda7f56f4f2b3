//! Migrations are applied once, wholly or not at all, by whoever comes first.

use leasehold_sql::{ConnectError, SqlStore, migrate, migrations};
use tokio::task::JoinSet;

use crate::keys::{config, connect, fresh_table, works};
use crate::postgres::shared;

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
    assert_eq!(shared().ask(&format!("SELECT to_regclass('{table}') IS NULL")), "t");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_operator_applies_by_hand_counts() {
    let config = config(shared().url()).auto_migrate(false);
    for migration in migrations(&config).expect("a valid configuration") {
        shared().ask(&format!("BEGIN; {} COMMIT", migration.sql));
    }
    assert_eq!(migrate(&config).await.expect("an answer"), []);
    works(&connect(config).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn migration_that_fails_leaves_nothing() {
    let config = config(shared().url());
    let table = &config.table;
    // In the way of the index.
    shared().ask(&format!("CREATE TABLE {table}_purge ()"));
    match migrate(&config).await {
        Err(ConnectError::Unavailable(error)) => assert!(!error.is_transient(), "{error:?}"),
        answer => panic!("{answer:?}"),
    }
    let seen = shared().ask(&format!("SELECT to_regclass('{table}') IS NULL"));
    assert_eq!(seen, "t", "the table was made before the index failed");
    shared().ask(&format!("DROP TABLE {table}_purge"));
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
    works(&connect(config).await).await;
    assert_eq!(shared().ask(&format!("SELECT version FROM {schema}.orders_version")), "1");
    assert_eq!(shared().ask("SELECT to_regclass('orders') IS NULL"), "t");
}

/// The advice of docs/sql.md for tables that are too large for one.
#[tokio::test(flavor = "multi_thread")]
async fn table_may_be_partitioned_by_the_digests_hash() {
    let config = config(shared().url()).auto_migrate(false);
    let table = &config.table;
    for migration in migrations(&config).expect("a valid configuration") {
        let sql = migration.sql.replacen(");", ") PARTITION BY HASH (digest);", 1);
        shared().ask(&sql);
    }
    for part in 0..4 {
        shared().ask(&format!(
            "CREATE TABLE {table}_{part} PARTITION OF {table}
             FOR VALUES WITH (MODULUS 4, REMAINDER {part})"
        ));
    }
    let store = connect(config.clone()).await;
    for _ in 0..8 {
        works(&store).await;
    }
    store.upkeep_once().await.expect("kept up");
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
