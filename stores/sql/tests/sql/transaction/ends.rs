//! How a transaction ends, and what the record is then. Each law is for every database and every
//! isolation level.

use leasehold::{CommitError, LeaseStore as _, RecordState, ReleaseError};
use leasehold_sql::GuardError;

use super::caller::{Caller, LONG, fresh_address, outcome, ttl};
use super::kinds::Kind;

/// All of them.
pub(super) async fn hold<DB: Kind>(caller: &Caller<DB>) {
    committed_work_and_its_record_appear_at_once(caller).await;
    rolled_back_work_leaves_the_lease_as_it_was(caller).await;
    a_dropped_transaction_is_rolled_back(caller).await;
    a_dropped_guard_commits_nothing(caller).await;
    a_committed_lease_is_never_guarded_again(caller).await;
    a_rolled_back_lease_may_be_guarded_again(caller).await;
}

async fn committed_work_and_its_record_appear_at_once<DB: Kind>(caller: &Caller<DB>) {
    let (address, before) = (fresh_address(), caller.orders().await);
    let mut lease = caller.granted(address, LONG).await;
    let mut tx = caller.begin().await;
    let guard = caller.guard(&mut tx, &mut lease).await;
    caller.order(&mut tx, "one").await;
    caller.commit(&mut tx, guard).await.expect("the lease is committed");
    assert!(caller.is_in_flight(address).await);
    assert_eq!(caller.orders().await, before);
    tx.commit().await.expect("the transaction is committed");
    assert!(caller.is_completed(address).await);
    assert_eq!(caller.orders().await, before + 1);
    // The lease is settled as by the store's own commit.
    let again = caller.store.commit(&mut lease, Some(outcome()), ttl(LONG)).await;
    assert!(again.is_ok(), "{again:?}");
}

async fn rolled_back_work_leaves_the_lease_as_it_was<DB: Kind>(caller: &Caller<DB>) {
    let (address, before) = (fresh_address(), caller.orders().await);
    let mut lease = caller.granted(address, LONG).await;
    let mut tx = caller.begin().await;
    let guard = caller.guard(&mut tx, &mut lease).await;
    caller.order(&mut tx, "one").await;
    caller.commit(&mut tx, guard).await.expect("the lease is committed");
    tx.rollback().await.expect("the transaction is rolled back");
    assert_eq!(caller.orders().await, before);
    assert!(caller.is_in_flight(address).await);
    caller.store.renew(&mut lease, ttl(LONG)).await.expect("it still runs");
    caller.store.release(&mut lease).await.expect("it is released");
    assert_eq!(caller.peek(address).await, RecordState::Free);
}

async fn a_dropped_transaction_is_rolled_back<DB: Kind>(caller: &Caller<DB>) {
    let (address, before) = (fresh_address(), caller.orders().await);
    let mut lease = caller.granted(address, LONG).await;
    let mut tx = caller.begin().await;
    let guard = caller.guard(&mut tx, &mut lease).await;
    caller.order(&mut tx, "one").await;
    caller.commit(&mut tx, guard).await.expect("the lease is committed");
    drop(tx);
    caller.store.release(&mut lease).await.expect("it is released once that is done");
    assert_eq!(caller.orders().await, before);
    assert_eq!(caller.peek(address).await, RecordState::Free);
}

async fn a_dropped_guard_commits_nothing<DB: Kind>(caller: &Caller<DB>) {
    let address = fresh_address();
    let mut lease = caller.granted(address, LONG).await;
    let mut tx = caller.begin().await;
    drop(caller.guard(&mut tx, &mut lease).await);
    tx.commit().await.expect("the transaction is committed");
    assert!(caller.is_in_flight(address).await);
    caller.store.commit(&mut lease, Some(outcome()), ttl(LONG)).await.expect("it still runs");
}

/// A service that has not heard how its transaction ended asks the record.
async fn a_committed_lease_is_never_guarded_again<DB: Kind>(caller: &Caller<DB>) {
    let address = fresh_address();
    let mut lease = caller.granted(address, LONG).await;
    caller.book(&mut lease, "one").await;
    let mut tx = caller.begin().await;
    let refusal = caller.store.guard_in(&mut tx, &mut lease).await;
    assert!(matches!(refusal, Err(GuardError::Committed)), "{refusal:?}");
    tx.rollback().await.expect("the transaction is rolled back");
    let refusal = caller.store.release(&mut lease).await;
    assert!(matches!(refusal, Err(ReleaseError::Superseded)), "{refusal:?}");
    assert!(caller.is_completed(address).await);
}

async fn a_rolled_back_lease_may_be_guarded_again<DB: Kind>(caller: &Caller<DB>) {
    let (address, before) = (fresh_address(), caller.orders().await);
    let mut lease = caller.granted(address, LONG).await;
    for _ in 0..2 {
        let mut tx = caller.begin().await;
        drop(caller.guard(&mut tx, &mut lease).await);
        caller.order(&mut tx, "one").await;
        tx.rollback().await.expect("the transaction is rolled back");
    }
    caller.book(&mut lease, "one").await;
    assert_eq!(caller.orders().await, before + 1);
    caller.store.forget(address).await.expect("the store answers");
    let refusal = caller.store.commit(&mut lease, None, ttl(LONG)).await;
    assert!(matches!(refusal, Err(CommitError::Superseded)), "{refusal:?}");
}

/// Dropped wherever it is: before the first byte, on the way, or after the answer. (Not for MySQL,
/// whose driver loses its place in what the server says when a statement is dropped that it
/// prepares.)
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub(super) async fn a_guard_that_is_given_up_leaves_the_lease_as_it_was<DB: Kind>(
    caller: &Caller<DB>,
) {
    let mut lease = caller.granted(fresh_address(), LONG).await;
    for micros in [0, 50, 100, 200, 400, 800, 1_600] {
        let mut tx = caller.begin().await;
        let guard = caller.store.guard_in(&mut tx, &mut lease);
        let _ = tokio::time::timeout(std::time::Duration::from_micros(micros), guard).await;
        tx.rollback().await.expect("the transaction is rolled back");
    }
    caller.book(&mut lease, "one").await;
}
