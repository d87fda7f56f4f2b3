//! Servers that forget scripts, kill clients, pause, freeze, die and come back, between any two
//! verbs: either nothing shows, or a bounded *unavailable*, and everything works afterwards.

use std::cell::Cell;
use std::time::Duration;

use leasehold::{
    AcquireError, Admission, AttachError, LeaseStore, RecordState, StoreError, StoreErrorKind,
};
use leasehold_redis::{RedisConfig, RedisStore};
use leasehold_redis_server::{Cluster, Server};
use tokio::time::Instant;

use crate::keys::{
    LONG, connect, fresh_address, granted, long_terms, outcome, recovered, server, store, ttl,
    works,
};

/// Short enough to wait for, long enough for a busy machine to answer within.
const TIMEOUT: Duration = Duration::from_secs(1);

/// The whole way of a lease, with a fault before each verb that shows nothing.
async fn nothing_shows(store: &RedisStore, fault: impl Fn()) {
    for _ in 0..3 {
        let address = fresh_address();
        fault();
        let mut lease = granted(store.acquire(address, long_terms()).await);
        fault();
        let answer = store.acquire(address, long_terms()).await;
        assert!(matches!(answer, Ok(Admission::InFlight { .. })), "{answer:?}");
        fault();
        store.renew(&mut lease, ttl(LONG)).await.expect("renewed");
        fault();
        store.commit(&mut lease, None, ttl(LONG)).await.expect("committed");
        fault();
        match store.attach(&lease, outcome("body")).await {
            // What breaks a connection may leave this one unknown.
            Ok(()) | Err(AttachError::Unavailable(_)) => {}
            answer => panic!("{answer:?}"),
        }
        fault();
        let state = store.peek(address).await.expect("an answer");
        assert!(matches!(state, RecordState::Completed { .. }), "{state:?}");
        fault();
        let released = granted(store.acquire(fresh_address(), long_terms()).await);
        fault();
        store.release(&mut { released }).await.expect("released");
        fault();
        let terms = long_terms();
        let abandoned = fresh_address();
        let _lease = granted(store.acquire(abandoned, terms).await);
        fault();
        store.abandon(abandoned, terms.attempt).await.expect("abandoned");
        assert_eq!(store.peek(abandoned).await.expect("an answer"), RecordState::Free);
    }
}

/// Kills the connections of all clients, and gives their number: one that is only being made is
/// none yet.
fn kill_clients(server: &Server) -> u64 {
    let killed = server.ask(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
    killed.parse().expect("a number")
}

#[tokio::test(flavor = "multi_thread")]
async fn flushed_scripts_show_nothing() {
    let server = server();
    let store = store(&server.url()).await;
    nothing_shows(&store, || assert_eq!(server.ask(&["SCRIPT", "FLUSH"]), "+OK")).await;
    server.ask(&["SCRIPT", "FLUSH"]);
    assert!(!store.forget(fresh_address()).await.expect("an answer"));
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_connections_show_nothing() {
    let server = server();
    let store = store(&server.url()).await;
    let killed = Cell::new(0);
    nothing_shows(&store, || killed.set(killed.get() + kill_clients(&server))).await;
    assert!(killed.get() > 10, "{} connections were there to be killed", killed.get());
}

#[tokio::test(flavor = "multi_thread")]
async fn server_that_dies_is_unreachable_until_it_is_back() {
    let arguments = ["--maxmemory-policy", "noeviction", "--appendonly", "yes"];
    let server = Server::start(&[&arguments[..], &["--appendfsync", "always"]].concat());
    let store = connect(RedisConfig::new(server.url()).store_timeout(TIMEOUT)).await;
    let address = fresh_address();
    let mut lease = granted(store.acquire(address, long_terms()).await);
    server.kill();
    let begun = Instant::now();
    // What notices the death may have been sent; what comes after it is not.
    let _ = store.peek(address).await.expect_err("the server is dead");
    let error = store.peek(address).await.expect_err("the server is dead");
    assert_eq!(error.kind(), StoreErrorKind::Unreachable);
    assert!(begun.elapsed() < 4 * TIMEOUT);
    server.start_again();
    recovered(&store).await;
    store.commit(&mut lease, None, ttl(LONG)).await.expect("the lease is in the file");
    works(&store).await;
}

/// A frozen server: each call ends, and says that it does not know.
#[tokio::test(flavor = "multi_thread")]
async fn frozen_server_is_a_bounded_unavailable() {
    let server = server();
    let store = connect(RedisConfig::new(server.url()).store_timeout(TIMEOUT)).await;
    works(&store).await;
    server.freeze();
    let terms = long_terms();
    let address = fresh_address();
    let begun = Instant::now();
    match store.acquire(address, terms).await {
        Err(AcquireError::Unavailable(error)) => assert!(error.is_outcome_unknown(), "{error:?}"),
        answer => panic!("{answer:?}"),
    }
    for _ in 0..3 {
        let error = store.abandon(address, terms.attempt).await.expect_err("it is frozen");
        assert!(error.is_transient(), "{error:?}");
    }
    assert!(begun.elapsed() < 8 * TIMEOUT);
    server.thaw();
    recovered(&store).await;
    // The acquire may have landed after the thaw, and nobody holds its lease.
    store.abandon(address, terms.attempt).await.expect("abandoned");
    let mut lease = granted(store.acquire(address, long_terms()).await);
    store.release(&mut lease).await.expect("released");
    works(&store).await;
}

/// As a server does it while an operator moves its clients elsewhere.
#[tokio::test(flavor = "multi_thread")]
async fn paused_server_shows_nothing_or_a_bounded_unavailable() {
    let server = server();
    let short = connect(RedisConfig::new(server.url()).store_timeout(TIMEOUT)).await;
    let patient = store(&server.url()).await;
    assert_eq!(server.ask(&["CLIENT", "PAUSE", "2500", "ALL"]), "+OK");
    let address = fresh_address();
    let (hasty, calm) = tokio::join!(
        short.acquire(address, long_terms()),
        patient.acquire(fresh_address(), long_terms())
    );
    assert!(matches!(hasty, Err(AcquireError::Unavailable(_))), "{hasty:?}");
    let mut lease = granted(calm);
    patient.commit(&mut lease, None, ttl(LONG)).await.expect("committed");
    recovered(&short).await;
    works(&short).await;
}

/// A node of a cluster that freezes takes only its own keys with it.
#[tokio::test(flavor = "multi_thread")]
async fn frozen_node_of_a_cluster_takes_only_its_own_keys() {
    let cluster = Cluster::start();
    let store = connect(RedisConfig::new(cluster.url()).store_timeout(TIMEOUT)).await;
    nothing_shows(&store, || {
        for node in cluster.nodes() {
            assert_eq!(node.ask(&["SCRIPT", "FLUSH"]), "+OK");
        }
    })
    .await;
    cluster.nodes()[0].freeze();
    let (mut answered, mut silent) = (0, 0);
    for _ in 0..8 {
        match store.peek(fresh_address()).await {
            Ok(state) => {
                assert_eq!(state, RecordState::Free);
                answered += 1;
            }
            Err(error) => {
                assert!(StoreError::is_transient(&error), "{error:?}");
                silent += 1;
            }
        }
    }
    cluster.nodes()[0].thaw();
    assert!(answered > 0, "{silent} of 8 keys are out of reach, of which a third should be");
    for _ in 0..8 {
        recovered(&store).await;
    }
    works(&store).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_connections_of_a_cluster_show_nothing() {
    let cluster = Cluster::start();
    let url = format!("redis-cluster://127.0.0.1:{}", cluster.nodes()[1].port());
    let store = store(&url).await;
    let killed = Cell::new(0);
    nothing_shows(&store, || {
        killed.set(killed.get() + cluster.nodes().iter().map(kill_clients).sum::<u64>());
    })
    .await;
    assert!(killed.get() > 10, "{} connections were there to be killed", killed.get());
}
