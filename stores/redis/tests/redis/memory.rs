//! A server whose memory is full: it refuses what is new, and keeps its word about what is there.

use std::time::Duration;

use leasehold::{
    AcquireError, Admission, AttachError, CommitError, LeaseStore as _, RecordState, Terms,
};
use leasehold_redis::{ConnectError, RedisConfig, RedisStore};
use leasehold_redis_server::Server;

use crate::keys::{LONG, fresh_address, granted, long_terms, outcome, server, store, ttl};

#[tokio::test(flavor = "multi_thread")]
async fn full_server_refuses_new_keys_alone() {
    let server = server();
    let store = store(&server.url()).await;
    let (running, bare) = (fresh_address(), fresh_address());
    let mut first = granted(store.acquire(running, long_terms()).await);
    let mut second = granted(store.acquire(bare, long_terms()).await);
    store.commit(&mut second, None, ttl(LONG)).await.expect("committed");
    assert_eq!(server.ask(&["CONFIG", "SET", "maxmemory", "1"]), "+OK");

    let answer = store.acquire(fresh_address(), long_terms()).await;
    assert!(matches!(answer, Err(AcquireError::Full)), "{answer:?}");
    let answer = store.acquire(running, long_terms()).await;
    assert!(matches!(answer, Ok(Admission::InFlight { .. })), "{answer:?}");
    let answer = store.attach(&second, outcome("body")).await;
    assert!(matches!(answer, Err(AttachError::NoRoom)), "{answer:?}");
    store.renew(&mut first, ttl(LONG)).await.expect("renewed");
    store.commit(&mut first, Some(outcome("body")), ttl(LONG)).await.expect("the work was done");
    let state = store.peek(running).await.expect("an answer");
    assert!(matches!(state, RecordState::Completed { replayable: false, .. }), "{state:?}");
    store.commit(&mut first, None, ttl(LONG)).await.expect("a repetition is done");

    assert_eq!(server.ask(&["CONFIG", "SET", "maxmemory", "0"]), "+OK");
    let _lease = granted(store.acquire(fresh_address(), long_terms()).await);
    store.attach(&first, outcome("body")).await.expect("there is room again");
}

/// The record of a lease that is over is there for its grace, and does not grow.
#[tokio::test(flavor = "multi_thread")]
async fn full_server_lets_an_ended_lease_be_taken_over() {
    let server = server();
    let store = store(&server.url()).await;
    let address = fresh_address();
    let short = Terms::new(ttl(Duration::from_millis(50)));
    let mut late = granted(store.acquire(address, short).await);
    assert_eq!(server.ask(&["CONFIG", "SET", "maxmemory", "1"]), "+OK");
    // Ends: with the lease, or by a refusal.
    let second = loop {
        match store.acquire(address, long_terms()).await {
            Ok(Admission::InFlight { .. }) => tokio::time::sleep(Duration::from_millis(5)).await,
            answer => break granted(answer),
        }
    };
    assert!(second.token() > late.token());
    let answer = store.commit(&mut late, None, ttl(LONG)).await;
    assert!(matches!(answer, Err(CommitError::Superseded)), "{answer:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn server_that_may_evict_is_refused_unless_allowed() {
    for policy in ["volatile-ttl", "allkeys-lru"] {
        let server = Server::start(&["--maxmemory-policy", policy]);
        let config = || RedisConfig::new(server.url());
        match RedisStore::connect(config()).await {
            Err(ConnectError::Eviction { policy: told }) => assert_eq!(told, policy),
            answer => panic!("{answer:?}"),
        }
        let allowed = RedisStore::connect(config().allow_eviction(true)).await;
        let _lease =
            granted(allowed.expect("allowed").acquire(fresh_address(), long_terms()).await);
    }
}
