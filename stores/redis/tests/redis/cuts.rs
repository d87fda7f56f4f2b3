//! Connections that break at every byte of a request and of a reply, and ones that go silent.

use std::time::Duration;

use leasehold::{Admission, AttachError, LeaseStore as _, RecordState, StoreError, StoreErrorKind};
use leasehold_redis::RedisConfig;

use crate::keys::{
    LONG, connect, fresh_address, granted, long_terms, outcome, recovered, server, store, ttl,
    works,
};
use crate::proxy::{Proxy, Way};

/// Runs a scenario with a cut after each number of bytes, one way and the other, until one is so
/// long that nothing is cut any more.
async fn at_every_byte(proxy: &Proxy, mut scenario: impl AsyncFnMut()) {
    for way in [Way::Request, Way::Reply] {
        let mut cuts = 0;
        // Ends: a request and its reply have an end.
        loop {
            proxy.cut_after(way, cuts);
            scenario().await;
            if proxy.is_whole() {
                break;
            }
            cuts += 1;
        }
        assert!(cuts > 5, "only {cuts} bytes went that way");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn acquire_cut_at_any_byte_is_granted_once() {
    let server = server();
    let proxy = Proxy::start(server.port()).await;
    let (cut, other) = (store(&proxy.url()).await, store(&server.url()).await);
    at_every_byte(&proxy, async || {
        let address = fresh_address();
        let mut lease = granted(cut.acquire(address, long_terms()).await);
        let answer = other.acquire(address, long_terms()).await;
        assert!(matches!(answer, Ok(Admission::InFlight { .. })), "{answer:?}");
        other.commit(&mut lease, None, ttl(LONG)).await.expect("it is the current lease");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn commit_renew_and_release_cut_at_any_byte_are_done() {
    let server = server();
    let proxy = Proxy::start(server.port()).await;
    let (cut, other) = (store(&proxy.url()).await, store(&server.url()).await);
    let body = || outcome(vec![0, 13, 10, 255]);
    at_every_byte(&proxy, async || {
        let address = fresh_address();
        let mut lease = granted(other.acquire(address, long_terms()).await);
        cut.commit(&mut lease, Some(body()), ttl(LONG)).await.expect("committed");
        match other.acquire(address, long_terms()).await {
            Ok(Admission::Completed { outcome, .. }) => assert_eq!(outcome, Some(body())),
            answer => panic!("{answer:?}"),
        }
    })
    .await;
    at_every_byte(&proxy, async || {
        let mut lease = granted(other.acquire(fresh_address(), long_terms()).await);
        let before = lease.deadline();
        let after = cut.renew(&mut lease, ttl(2 * LONG)).await.expect("renewed");
        assert!(after > before + LONG / 2);
    })
    .await;
    at_every_byte(&proxy, async || {
        let address = fresh_address();
        let mut lease = granted(other.acquire(address, long_terms()).await);
        cut.release(&mut lease).await.expect("released");
        assert_eq!(other.peek(address).await.expect("an answer"), RecordState::Free);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn attach_and_forget_cut_at_any_byte_are_done_or_unknown() {
    let server = server();
    let proxy = Proxy::start(server.port()).await;
    let (cut, other) = (store(&proxy.url()).await, store(&server.url()).await);
    let unknown = |error: &StoreError| error.is_outcome_unknown();
    at_every_byte(&proxy, async || {
        let mut lease = granted(other.acquire(fresh_address(), long_terms()).await);
        other.commit(&mut lease, None, ttl(LONG)).await.expect("committed");
        match cut.attach(&lease, outcome("body")).await {
            Ok(()) => {}
            Err(AttachError::Unavailable(error)) => assert!(unknown(&error), "{error:?}"),
            answer => panic!("{answer:?}"),
        }
    })
    .await;
    at_every_byte(&proxy, async || {
        let address = fresh_address();
        let _lease = granted(other.acquire(address, long_terms()).await);
        match cut.forget(address).await {
            Ok(removed) => {
                assert!(removed);
                assert_eq!(other.peek(address).await.expect("an answer"), RecordState::Free);
            }
            Err(error) => assert!(unknown(&error), "{error:?}"),
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_connection_is_given_up_and_replaced() {
    let server = server();
    let proxy = Proxy::start(server.port()).await;
    let timeout = Duration::from_millis(500);
    let store = connect(RedisConfig::new(proxy.url()).store_timeout(timeout)).await;
    works(&store).await;
    proxy.swallow();
    let error = store.peek(fresh_address()).await.expect_err("no reply comes");
    assert_eq!(error.kind(), StoreErrorKind::NoAnswer);
    recovered(&store).await;
    works(&store).await;
    assert_eq!(proxy.opened(), 2, "one connection was silent, and one took its place");
}
