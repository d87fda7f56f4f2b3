//! Many who want one key, of which one runs.

use leasehold::{Admission, LeaseStore as _, Terms};
use tokio::task::JoinSet;

use super::caller::{Caller, LONG, fresh_address, ttl};
use super::kinds::Kind;

/// Waiters for one key.
const WAITERS: usize = 10;

/// Ten waiters on a holder that rolls back: each asks until it is granted or told *completed*. One
/// runs next, once the holder has released, and nobody after it.
pub(super) async fn one_waiter_runs_after_a_holder_that_rolled_back<DB: Kind>(caller: &Caller<DB>) {
    let (address, before) = (fresh_address(), caller.orders().await);
    let mut lease = caller.granted(address, LONG).await;
    let mut tx = caller.begin().await;
    let guard = caller.guard(&mut tx, &mut lease).await;
    caller.order(&mut tx, "holder").await;
    let mut waiters = JoinSet::new();
    let (tell, mut told) = tokio::sync::mpsc::channel(WAITERS);
    for _ in 0..WAITERS {
        let (store, tell) = (caller.store.clone(), tell.clone());
        waiters.spawn(async move {
            let mut refusals = 0_u32;
            // Ends: with the holder, or with the waiter that runs next.
            loop {
                match store.acquire(address, Terms::new(ttl(LONG))).await {
                    Ok(Admission::InFlight { .. }) => {
                        refusals += 1;
                        if refusals == 1 {
                            tell.send(()).await.expect("the test listens");
                        }
                    }
                    answer => return answer,
                }
            }
        });
    }
    for _ in 0..WAITERS {
        told.recv().await.expect("every waiter is told to wait");
    }
    drop(guard);
    tx.rollback().await.expect("the transaction is rolled back");
    caller.store.release(&mut lease).await.expect("it is released");
    let (mut runs, mut replays) = (0, 0);
    while let Some(answer) = waiters.join_next().await {
        match answer.expect("no waiter panics").expect("the store answers") {
            Admission::Granted(mut lease) => {
                runs += 1;
                caller.book(&mut lease, "waiter").await;
            }
            Admission::Completed { .. } => replays += 1,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((runs, replays), (1, WAITERS - 1));
    assert_eq!(caller.orders().await, before + 1);
}
