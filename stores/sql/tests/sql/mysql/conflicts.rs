//! What the server answers when it undoes or refuses a statement, provoked by triggers: our own
//! sessions read committed data, wait for no lock and lock one row, so that they hardly ever meet
//! such.

use leasehold::{AcquireError, AttachError, LeaseStore as _, StoreErrorKind};
use leasehold_sql::SqlConfig;

use crate::keys::{LONG, config, connect, fresh_address, granted, long_terms, outcome, ttl, works};
use crate::mysql::{line_after, shared};

/// Lets writes fail with an error number, as many as `fail_next` says. What a table in memory
/// counts stays counted when a statement is undone.
async fn fail_by(config: &SqlConfig, number: u16) {
    let table = &config.table;
    shared().ask(&format!(
        "CREATE TABLE {table}_left (n INT NOT NULL) ENGINE = MEMORY;
         INSERT INTO {table}_left VALUES (0)"
    ));
    for event in ["INSERT", "UPDATE", "DELETE"] {
        let trigger = format!(
            "CREATE TRIGGER {table}_{event} BEFORE {event} ON {table} FOR EACH ROW BEGIN
                 UPDATE {table}_left SET n = n - 1;
                 IF (SELECT n FROM {table}_left) >= 0 THEN
                     SIGNAL SQLSTATE '45000'
                         SET MYSQL_ERRNO = {number}, MESSAGE_TEXT = 'on purpose';
                 END IF;
             END"
        );
        drop(line_after(trigger).await);
    }
}

fn fail_next(config: &SqlConfig, writes: u32) {
    shared().ask(&format!("UPDATE {}_left SET n = {writes}", config.table));
}

/// How many are left to fail; zero or less once one has passed.
fn left(config: &SqlConfig) -> i64 {
    shared().ask(&format!("SELECT n FROM {}_left", config.table)).parse().expect("a number")
}

#[tokio::test(flavor = "multi_thread")]
async fn undone_statements_are_tried_again() {
    // A deadlock, a row that has changed, a transaction that is undone already, a failed commit.
    for number in [1213, 1020, 4060, 1180] {
        let config = config(shared().url());
        let store = connect(config.clone()).await;
        fail_by(&config, number).await;
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
        if number == 1180 {
            // It may have been done all the same, and a second one would be told otherwise.
            fail_next(&config, 1);
            match store.attach(&lease, outcome("body")).await {
                Err(AttachError::Unavailable(error)) => assert!(error.is_outcome_unknown()),
                answer => panic!("{answer:?}"),
            }
            fail_next(&config, 1);
            let error = store.forget(address).await.expect_err("nobody knows");
            assert!(error.is_outcome_unknown(), "{error:?}");
            continue;
        }
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
    fail_by(&config, 1213).await;
    fail_next(&config, 1_000);
    match store.acquire(fresh_address(), long_terms()).await {
        Err(AcquireError::Unavailable(error)) => {
            assert_eq!(error.kind(), StoreErrorKind::Unreachable);
        }
        answer => panic!("{answer:?}"),
    }
    assert!((900..1_000).contains(&left(&config)), "there is an end to it");
}

#[tokio::test(flavor = "multi_thread")]
async fn connection_of_no_use_is_replaced_once() {
    // A shutdown, a statement and a connection that were killed, an unknown prepared statement.
    for number in [1053, 1317, 1927, 1243] {
        let config = config(shared().url());
        let store = connect(config.clone()).await;
        fail_by(&config, number).await;
        fail_next(&config, 1);
        works(&store).await;
        fail_next(&config, 2);
        match store.acquire(fresh_address(), long_terms()).await {
            Err(AcquireError::Unavailable(error)) => assert!(error.is_outcome_unknown()),
            answer => panic!("{answer:?}"),
        }
    }
}

/// What a first try has attached would be told as too late by a second.
#[tokio::test(flavor = "multi_thread")]
async fn attach_is_sent_once() {
    let config = config(shared().url());
    let store = connect(config.clone()).await;
    fail_by(&config, 1053).await;
    let mut lease = granted(store.acquire(fresh_address(), long_terms()).await);
    store.commit(&mut lease, None, ttl(LONG)).await.expect("committed");
    fail_next(&config, 1);
    match store.attach(&lease, outcome("body")).await {
        Err(AttachError::Unavailable(error)) => assert!(error.is_outcome_unknown(), "{error:?}"),
        answer => panic!("{answer:?}"),
    }
    store.attach(&lease, outcome("body")).await.expect("attached");
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_say_whether_they_pass() {
    use StoreErrorKind::{NoAnswer, Refused, Unreachable};
    for (number, kind) in [
        (1021, Unreachable),
        (1040, Unreachable),
        (1041, Unreachable),
        (1114, Unreachable),
        (1203, Unreachable),
        (1290, Unreachable),
        (1836, Unreachable),
        (1969, NoAnswer),
        (1044, Refused),
        (1142, Refused),
        (1146, Refused),
        (1665, Refused),
    ] {
        let config = config(shared().url());
        let store = connect(config.clone()).await;
        fail_by(&config, number).await;
        fail_next(&config, 1);
        match store.acquire(fresh_address(), long_terms()).await {
            Err(AcquireError::Unavailable(error)) => assert_eq!(error.kind(), kind, "{number}"),
            answer => panic!("{number}: {answer:?}"),
        }
        assert!(left(&config) <= 0, "{number} is not tried again");
        works(&store).await;
    }
}
