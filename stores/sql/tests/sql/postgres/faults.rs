//! A server that kills connections, freezes, dies and comes back, between any two verbs and within
//! them: either nothing shows, or a bounded *unavailable*, and everything works afterwards.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use leasehold::{
    AcquireError, Address, Admission, CommitError, LeaseStore as _, RecordState, StoreErrorKind,
};
use leasehold_sql::SqlStore;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::faults::nothing_shows;
use crate::keys::{
    LONG, config, connect, fresh_address, granted, long_terms, outcome, recovered, ttl, works,
};
use crate::postgres::{server, shared, url_as};

/// Short enough to wait for, long enough for a busy machine to answer within.
const TIMEOUT: Duration = Duration::from_secs(2);

#[tokio::test(flavor = "multi_thread")]
async fn killed_connections_show_nothing() {
    let store = connect(config(url_as("killed"))).await;
    let killed = AtomicUsize::new(0);
    let kill = "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity \
                WHERE application_name = 'killed'";
    nothing_shows(&store, || {
        let count: usize = shared().ask(kill).parse().expect("a number");
        // `Relaxed`: this test's one task counts.
        killed.fetch_add(count, Ordering::Relaxed);
    })
    .await;
    let killed = killed.into_inner();
    assert!(killed > 10, "{killed} connections were there to be killed");
}

#[tokio::test(flavor = "multi_thread")]
async fn kill_and_restart_between_two_verbs_show_nothing() {
    let server = server();
    let store = connect(config(server.url())).await;
    nothing_shows(&store, || {
        server.kill();
        server.start_again();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn restart_in_order_between_two_verbs_shows_nothing() {
    let server = server();
    let store = connect(config(server.url())).await;
    nothing_shows(&store, || {
        server.stop();
        server.start_again();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn server_that_dies_is_unreachable_until_it_is_back() {
    let server = server();
    let store = connect(config(server.url()).store_timeout(TIMEOUT)).await;
    let address = fresh_address();
    let mut lease = granted(store.acquire(address, long_terms()).await);
    server.kill();
    let begun = Instant::now();
    // Its connection broke under it, and no other is had: what was sent may have been done.
    match store.commit(&mut lease, None, ttl(LONG)).await {
        Err(CommitError::Unavailable(error)) => assert!(error.is_outcome_unknown(), "{error:?}"),
        answer => panic!("{answer:?}"),
    }
    let error = store.peek(address).await.expect_err("the server is dead");
    assert_eq!(error.kind(), StoreErrorKind::Unreachable);
    assert!(begun.elapsed() < 4 * TIMEOUT);
    server.start_again();
    recovered(&store).await;
    store.commit(&mut lease, None, ttl(LONG)).await.expect("the lease is in the file");
    works(&store).await;
}

/// A server that is stopped where it is: each call ends, and says that it does not know.
#[tokio::test(flavor = "multi_thread")]
async fn paused_server_is_a_bounded_unavailable() {
    let server = server();
    let store = connect(config(server.url()).store_timeout(TIMEOUT)).await;
    works(&store).await;
    server.pause();
    let terms = long_terms();
    let address = fresh_address();
    let begun = Instant::now();
    match store.acquire(address, terms).await {
        Err(AcquireError::Unavailable(error)) => assert!(error.is_outcome_unknown(), "{error:?}"),
        answer => panic!("{answer:?}"),
    }
    for _ in 0..3 {
        let error = store.abandon(address, terms.attempt).await.expect_err("it is paused");
        assert!(error.is_transient(), "{error:?}");
    }
    assert!(begun.elapsed() < 8 * TIMEOUT);
    server.resume();
    recovered(&store).await;
    // The acquire may have landed, and nobody holds its lease.
    store.abandon(address, terms.attempt).await.expect("abandoned");
    let mut lease = granted(store.acquire(address, long_terms()).await);
    store.release(&mut lease).await.expect("released");
    works(&store).await;
}

/// What one caller was told of one key before the server died.
struct Told {
    address: Address,
    committed: bool,
}

/// Runs keys one after another until the store does not answer.
async fn runs_keys(store: Arc<SqlStore>, done: Arc<AtomicUsize>) -> Vec<Told> {
    let mut told = Vec::new();
    // Ends: with the first call that is not answered.
    loop {
        let address = fresh_address();
        match store.acquire(address, long_terms()).await {
            Ok(Admission::Granted(mut lease)) => {
                let body = outcome(address.as_bytes().to_vec());
                let committed = store.commit(&mut lease, Some(body), ttl(LONG)).await.is_ok();
                told.push(Told { address, committed });
                if !committed {
                    return told;
                }
            }
            Err(AcquireError::Unavailable(_)) => return told,
            answer => panic!("{answer:?}"),
        }
        // `Relaxed`: only that it gets there is waited for.
        done.fetch_add(1, Ordering::Relaxed);
    }
}

/// The server dies under sixteen callers, each in the middle of some step.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_confirmed_outlives_a_server_that_is_killed() {
    let server = server();
    let store = Arc::new(connect(config(server.url())).await);
    for _ in 0..3 {
        let done = Arc::new(AtomicUsize::new(0));
        let mut callers = JoinSet::new();
        for _ in 0..16 {
            callers.spawn(runs_keys(Arc::clone(&store), Arc::clone(&done)));
        }
        // `Relaxed`: see `runs_keys`. Ends: the callers go on until the server dies.
        while done.load(Ordering::Relaxed) < 300 {
            tokio::task::yield_now().await;
        }
        server.kill();
        let told: Vec<Told> = callers.join_all().await.into_iter().flatten().collect();
        assert!(told.iter().filter(|told| told.committed).count() >= 300);
        server.start_again();
        recovered(&store).await;
        for Told { address, committed } in told {
            match store.acquire(address, long_terms()).await {
                Ok(Admission::Completed { outcome: Some(kept), .. }) => {
                    assert_eq!(&kept.as_bytes()[..], address.as_bytes());
                }
                // The commit's answer was lost, and the commit too.
                Ok(Admission::InFlight { .. }) if !committed => {}
                answer => panic!("{answer:?}, and it was committed: {committed}"),
            }
        }
    }
}

/// A server that goes away while a hundred callers wait: all of them are told, and none of their
/// connections is used again.
#[tokio::test(flavor = "multi_thread")]
async fn callers_of_a_paused_server_are_all_told_and_served_afterwards() {
    let server = server();
    let store = Arc::new(connect(config(server.url()).store_timeout(TIMEOUT)).await);
    works(&*store).await;
    server.pause();
    let mut callers = JoinSet::new();
    for _ in 0..100 {
        let store = Arc::clone(&store);
        callers.spawn(async move { store.peek(fresh_address()).await });
    }
    for answer in callers.join_all().await {
        assert!(answer.expect_err("the server is paused").is_transient());
    }
    server.resume();
    recovered(&*store).await;
    for _ in 0..100 {
        assert_eq!(store.peek(fresh_address()).await.expect("an answer"), RecordState::Free);
    }
    works(&*store).await;
}

/// Each write takes a minute, and nobody waits that long: the server gives up with the caller.
#[tokio::test(flavor = "multi_thread")]
async fn server_does_not_go_on_for_a_caller_who_has_left() {
    let config = config(url_as("left")).store_timeout(TIMEOUT);
    let table = config.table.clone();
    let store = connect(config).await;
    shared().ask(&format!(
        "CREATE FUNCTION {table}_wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
             PERFORM pg_sleep(60);
             RETURN NULL;
         END $$;
         CREATE TRIGGER wait BEFORE INSERT ON {table}
             FOR EACH STATEMENT EXECUTE FUNCTION {table}_wait();"
    ));
    let begun = Instant::now();
    let address = fresh_address();
    match store.acquire(address, long_terms()).await {
        Err(AcquireError::Unavailable(error)) => assert!(error.is_outcome_unknown(), "{error:?}"),
        answer => panic!("{answer:?}"),
    }
    let ask = "SELECT count(*) FROM pg_stat_activity \
               WHERE application_name = 'left' AND state = 'active'";
    // Ends: with the statement, whose minute would be seen below.
    while shared().ask(ask) != "0" {
        tokio::task::yield_now().await;
    }
    assert!(begun.elapsed() < Duration::from_secs(50));
    assert_eq!(store.peek(address).await.expect("an answer"), RecordState::Free);
}
