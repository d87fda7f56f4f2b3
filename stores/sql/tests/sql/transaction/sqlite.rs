//! The laws on SQLite, whose transactions exclude each other whatever they write.

use leasehold::{LeaseStore as _, RecordState};
use leasehold_sql::{GuardError, is_conflict};
use sqlx::Sqlite as Db;
use tempfile::TempDir;

use super::caller::{Caller, LONG, fresh_address, ttl};
use super::kinds::Kind as _;
use super::{ends, errors, rivals};

/// A caller with a file of its own, and the folder that has it.
pub(super) async fn caller(first: &str) -> (Caller<Db>, TempDir) {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let url = format!("sqlite:{}", folder.path().join("leases").display());
    (Caller::new(&url, first).await, folder)
}

#[tokio::test]
async fn a_transaction_ends_with_its_record() {
    let (caller, _folder) = caller("").await;
    ends::hold(&caller).await;
    ends::a_guard_that_is_given_up_leaves_the_lease_as_it_was(&caller).await;
}

#[tokio::test]
async fn leases_that_are_not_the_callers_are_refused() {
    let (one, folder) = caller("").await;
    let url = format!("sqlite:{}", folder.path().join("leases").display());
    let other = Caller::new(&url, "").await;
    errors::hold(&one, &other).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_waiter_runs_next() {
    let (caller, _folder) = caller("").await;
    rivals::one_waiter_runs_after_a_holder_that_rolled_back(&caller).await;
}

/// Also where the lease's time is over: the transaction is the one that writes.
#[tokio::test]
async fn nobody_takes_over_while_a_guard_holds() {
    let (caller, _folder) = caller("").await;
    let address = fresh_address();
    let mut lease = caller.late(address).await;
    let mut tx = caller.begin().await;
    let guard = caller.guard(&mut tx, &mut lease).await;
    caller.order(&mut tx, "one").await;
    let rival = caller.store.acquire(address, leasehold::Terms::new(ttl(LONG)));
    let commit = async {
        // Its answer may come before the transaction's end or after it; it is granted in neither.
        for _ in 0..3 {
            caller.orders().await;
        }
        caller.commit(&mut tx, guard).await.expect("the lease is committed");
        tx.commit().await.expect("the transaction is committed");
    };
    let (answer, ()) = tokio::join!(rival, commit);
    assert!(!matches!(answer, Ok(leasehold::Admission::Granted(_))), "{answer:?}");
    assert!(caller.is_completed(address).await);
}

/// What is live is answered without a write, so duplicates wait for nobody.
#[tokio::test]
async fn duplicates_of_a_live_key_are_answered_while_a_guard_holds() {
    let (caller, _folder) = caller("").await;
    let kept = fresh_address();
    let mut lease = caller.granted(kept, LONG).await;
    caller.book(&mut lease, "one").await;
    let address = fresh_address();
    let mut lease = caller.granted(address, LONG).await;
    let mut tx = caller.begin().await;
    let guard = caller.guard(&mut tx, &mut lease).await;
    for _ in 0..50 {
        assert!(caller.is_in_flight(address).await);
        assert!(caller.is_completed(kept).await);
    }
    caller.commit(&mut tx, guard).await.expect("the lease is committed");
    tx.commit().await.expect("the transaction is committed");
}

/// A guard makes a transaction that has written nothing the one that writes, also where it finds
/// nothing to guard.
#[tokio::test]
async fn a_deferred_transaction_becomes_the_one_that_writes() {
    let (caller, _folder) = caller("PRAGMA busy_timeout = 0").await;
    let (address, gone) = (fresh_address(), fresh_address());
    let mut lease = caller.granted(address, LONG).await;
    let mut tx = caller.begin().await;
    let guard = caller.guard(&mut tx, &mut lease).await;
    let mut other = caller.begin().await;
    let insert = format!("INSERT INTO {} VALUES ('two')", caller.orders);
    let error = Db::run(&mut other, &insert).await.expect_err("another is the one that writes");
    assert!(is_conflict(&error), "{error:?}");
    other.rollback().await.expect("the transaction is rolled back");
    caller.commit(&mut tx, guard).await.expect("the lease is committed");
    tx.commit().await.expect("the transaction is committed");
    let mut lease = caller.granted(gone, LONG).await;
    caller.store.forget(gone).await.expect("the store answers");
    let mut tx = caller.begin().await;
    let refusal = caller.store.guard_in(&mut tx, &mut lease).await;
    assert!(matches!(refusal, Err(GuardError::Superseded)), "{refusal:?}");
    let mut other = caller.begin().await;
    Db::run(&mut other, &insert).await.expect_err("another is the one that writes");
    assert_eq!(caller.peek(gone).await, RecordState::Free);
}

/// A transaction that cannot become the one that writes says so, and the lease is none the worse.
#[tokio::test]
async fn a_guard_that_cannot_write_is_a_conflict() {
    let (caller, _folder) = caller("PRAGMA busy_timeout = 0").await;
    let mut lease = caller.granted(fresh_address(), LONG).await;
    let mut writer = caller.begin().await;
    caller.order(&mut writer, "one").await;
    let mut tx = caller.begin().await;
    let refusal = caller.store.guard_in(&mut tx, &mut lease).await;
    let error = refusal.expect_err("another is the one that writes");
    assert!(matches!(error, GuardError::Conflict(_)) && error.is_retryable(), "{error:?}");
    tx.rollback().await.expect("the transaction is rolled back");
    writer.commit().await.expect("the transaction is committed");
    // It has read, and the lease was renewed since: what it reads is too old to write on.
    let mut tx = caller.begin().await;
    Db::number_in(&mut tx, "SELECT count(*) FROM sqlite_schema").await.expect("a snapshot");
    caller.store.renew(&mut lease, ttl(LONG)).await.expect("it runs");
    let refusal = caller.store.guard_in(&mut tx, &mut lease).await;
    assert!(matches!(refusal, Err(GuardError::Conflict(_))), "{refusal:?}");
    tx.rollback().await.expect("the transaction is rolled back");
    caller.book(&mut lease, "two").await;
}
