//! A master of a cluster is killed and its replica takes over: between two verbs that is nothing or
//! a bounded *unavailable*, and everything works afterwards.

use std::time::Duration;

use leasehold::{
    AcquireError, Address, Admission, CommitError, Lease, LeaseStore as _, RecordState,
};
use leasehold_redis::{RedisConfig, RedisStore};
use leasehold_redis_server::Cluster;

use crate::keys::{LONG, connect, fresh_address, granted, key_of, long_terms, outcome, ttl, works};
use crate::replication::{PATIENCE, PAUSE, caught_up, until};

/// Short enough to wait for, long enough for a busy machine to answer within.
const TIMEOUT: Duration = Duration::from_secs(1);

const REPLICATION: [&str; 2] = ["INFO", "replication"];

/// A fresh address whose key is at home on one of the masters.
fn address_on(cluster: &Cluster, home: usize) -> Address {
    // Ends: each has a third of the slots.
    loop {
        let address = fresh_address();
        if cluster.home_of(&key_of(&address)) == home {
            return address;
        }
    }
}

/// A call ends, however it does.
async fn bounded<T>(call: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, call).await.expect("every call ends")
}

/// Acquires and commits; all that the store may say until it does so is *unavailable*.
async fn comes_back(store: &RedisStore, address: Address) {
    let terms = long_terms();
    let mut lease = loop {
        match bounded(store.acquire(address, terms)).await {
            Ok(Admission::Granted(lease)) => break lease,
            Err(AcquireError::Unavailable(error)) => assert!(error.is_transient(), "{error:?}"),
            answer => panic!("{answer:?}"),
        }
        tokio::time::sleep(PAUSE).await;
    };
    commits(store, &mut lease).await;
}

/// Commits as soon as the store is there; the lease must be as good as before.
pub(crate) async fn commits(store: &RedisStore, lease: &mut Lease) {
    loop {
        match bounded(store.commit(lease, Some(outcome("body")), ttl(LONG))).await {
            Ok(()) => return,
            Err(CommitError::Unavailable(error)) => assert!(error.is_transient(), "{error:?}"),
            answer => panic!("{answer:?}"),
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn is_completed(store: &RedisStore, address: Address) -> bool {
    let state = store.peek(address).await.expect("an answer");
    matches!(state, RecordState::Completed { replayable: true, .. })
}

#[tokio::test(flavor = "multi_thread")]
async fn the_replica_of_a_killed_master_goes_on_with_its_leases() {
    let cluster = Cluster::start_with_replica();
    let (master, replica) = (&cluster.nodes()[0], cluster.replica().expect("it has one"));
    let store = connect(RedisConfig::new(cluster.url()).store_timeout(TIMEOUT)).await;
    let [running, done] = [(); 2].map(|()| address_on(&cluster, 0));
    let mut lease = granted(store.acquire(running, long_terms()).await);
    let mut other = granted(store.acquire(done, long_terms()).await);
    store.commit(&mut other, Some(outcome("body")), ttl(LONG)).await.expect("committed");
    caught_up(master, replica).await;

    master.kill();
    // From its death on, on each of the masters.
    for home in [0, 1, 2] {
        let address = address_on(&cluster, home);
        comes_back(&store, address).await;
        assert!(is_completed(&store, address).await);
    }
    until(replica, &REPLICATION, "role:master").await;
    // What the replica had is as it was: the lease is its holder's, the key is kept.
    let answer = store.acquire(running, long_terms()).await;
    assert!(matches!(answer, Ok(Admission::InFlight { .. })), "{answer:?}");
    store.renew(&mut lease, ttl(LONG)).await.expect("renewed");
    commits(&store, &mut lease).await;
    assert!(is_completed(&store, running).await && is_completed(&store, done).await);

    // It comes back as a replica, and takes nothing away.
    master.start_again();
    until(master, &REPLICATION, "role:slave").await;
    until(master, &REPLICATION, "master_link_status:up").await;
    assert!(is_completed(&store, running).await && is_completed(&store, done).await);
    works(&store).await;
}
