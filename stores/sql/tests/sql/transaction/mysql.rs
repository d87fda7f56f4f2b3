//! The laws on MariaDB, at every isolation level and far from UTC, and what it has of its own: a
//! server that undoes a whole transaction for a lock.

use std::sync::OnceLock;

use leasehold::LeaseStore as _;
use leasehold_sql::GuardError;
use leasehold_sql_server::MariaDb;
use sqlx::MySql as Db;

use super::caller::{Caller, LONG, fresh_address, ttl};
use super::kinds::Kind as _;
use super::{ends, errors, locks, mysql_or_postgres, rivals};

fn server() -> &'static MariaDb {
    static SERVER: OnceLock<MariaDb> = OnceLock::new();
    SERVER.get_or_init(|| {
        MariaDb::start(&["--innodb-flush-log-at-trx-commit=0", "--max-connections=500"])
    })
}

async fn caller(level: &str) -> Caller<Db> {
    Caller::new(&server().url(), &first(level)).await
}

fn first(level: &str) -> String {
    format!("SET time_zone = '+05:45'; SET SESSION TRANSACTION ISOLATION LEVEL {level}")
}

const LEVELS: [&str; 3] = ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"];

#[tokio::test]
async fn a_transaction_ends_with_its_record() {
    for level in LEVELS {
        ends::hold(&caller(level).await).await;
    }
}

#[tokio::test]
async fn leases_that_are_not_the_callers_are_refused() {
    for level in LEVELS {
        errors::hold(&caller(level).await, &caller(level).await).await;
    }
}

#[tokio::test]
async fn nobody_waits_for_a_guard() {
    for level in LEVELS {
        locks::hold(&caller(level).await).await;
    }
}

#[tokio::test]
async fn a_release_waits_for_an_end_that_is_not_heard() {
    let (caller, url) = (caller(LEVELS[0]).await, server().url());
    locks::a_release_is_not_told_done_while_a_guard_may_still_commit(&caller, &url).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_waiter_runs_next() {
    for level in LEVELS {
        rivals::one_waiter_runs_after_a_holder_that_rolled_back(&caller(level).await).await;
    }
}

#[tokio::test]
async fn a_deadlock_loses_nothing() {
    for level in LEVELS {
        let caller = caller(level).await;
        let mut tx = caller.begin().await;
        // Rows are locked by themselves only where an index finds them.
        let index = format!("ALTER TABLE {} ADD PRIMARY KEY (name)", caller.orders);
        Db::run(&mut tx, &index).await.expect("an index");
        caller.order(&mut tx, "one").await;
        caller.order(&mut tx, "two").await;
        tx.commit().await.expect("two orders");
        mysql_or_postgres::deadlock(&caller).await;
    }
}

/// There a guard that meets a locked row has no transaction any more, and says so at once.
#[tokio::test]
async fn a_server_that_undoes_transactions_for_a_lock_is_a_conflict() {
    let server = MariaDb::start(&["--innodb-rollback-on-timeout=1"]);
    let caller = Caller::<Db>::new(&server.url(), &first("READ COMMITTED")).await;
    let mut lease = caller.granted(fresh_address(), LONG).await;
    let mut other = caller.begin().await;
    let lock = format!("UPDATE {} SET updated_us = updated_us", caller.records);
    Db::run(&mut other, &lock).await.expect("the row is locked");
    let mut tx = caller.begin().await;
    let refusal = caller.store.guard_in(&mut tx, &mut lease).await;
    let error = refusal.expect_err("the row is locked");
    assert!(matches!(error, GuardError::Conflict(_)) && error.is_retryable(), "{error:?}");
    tx.rollback().await.expect("the transaction is rolled back");
    other.rollback().await.expect("the transaction is rolled back");
    caller.book(&mut lease, "one").await;
}

/// The transaction has read before the guard, and the lease was renewed since. A server that is
/// told to insist on snapshots makes a conflict of it; another reads the row as it is now.
#[tokio::test]
async fn a_guard_behind_its_snapshot_is_a_conflict_where_snapshots_count() {
    for snapshots_count in [false, true] {
        let level = first("REPEATABLE READ");
        let first = format!("{level}; SET SESSION innodb_snapshot_isolation = {snapshots_count}");
        let caller = Caller::<Db>::new(&server().url(), &first).await;
        let mut lease = caller.granted(fresh_address(), LONG).await;
        let mut tx = caller.begin().await;
        let count = format!("SELECT count(*) FROM {}", caller.records);
        Db::number_in(&mut tx, &count).await.expect("a snapshot");
        caller.store.renew(&mut lease, ttl(LONG)).await.expect("it runs");
        match caller.store.guard_in(&mut tx, &mut lease).await {
            Ok(guard) => {
                assert!(!snapshots_count);
                caller.commit(&mut tx, guard).await.expect("the lease is committed");
                tx.commit().await.expect("the transaction is committed");
            }
            Err(error) => {
                assert!(snapshots_count && matches!(error, GuardError::Conflict(_)), "{error:?}");
                tx.rollback().await.expect("the transaction is rolled back");
                caller.book(&mut lease, "one").await;
            }
        }
    }
}

#[tokio::test]
async fn a_server_that_is_killed_keeps_both_or_neither() {
    let server = MariaDb::start(&[]);
    mysql_or_postgres::crash(&Caller::<Db>::new(&server.url(), "SELECT 1").await, &server).await;
}
