//! What stands in the server: every key expires, and nothing is overwritten that another version
//! may have written.

use std::time::Duration;

use leasehold::{
    AcquireError, Admission, AttachError, CommitError, LeaseStore as _, ReleaseError, RenewError,
    StoreErrorKind,
};
use leasehold_redis::RedisConfig;
use leasehold_redis_server::Server;

use crate::keys::{
    LONG, connect, fresh_address, granted, key_of, long_terms, outcome, server, store, ttl,
};

const GRACE: Duration = Duration::from_secs(100);

/// Asserts that the only key of the server expires about then.
fn assert_expires(server: &Server, after: Duration) {
    assert_eq!(server.ask(&["DBSIZE"]), "1");
    let key = server.ask(&["KEYS", "*"]);
    let left: i64 = server.ask(&["PTTL", &key]).parse().expect("a number");
    let left = Duration::from_millis(u64::try_from(left).expect("the key has an expiry"));
    assert!(left <= after + Duration::from_millis(1), "{left:?} of {after:?}");
    assert!(left + Duration::from_secs(30) > after, "{left:?} of {after:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_key_expires_with_its_lease_and_grace_or_its_commit() {
    let server = server();
    let store = connect(RedisConfig::new(server.url()).late_grace(GRACE)).await;
    let mut lease = granted(store.acquire(fresh_address(), long_terms()).await);
    assert_expires(&server, LONG + GRACE);
    store.renew(&mut lease, ttl(2 * LONG)).await.expect("renewed");
    assert_expires(&server, 2 * LONG + GRACE);
    store.commit(&mut lease, None, ttl(3 * LONG)).await.expect("committed");
    assert_expires(&server, 3 * LONG);
    store.attach(&lease, outcome("body")).await.expect("attached");
    assert_expires(&server, 3 * LONG);
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_the_prefix_and_the_digest() {
    let server = server();
    let store = store(&server.url()).await;
    let address = fresh_address();
    let _lease = granted(store.acquire(address, long_terms()).await);
    assert_eq!(server.ask(&["KEYS", "*"]), key_of(&address));
    let config = RedisConfig::new(server.url()).key_prefix("other:");
    let other = connect(config).await;
    let _lease = granted(other.acquire(address, long_terms()).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn outcomes_of_any_bytes_come_back_as_they_were() {
    let server = server();
    let store = store(&server.url()).await;
    let all: Vec<u8> = (0..=255).collect();
    for body in [vec![], vec![0], b"\r\n$-1\r\n".to_vec(), all, vec![0xff; 1 << 20]] {
        let address = fresh_address();
        let mut lease = granted(store.acquire(address, long_terms()).await);
        store.commit(&mut lease, Some(outcome(body.clone())), ttl(LONG)).await.expect("committed");
        match store.acquire(address, long_terms()).await {
            Ok(Admission::Completed { outcome: kept, .. }) => assert_eq!(kept, Some(outcome(body))),
            answer => panic!("{answer:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_this_version_does_not_write_is_corrupt_and_stays() {
    let server = server();
    let store = store(&server.url()).await;
    for which in 0..4 {
        let address = fresh_address();
        let terms = long_terms();
        let mut lease = granted(store.acquire(address, terms).await);
        assert!(store.forget(address).await.expect("an answer"));
        let key = key_of(&address);
        match which {
            0 => server.ask(&["SET", &key, &"2".repeat(80)]),
            1 => server.ask(&["SET", &key, "\u{1}"]),
            // The right format and length, and a phase that there is none of.
            2 => server.ask(&["SET", &key, &format!("\u{1}\u{7}{}", "2".repeat(80))]),
            _ => server.ask(&["RPUSH", &key, "element"]),
        };
        let before = server.ask(&["DUMP", &key]);
        let corrupt = |kind| assert_eq!(kind, StoreErrorKind::Corrupt);
        match store.acquire(address, long_terms()).await {
            Err(AcquireError::Unavailable(error)) => corrupt(error.kind()),
            answer => panic!("{answer:?}"),
        }
        match store.commit(&mut lease, None, ttl(LONG)).await {
            Err(CommitError::Unavailable(error)) => corrupt(error.kind()),
            answer => panic!("{answer:?}"),
        }
        match store.attach(&lease, outcome("body")).await {
            Err(AttachError::Unavailable(error)) => corrupt(error.kind()),
            answer => panic!("{answer:?}"),
        }
        match store.renew(&mut lease, ttl(LONG)).await {
            Err(RenewError::Unavailable(error)) => corrupt(error.kind()),
            answer => panic!("{answer:?}"),
        }
        match store.release(&mut lease).await {
            Err(ReleaseError::Unavailable(error)) => corrupt(error.kind()),
            answer => panic!("{answer:?}"),
        }
        corrupt(store.abandon(address, terms.attempt).await.expect_err("corrupt").kind());
        corrupt(store.peek(address).await.expect_err("corrupt").kind());
        corrupt(store.forget(address).await.expect_err("corrupt").kind());
        assert_eq!(server.ask(&["DUMP", &key]), before);
    }
}
