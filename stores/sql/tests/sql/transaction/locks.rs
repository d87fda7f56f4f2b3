//! Who waits for whom while a guard holds, on databases that lock rows.

use std::sync::Arc;
use std::time::Duration;

use leasehold::{Admission, LeaseStore as _, RecordState, ReleaseError, StoreError, Terms};
use leasehold_sql::{GuardError, SqlConfig, SqlStore};
use tokio::task::JoinSet;

use super::caller::{Caller, LONG, fresh_address, ttl};
use super::kinds::Kind;

/// Duplicates of one key.
const DUPLICATES: usize = 50;

/// All of them.
pub(super) async fn hold<DB: Kind>(caller: &Caller<DB>) {
    nobody_takes_over_while_a_guard_holds(caller).await;
    duplicates_leave_other_keys_alone(caller).await;
    a_row_that_is_locked_is_not_waited_for(caller).await;
    a_row_that_is_freed_meanwhile_is_guarded(caller).await;
    a_guard_of_another_transaction_commits_nothing(caller).await;
}

/// Also where the lease's time is over.
async fn nobody_takes_over_while_a_guard_holds<DB: Kind>(caller: &Caller<DB>) {
    let address = fresh_address();
    let mut lease = caller.late(address).await;
    let mut tx = caller.begin().await;
    let guard = caller.guard(&mut tx, &mut lease).await;
    assert!(caller.is_in_flight(address).await);
    caller.order(&mut tx, "one").await;
    assert!(caller.is_in_flight(address).await);
    caller.commit(&mut tx, guard).await.expect("the lease is committed");
    assert!(caller.is_in_flight(address).await);
    tx.commit().await.expect("the transaction is committed");
    assert!(caller.is_completed(address).await);
}

async fn duplicates_leave_other_keys_alone<DB: Kind>(caller: &Caller<DB>) {
    let address = fresh_address();
    let mut lease = caller.late(address).await;
    let mut tx = caller.begin().await;
    let guard = caller.guard(&mut tx, &mut lease).await;
    let mut duplicates = JoinSet::new();
    for _ in 0..DUPLICATES {
        let store = caller.store.clone();
        duplicates.spawn(async move { store.acquire(address, Terms::new(ttl(LONG))).await });
    }
    // Over the two connections that the duplicates use.
    for _ in 0..DUPLICATES {
        let mut other = caller.granted(fresh_address(), LONG).await;
        caller.store.commit(&mut other, None, ttl(LONG)).await.expect("it is committed");
    }
    while let Some(answer) = duplicates.join_next().await {
        let answer = answer.expect("no duplicate panics");
        assert!(matches!(answer, Ok(Admission::InFlight { .. })), "{answer:?}");
    }
    caller.commit(&mut tx, guard).await.expect("the lease is committed");
    tx.commit().await.expect("the transaction is committed");
    assert!(caller.is_completed(address).await);
}

/// Locks every record in a transaction of its own.
async fn lock_all<DB: Kind>(caller: &Caller<DB>) -> sqlx::Transaction<'static, DB> {
    let mut tx = caller.begin().await;
    let lock = format!("UPDATE {} SET updated_us = updated_us", caller.records);
    DB::run(&mut tx, &lock).await.expect("the rows are locked");
    tx
}

async fn a_row_that_is_locked_is_not_waited_for<DB: Kind>(caller: &Caller<DB>) {
    let mut lease = caller.granted(fresh_address(), LONG).await;
    let other = lock_all(caller).await;
    let mut tx = caller.begin().await;
    let refusal = caller.store.guard_in(&mut tx, &mut lease).await;
    let error = refusal.expect_err("the row is locked");
    assert!(matches!(error, GuardError::Locked), "{error:?}");
    assert!(error.is_retryable());
    // The transaction is as good as before.
    caller.order(&mut tx, "one").await;
    tx.commit().await.expect("the transaction is committed");
    other.rollback().await.expect("the transaction is rolled back");
    caller.book(&mut lease, "one").await;
}

async fn a_row_that_is_freed_meanwhile_is_guarded<DB: Kind>(caller: &Caller<DB>) {
    let mut lease = caller.granted(fresh_address(), LONG).await;
    let other = lock_all(caller).await;
    let mut tx = caller.begin().await;
    let free = async {
        // The first look is over by then, most likely; either order passes.
        for _ in 0..3 {
            caller.orders().await;
        }
        other.rollback().await.expect("the transaction is rolled back");
    };
    let (guard, ()) = tokio::join!(caller.store.guard_in(&mut tx, &mut lease), free);
    caller.commit(&mut tx, guard.expect("it is free again")).await.expect("it is committed");
    tx.commit().await.expect("the transaction is committed");
}

async fn a_guard_of_another_transaction_commits_nothing<DB: Kind>(caller: &Caller<DB>) {
    let address = fresh_address();
    let mut lease = caller.granted(address, LONG).await;
    let (mut tx, mut other) = (caller.begin().await, caller.begin().await);
    let guard = caller.guard(&mut tx, &mut lease).await;
    // It answers although the row is locked.
    let refusal = caller.commit(&mut other, guard).await;
    let error = refusal.expect_err("the guard is of another transaction");
    assert!(matches!(error, leasehold_sql::CommitInError::OtherTransaction), "{error:?}");
    tx.rollback().await.expect("the transaction is rolled back");
    other.rollback().await.expect("the transaction is rolled back");
    assert!(caller.is_in_flight(address).await);
    let released: Result<_, StoreError> = caller.store.forget(address).await;
    assert!(released.expect("the store answers"));
}

/// The service has not heard how its transaction ended, the lease's grace is over meanwhile, and
/// the server still has the transaction: *done* would mean that it was rolled back.
pub(super) async fn a_release_is_not_told_done_while_a_guard_may_still_commit<DB: Kind>(
    caller: &Caller<DB>,
    url: &str,
) {
    let config = SqlConfig::new(url).table(caller.records.as_str()).late_grace(Duration::ZERO);
    let config = config.store_timeout(Duration::from_secs(2));
    let store = Arc::new(SqlStore::connect(config).await.expect("the database is there"));
    let Caller { pool, orders, records, .. } = caller;
    let (pool, orders, records) = (pool.clone(), orders.clone(), records.clone());
    let caller = &Caller { store, pool, orders, records };
    // Ends: with the first lease that is not over before it is guarded.
    for millis in [100, 1_000, 10_000] {
        let address = fresh_address();
        let mut lease = caller.granted(address, Duration::from_millis(millis)).await;
        let mut tx = caller.begin().await;
        let Ok(guard) = caller.store.guard_in(&mut tx, &mut lease).await else { continue };
        caller.commit(&mut tx, guard).await.expect("the lease is committed");
        // Ends: with the lease, by the database's clock.
        while caller.peek(address).await != RecordState::Free {}
        let refusal = caller.store.release(&mut lease).await;
        assert!(matches!(refusal, Err(ReleaseError::Unavailable(_))), "{refusal:?}");
        tx.commit().await.expect("the transaction is committed");
        let refusal = caller.store.release(&mut lease).await;
        assert!(matches!(refusal, Err(ReleaseError::Superseded)), "{refusal:?}");
        assert!(caller.is_completed(address).await);
        return;
    }
    panic!("no lease was guarded in its time");
}
