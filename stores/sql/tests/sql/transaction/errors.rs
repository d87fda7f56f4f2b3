//! What refuses a guard or its commit.

use leasehold::LeaseStore as _;
use leasehold_sql::{CommitInError, GuardError};
use sqlx::Connection as _;

use super::caller::{Caller, LONG, fresh_address};
use super::kinds::Kind;

/// All of them.
pub(super) async fn hold<DB: Kind>(caller: &Caller<DB>, other: &Caller<DB>) {
    a_lease_that_was_taken_over_is_not_guarded(caller).await;
    a_lease_that_is_gone_is_not_guarded(caller).await;
    a_late_lease_is_guarded(caller).await;
    commit_of_a_record_that_is_gone_is_superseded(caller).await;
    a_guard_of_an_ended_transaction_commits_nothing_of_anothers(caller).await;
    a_guard_of_another_table_is_refused(caller, other).await;
    a_lease_of_another_table_is_superseded(caller, other).await;
}

async fn refused<DB: Kind>(caller: &Caller<DB>, lease: &mut leasehold::Lease) {
    let mut tx = caller.begin().await;
    let refusal = caller.store.guard_in(&mut tx, lease).await;
    assert!(matches!(refusal, Err(GuardError::Superseded)), "{refusal:?}");
    // It has not ended the transaction.
    caller.order(&mut tx, "one").await;
    tx.rollback().await.expect("the transaction is rolled back");
}

async fn a_lease_that_was_taken_over_is_not_guarded<DB: Kind>(caller: &Caller<DB>) {
    let address = fresh_address();
    let mut first = caller.late(address).await;
    let mut second = caller.granted(address, LONG).await;
    refused(caller, &mut first).await;
    caller.book(&mut second, "two").await;
    refused(caller, &mut first).await;
    assert!(caller.is_completed(address).await);
}

async fn a_lease_that_is_gone_is_not_guarded<DB: Kind>(caller: &Caller<DB>) {
    let address = fresh_address();
    let mut lease = caller.granted(address, LONG).await;
    assert!(caller.store.forget(address).await.expect("the store answers"));
    refused(caller, &mut lease).await;
    let mut lease = caller.granted(address, LONG).await;
    caller.store.release(&mut lease).await.expect("it is released");
    refused(caller, &mut lease).await;
}

async fn a_late_lease_is_guarded<DB: Kind>(caller: &Caller<DB>) {
    let address = fresh_address();
    let mut lease = caller.late(address).await;
    caller.book(&mut lease, "one").await;
    assert!(caller.is_completed(address).await);
}

async fn commit_of_a_record_that_is_gone_is_superseded<DB: Kind>(caller: &Caller<DB>) {
    let address = fresh_address();
    let mut lease = caller.granted(address, LONG).await;
    let mut tx = caller.begin().await;
    let guard = caller.guard(&mut tx, &mut lease).await;
    DB::run(&mut tx, &format!("DELETE FROM {}", caller.records)).await.expect("it is removed");
    let refusal = caller.commit(&mut tx, guard).await;
    assert!(matches!(refusal, Err(CommitInError::Superseded)), "{refusal:?}");
    tx.rollback().await.expect("the transaction is rolled back");
    caller.book(&mut lease, "one").await;
}

/// Its row is not locked any more, and another has taken it over.
async fn a_guard_of_an_ended_transaction_commits_nothing_of_anothers<DB: Kind>(
    caller: &Caller<DB>,
) {
    let address = fresh_address();
    let mut first = caller.late(address).await;
    let mut connection = caller.pool.acquire().await.expect("a connection");
    let mut tx = connection.begin().await.expect("a transaction begins");
    let guard = caller.guard(&mut tx, &mut first).await;
    tx.rollback().await.expect("the transaction is rolled back");
    let mut second = caller.granted(address, LONG).await;
    let mut tx = connection.begin().await.expect("a transaction begins");
    let refusal = caller.commit(&mut tx, guard).await;
    // Not every database can tell the transactions apart, but each the tokens.
    let is_refused =
        matches!(refusal, Err(CommitInError::Superseded | CommitInError::OtherTransaction));
    assert!(is_refused, "{refusal:?}");
    tx.commit().await.expect("nothing was written");
    drop(connection);
    caller.book(&mut second, "two").await;
}

async fn a_guard_of_another_table_is_refused<DB: Kind>(caller: &Caller<DB>, other: &Caller<DB>) {
    let address = fresh_address();
    let mut lease = caller.granted(address, LONG).await;
    let mut tx = caller.begin().await;
    let guard = caller.guard(&mut tx, &mut lease).await;
    let refusal = other.commit(&mut tx, guard).await;
    assert!(matches!(refusal, Err(CommitInError::OtherStore)), "{refusal:?}");
    tx.commit().await.expect("nothing was sent");
    assert!(caller.is_in_flight(address).await);
    caller.store.release(&mut lease).await.expect("it is released");
}

async fn a_lease_of_another_table_is_superseded<DB: Kind>(caller: &Caller<DB>, other: &Caller<DB>) {
    let mut lease = other.granted(fresh_address(), LONG).await;
    refused(caller, &mut lease).await;
    other.book(&mut lease, "one").await;
}

/// A transaction of another kind of database.
#[cfg(all(feature = "postgres", feature = "sqlite"))]
#[tokio::test]
async fn a_transaction_of_another_kind_is_refused_unasked() {
    use leasehold_sql::Dialect;

    use super::caller::{outcome, ttl};

    let (own, folder) = super::sqlite::caller("").await;
    let other = super::postgres::caller("").await;
    let address = fresh_address();
    let mut lease = own.granted(address, LONG).await;
    let mut foreign = other.begin().await;
    let refusal = own.store.guard_in(&mut foreign, &mut lease).await;
    assert!(
        matches!(
            refusal,
            Err(GuardError::OtherDatabase {
                store: Dialect::Sqlite,
                transaction: Dialect::Postgres
            })
        ),
        "{refusal:?}"
    );
    let mut tx = own.begin().await;
    let guard = own.guard(&mut tx, &mut lease).await;
    let refusal = own.store.commit_in(&mut foreign, guard, Some(outcome()), ttl(LONG)).await;
    assert!(matches!(refusal, Err(CommitInError::OtherStore)), "{refusal:?}");
    drop(folder);
}
