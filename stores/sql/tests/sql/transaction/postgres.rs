//! The laws on PostgreSQL, at every isolation level and far from UTC, and what it has of its own:
//! transactions that a failed statement ends, serialization failures, sessions that are ended.

use std::sync::OnceLock;

use leasehold::LeaseStore as _;
use leasehold_sql::{CommitInError, GuardError, is_conflict};
use leasehold_sql_server::Postgres;
use sqlx::Postgres as Db;

use super::caller::{Caller, LONG, fresh_address, ttl};
use super::kinds::Kind as _;
use super::{ends, errors, locks, rivals};

/// The server that these tests share.
pub(super) fn server() -> &'static Postgres {
    static SERVER: OnceLock<Postgres> = OnceLock::new();
    SERVER.get_or_init(|| Postgres::start(&["-c", "fsync=off", "-c", "max_connections=500"]))
}

pub(super) async fn caller(level: &str) -> Caller<Db> {
    let mut first = String::from("SET TIME ZONE 'Asia/Kathmandu';");
    if !level.is_empty() {
        first += &format!("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL {level};");
    }
    Caller::new(&server().url(), &first).await
}

const LEVELS: [&str; 3] = ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"];

#[tokio::test]
async fn a_transaction_ends_with_its_record() {
    for level in LEVELS {
        let caller = caller(level).await;
        ends::hold(&caller).await;
        ends::a_guard_that_is_given_up_leaves_the_lease_as_it_was(&caller).await;
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
    let (caller, url) = (caller("").await, server().url());
    locks::a_release_is_not_told_done_while_a_guard_may_still_commit(&caller, &url).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_waiter_runs_next() {
    for level in LEVELS {
        rivals::one_waiter_runs_after_a_holder_that_rolled_back(&caller(level).await).await;
    }
}

/// A statement of the caller's fails, after which the transaction takes no more.
#[tokio::test]
async fn an_aborted_transaction_leaves_the_lease_as_it_was() {
    for level in LEVELS {
        let (caller, address) = (caller(level).await, fresh_address());
        let mut lease = caller.granted(address, LONG).await;
        let mut tx = caller.begin().await;
        let guard = caller.guard(&mut tx, &mut lease).await;
        caller.order(&mut tx, "one").await;
        Db::run(&mut tx, "SELECT 1 / 0").await.expect_err("the statement fails");
        let refusal = caller.commit(&mut tx, guard).await;
        assert!(matches!(refusal, Err(CommitInError::Unavailable(_))), "{refusal:?}");
        // PostgreSQL makes a rollback of it.
        let _ = tx.commit().await;
        assert!(caller.is_in_flight(address).await);
        assert_eq!(caller.orders().await, 0);
        caller.book(&mut lease, "one").await;
        assert_eq!(caller.orders().await, 1);
    }
}

/// The lock goes with the savepoint: what happens then is seen by the commit.
#[tokio::test]
async fn a_guard_that_a_savepoint_has_undone_commits_nothing_of_anothers() {
    for level in LEVELS {
        let (caller, address) = (caller(level).await, fresh_address());
        let mut lease = caller.late(address).await;
        let mut tx = caller.begin().await;
        Db::run(&mut tx, "SAVEPOINT one").await.expect("a savepoint");
        let guard = caller.guard(&mut tx, &mut lease).await;
        Db::run(&mut tx, "ROLLBACK TO SAVEPOINT one").await.expect("a savepoint");
        let mut second = caller.granted(address, LONG).await;
        let refusal = caller.commit(&mut tx, guard).await;
        // A snapshot from before the takeover cannot tell more than that there was something.
        let expected = match refusal {
            Err(CommitInError::Superseded) => level == LEVELS[0],
            Err(CommitInError::Conflict(_)) => level != LEVELS[0],
            _ => false,
        };
        assert!(expected, "{level}: {refusal:?}");
        tx.rollback().await.expect("the transaction is rolled back");
        caller.book(&mut second, "two").await;
    }
}

/// The transaction has read before the guard, and the lease was renewed since: a snapshot that is
/// too old is a conflict, and a new transaction has none.
#[tokio::test]
async fn a_guard_behind_its_snapshot_is_a_conflict() {
    for level in &LEVELS[1..] {
        let caller = caller(level).await;
        let mut lease = caller.granted(fresh_address(), LONG).await;
        let mut tx = caller.begin().await;
        Db::number_in(&mut tx, "SELECT 1::bigint").await.expect("a snapshot");
        caller.store.renew(&mut lease, ttl(LONG)).await.expect("it runs");
        let refusal = caller.store.guard_in(&mut tx, &mut lease).await;
        let error = refusal.expect_err("the snapshot is too old");
        assert!(matches!(error, GuardError::Conflict(_)) && error.is_retryable(), "{error:?}");
        tx.rollback().await.expect("the transaction is rolled back");
        caller.book(&mut lease, "one").await;
    }
}

/// Two guarded transactions each read what the other writes.
#[tokio::test]
async fn a_serialization_failure_loses_nothing() {
    let caller = caller("SERIALIZABLE").await;
    let count = format!("SELECT count(*) FROM {}", caller.orders);
    let mut leases =
        [caller.granted(fresh_address(), LONG).await, caller.granted(fresh_address(), LONG).await];
    let [first, second] = &mut leases;
    let (mut one, mut two) = (caller.begin().await, caller.begin().await);
    let guard_one = caller.guard(&mut one, first).await;
    let guard_two = caller.guard(&mut two, second).await;
    Db::number_in(&mut one, &count).await.expect("a number");
    Db::number_in(&mut two, &count).await.expect("a number");
    caller.order(&mut one, "one").await;
    caller.order(&mut two, "two").await;
    caller.commit(&mut one, guard_one).await.expect("the first is committed");
    one.commit().await.expect("the first is committed");
    match caller.commit(&mut two, guard_two).await {
        Ok(()) => {
            let error = two.commit().await.expect_err("the second has read what was not there");
            assert!(is_conflict(&error), "{error:?}");
        }
        Err(error) => {
            assert!(error.is_retryable(), "{error:?}");
            two.rollback().await.expect("the transaction is rolled back");
        }
    }
    assert_eq!(caller.orders().await, 1);
    caller.book(second, "two").await;
    assert_eq!(caller.orders().await, 2);
}

/// Two guarded transactions wait for each other's rows.
#[tokio::test]
async fn a_deadlock_loses_nothing() {
    for level in LEVELS {
        let caller = caller(level).await;
        let mut tx = caller.begin().await;
        caller.order(&mut tx, "one").await;
        caller.order(&mut tx, "two").await;
        tx.commit().await.expect("two orders");
        super::mysql_or_postgres::deadlock(&caller).await;
    }
}

/// The session is ended from outside, before the commit and after it, and the service hears the
/// same of both.
#[tokio::test]
async fn an_end_that_is_not_heard_is_told_by_the_record() {
    let caller = caller("").await;
    let pid = "SELECT pg_backend_pid()::bigint";
    let address = fresh_address();
    let mut lease = caller.granted(address, LONG).await;
    let mut tx = caller.begin().await;
    let guard = caller.guard(&mut tx, &mut lease).await;
    caller.order(&mut tx, "one").await;
    caller.commit(&mut tx, guard).await.expect("the lease is committed");
    let session = Db::number_in(&mut tx, pid).await.expect("a number");
    let end = format!("SELECT pg_terminate_backend({session}, 5000)::int::bigint");
    assert_eq!(Db::number(&caller.pool, &end).await, 1);
    tx.commit().await.expect_err("the session is gone");
    caller.store.release(&mut lease).await.expect("it was rolled back");
    assert_eq!(caller.orders().await, 0);
    let mut lease = caller.granted(address, LONG).await;
    caller.book(&mut lease, "one").await;
    caller.store.release(&mut lease).await.expect_err("it was committed");
    assert_eq!(caller.orders().await, 1);
}

#[tokio::test]
async fn a_server_that_is_killed_keeps_both_or_neither() {
    let server = Postgres::start(&[]);
    super::mysql_or_postgres::crash(&Caller::<Db>::new(&server.url(), "").await, &server).await;
}
