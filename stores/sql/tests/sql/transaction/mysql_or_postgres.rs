//! What happens on servers: transactions that wait for each other's rows, and a server that is
//! killed.

use leasehold::LeaseStore as _;
use leasehold_sql::is_conflict;
use leasehold_sql_server::Server;

use super::caller::{Caller, LONG, fresh_address};
use super::kinds::Kind;

/// Two guarded transactions each write an order that the other wants next: one is undone, and
/// begins again with its lease.
pub(super) async fn deadlock<DB: Kind>(caller: &Caller<DB>) {
    let change =
        |name: &str| format!("UPDATE {} SET name = name WHERE name = '{name}'", caller.orders);
    let addresses = [fresh_address(), fresh_address()];
    let mut first = caller.granted(addresses[0], LONG).await;
    let mut second = caller.granted(addresses[1], LONG).await;
    let (mut one, mut two) = (caller.begin().await, caller.begin().await);
    let guard_one = caller.guard(&mut one, &mut first).await;
    let guard_two = caller.guard(&mut two, &mut second).await;
    DB::run(&mut one, &change("one")).await.expect("the first has its order");
    DB::run(&mut two, &change("two")).await.expect("the second has its order");
    let (want_two, want_one) = (change("two"), change("one"));
    let (mut ended_one, mut ended_two) = (None, None);
    // Each ends its transaction as soon as it may, since the other waits for it.
    tokio::join!(
        async {
            ended_one = Some(match DB::run(&mut one, &want_two).await {
                Ok(()) => {
                    caller.commit(&mut one, guard_one).await.expect("the lease is committed");
                    one.commit().await
                }
                Err(error) => {
                    one.rollback().await.expect("the transaction is rolled back");
                    Err(error)
                }
            });
        },
        async {
            ended_two = Some(match DB::run(&mut two, &want_one).await {
                Ok(()) => {
                    caller.commit(&mut two, guard_two).await.expect("the lease is committed");
                    two.commit().await
                }
                Err(error) => {
                    two.rollback().await.expect("the transaction is rolled back");
                    Err(error)
                }
            });
        },
    );
    let ends = [(ended_one, first), (ended_two, second)];
    let mut undone = 0;
    for ((end, mut lease), address) in ends.into_iter().zip(addresses) {
        if let Err(error) = end.expect("both have ended") {
            assert!(is_conflict(&error), "{error:?}");
            undone += 1;
            assert!(caller.is_in_flight(address).await);
            caller.book(&mut lease, "again").await;
        }
        assert!(caller.is_completed(address).await);
    }
    // Above READ COMMITTED the one that has waited finds its snapshot too old.
    assert!((1..=2).contains(&undone), "{undone}");
}

/// A server that is killed before `COMMIT` has neither the order nor the success, and one that is
/// killed after it has both.
pub(super) async fn crash<DB: Kind>(caller: &Caller<DB>, server: &Server) {
    let address = fresh_address();
    let mut lease = caller.granted(address, LONG).await;
    let mut tx = caller.begin().await;
    let guard = caller.guard(&mut tx, &mut lease).await;
    caller.order(&mut tx, "one").await;
    caller.commit(&mut tx, guard).await.expect("the lease is committed");
    server.kill();
    tx.commit().await.expect_err("the server is gone");
    server.start_again();
    assert_eq!(caller.orders().await, 0);
    assert!(caller.is_in_flight(address).await);
    caller.book(&mut lease, "one").await;
    server.kill();
    server.start_again();
    assert_eq!(caller.orders().await, 1);
    assert!(caller.is_completed(address).await);
    caller.store.release(&mut lease).await.expect_err("it was committed");
}
