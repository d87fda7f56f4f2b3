//! The near cache: it answers what this process has seen, for as long as it may, and no more.

use std::sync::Arc;
use std::time::Duration;

use leasehold::{
    Admission, Digester, Fingerprint, LeaseStore as _, MemoryConfig, MemoryStore, Terms, Ttl,
};
use leasehold_redis::{NEAR_CACHE_TTL, NearCache, RedisStore};
use leasehold_redis_server::Server;

use crate::gated::Gated;
use crate::keys::{LONG, fresh_address, granted, long_terms, outcome, server, store, ttl};

fn front(entries: usize) -> MemoryStore {
    let front = MemoryConfig::default().max_entries(entries).late_grace(Duration::ZERO);
    MemoryStore::new(front).expect("a valid configuration")
}

async fn near(server: &Server, entries: usize, ttl: Ttl) -> NearCache<RedisStore, MemoryStore> {
    NearCache::new(store(&server.url()).await, front(entries), ttl)
}

fn print(name: &str) -> Fingerprint {
    Digester::plain().fingerprint(&[name.as_bytes()])
}

fn terms(name: &str) -> Terms {
    long_terms().fingerprint(print(name))
}

/// How many scripts the server has run.
fn scripts_run(server: &Server) -> u64 {
    let stats = server.ask(&["INFO", "commandstats"]);
    let calls = |name: &str| {
        let line = stats.lines().find_map(|line| line.strip_prefix(name))?;
        line.strip_prefix(":calls=")?.split(',').next()?.parse::<u64>().ok()
    };
    calls("cmdstat_evalsha").unwrap_or(0) + calls("cmdstat_eval").unwrap_or(0)
}

fn assert_completed(answer: &Result<Admission, leasehold::AcquireError>) {
    match answer {
        Ok(Admission::Completed { outcome: kept, remaining }) => {
            assert_eq!(*kept, Some(outcome("body")));
            assert!(*remaining > LONG / 2 && *remaining <= LONG, "{remaining:?}");
        }
        answer => panic!("{answer:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn second_duplicate_is_answered_without_the_server() {
    let server = server();
    let near = near(&server, 100, ttl(LONG)).await;
    let address = fresh_address();
    let mut lease = granted(near.acquire(address, terms("one")).await);
    near.commit(&mut lease, Some(outcome("body")), ttl(LONG)).await.expect("committed");
    assert_completed(&near.acquire(address, terms("one")).await);
    let before = scripts_run(&server);
    for _ in 0..100 {
        assert_completed(&near.acquire(address, terms("one")).await);
    }
    assert_eq!(scripts_run(&server), before);
    // Other requests are the server's to judge: one mismatches, and one without a fingerprint
    // matches everything.
    let answer = near.acquire(address, terms("other")).await;
    assert!(matches!(answer, Ok(Admission::Mismatch)), "{answer:?}");
    assert_completed(&near.acquire(address, long_terms()).await);
    assert_eq!(scripts_run(&server), before + 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn forget_is_heard_at_once_by_this_process_and_later_by_others() {
    let server = server();
    let one = near(&server, 100, NEAR_CACHE_TTL).await;
    let other = near(&server, 100, ttl(LONG)).await;
    let address = fresh_address();
    let mut lease = granted(one.acquire(address, long_terms()).await);
    one.commit(&mut lease, Some(outcome("body")), ttl(LONG)).await.expect("committed");
    for _ in 0..2 {
        assert_completed(&one.acquire(address, long_terms()).await);
        assert_completed(&other.acquire(address, long_terms()).await);
    }
    assert!(one.forget(address).await.expect("an answer"));
    assert_completed(&other.acquire(address, long_terms()).await);
    let later = granted(one.acquire(address, long_terms()).await);
    assert!(later.token() > lease.token());
}

#[tokio::test(flavor = "multi_thread")]
async fn entry_ends_with_its_ttl() {
    let server = server();
    let short = Duration::from_millis(100);
    let near = near(&server, 100, ttl(short)).await;
    let address = fresh_address();
    let mut lease = granted(near.acquire(address, long_terms()).await);
    near.commit(&mut lease, Some(outcome("body")), ttl(LONG)).await.expect("committed");
    assert_completed(&near.acquire(address, long_terms()).await);
    tokio::time::sleep(short).await;
    let before = scripts_run(&server);
    assert_completed(&near.acquire(address, long_terms()).await);
    assert_eq!(scripts_run(&server), before + 1, "from when the request was sent, not later");
}

#[tokio::test(flavor = "multi_thread")]
async fn entry_does_not_outlive_its_key() {
    let server = server();
    let near = near(&server, 100, ttl(LONG)).await;
    let address = fresh_address();
    let short = Duration::from_millis(200);
    let mut lease = granted(near.acquire(address, long_terms()).await);
    near.commit(&mut lease, None, ttl(short)).await.expect("committed");
    let _ = near.acquire(address, long_terms()).await.expect("an answer");
    tokio::time::sleep(short + Duration::from_millis(5)).await;
    let _later = granted(near.acquire(address, long_terms()).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn full_near_cache_is_a_miss() {
    let server = server();
    let near = near(&server, 1, ttl(LONG)).await;
    for _ in 0..3 {
        let address = fresh_address();
        let mut lease = granted(near.acquire(address, long_terms()).await);
        near.commit(&mut lease, Some(outcome("body")), ttl(LONG)).await.expect("committed");
        for _ in 0..2 {
            assert_completed(&near.acquire(address, long_terms()).await);
        }
    }
}

/// 1. A duplicate asks the back, which answers *completed*. 2. The key is forgotten. 3. The answer
/// arrives. Were it remembered, the retry that the operator has made way for would be refused.
#[tokio::test(flavor = "multi_thread")]
async fn answer_from_before_a_forget_is_not_remembered_after_it() {
    let server = server();
    let gated = Arc::new(Gated::new(store(&server.url()).await));
    let near = Arc::new(NearCache::new(Arc::clone(&gated), front(100), ttl(LONG)));
    let address = fresh_address();
    let mut lease = granted(near.acquire(address, long_terms()).await);
    near.commit(&mut lease, Some(outcome("body")), ttl(LONG)).await.expect("committed");
    let gate = gated.hold_next();
    let duplicate = tokio::spawn({
        let near = Arc::clone(&near);
        async move { near.acquire(address, long_terms()).await }
    });
    gate.wait().await;
    assert!(near.forget(address).await.expect("an answer"));
    gate.wait().await;
    assert_completed(&duplicate.await.expect("the task does not panic"));
    let _retry = granted(near.acquire(address, long_terms()).await);
}
