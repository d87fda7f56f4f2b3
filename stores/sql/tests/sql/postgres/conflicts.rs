//! Statements that the server undoes for the sake of others, provoked by a trigger: our own
//! sessions read committed data and lock one row, so that they hardly ever meet one.

use std::sync::Arc;

use leasehold::{AcquireError, Admission, LeaseStore as _, StoreErrorKind};
use leasehold_sql::SqlConfig;
use tokio::task::JoinSet;

use crate::keys::LONG;
use crate::keys::{config, connect, fresh_address, granted, long_terms, outcome, ttl};
use crate::postgres::shared;

/// Lets writes fail with an error code, as many as `fail_next` says. What a sequence has given
/// stays given when a statement is undone.
fn conflict(config: &SqlConfig, code: &str) {
    let table = &config.table;
    shared().ask(&format!(
        "CREATE SEQUENCE {table}_left MINVALUE -1000000 MAXVALUE 1000000 INCREMENT -1 START 0;
         CREATE FUNCTION {table}_fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
             IF nextval('{table}_left') > 0 THEN
                 RAISE EXCEPTION 'on purpose' USING ERRCODE = '{code}';
             END IF;
             RETURN NULL;
         END $$;
         CREATE TRIGGER fail BEFORE INSERT OR UPDATE OR DELETE ON {table}
             FOR EACH STATEMENT EXECUTE FUNCTION {table}_fail();"
    ));
}

fn fail_next(config: &SqlConfig, writes: u32) {
    shared().ask(&format!("SELECT setval('{}_left', {writes}, false)", config.table));
}

/// How many are left to fail; zero or less once one has passed.
fn left(config: &SqlConfig) -> i64 {
    let answer = shared().ask(&format!("SELECT last_value FROM {}_left", config.table));
    answer.parse().expect("a number")
}

#[tokio::test(flavor = "multi_thread")]
async fn undone_statements_are_tried_again() {
    // A serialization failure, a deadlock.
    for code in ["40001", "40P01"] {
        let config = config(shared().url());
        let store = connect(config.clone()).await;
        conflict(&config, code);
        let all_failed = || assert!(left(&config) <= 0, "three were undone");
        let address = fresh_address();
        fail_next(&config, 3);
        let mut lease = granted(store.acquire(address, long_terms()).await);
        all_failed();
        fail_next(&config, 3);
        store.renew(&mut lease, ttl(LONG)).await.expect("renewed");
        all_failed();
        fail_next(&config, 3);
        store.commit(&mut lease, None, ttl(LONG)).await.expect("committed");
        all_failed();
        fail_next(&config, 3);
        store.attach(&lease, outcome("body")).await.expect("attached");
        all_failed();
        fail_next(&config, 3);
        assert!(store.forget(address).await.expect("an answer"));
        all_failed();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn statement_that_is_undone_for_ever_is_unavailable() {
    let config = config(shared().url());
    let store = connect(config.clone()).await;
    conflict(&config, "40001");
    fail_next(&config, 1_000);
    match store.acquire(fresh_address(), long_terms()).await {
        Err(AcquireError::Unavailable(error)) => {
            assert_eq!(error.kind(), StoreErrorKind::Unreachable);
        }
        answer => panic!("{answer:?}"),
    }
    assert!((900..1_000).contains(&left(&config)), "there is an end to it");
}

/// Whatever isolation a database gives its sessions: ours read committed data.
#[tokio::test(flavor = "multi_thread")]
async fn rivals_for_one_key_meet_no_conflict_under_another_default() {
    let name = format!("d{:x}", fastrand::u64(..));
    shared().ask(&format!("CREATE DATABASE {name}"));
    shared()
        .ask(&format!("ALTER DATABASE {name} SET default_transaction_isolation = 'serializable'"));
    let url = shared().url();
    let (server, _) = url.rsplit_once('/').expect("it names a database");
    let url = format!("{server}/{name}");
    let store = Arc::new(connect(config(url)).await);
    for _ in 0..20 {
        let address = fresh_address();
        let mut rivals = JoinSet::new();
        for _ in 0..8 {
            let store = Arc::clone(&store);
            rivals.spawn(async move { store.acquire(address, long_terms()).await });
        }
        let answers = rivals.join_all().await;
        let grants = answers
            .iter()
            .filter(|answer| matches!(answer.as_ref().expect("an answer"), Admission::Granted(_)));
        assert_eq!(grants.count(), 1);
    }
}
