//! Grants and commits that count only once a replica has them.

use std::sync::Arc;
use std::time::Duration;

use leasehold::{AcquireError, CommitError, LeaseStore as _};
use leasehold_redis::RedisConfig;
use leasehold_redis_server::{Cluster, Server};
use tokio::task::JoinSet;

use crate::keys::{LONG, connect, fresh_address, granted, key_of, long_terms, server, ttl, works};

const TIMEOUT: Duration = Duration::from_secs(1);

/// A replica that has caught up.
fn replica_of(master: &Server) -> Server {
    let port = master.port().to_string();
    let replica =
        Server::start_with(|_, _| ["--replicaof", "127.0.0.1", &port].map(str::to_owned).into());
    while !replica.ask(&["INFO", "replication"]).contains("master_link_status:up") {
        std::thread::sleep(Duration::from_millis(20));
    }
    replica
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn grant_counts_once_the_replica_has_it() {
    let master = server();
    let replica = replica_of(&master);
    let config = RedisConfig::new(master.url()).store_timeout(Duration::from_secs(30));
    let store = Arc::new(connect(config.min_replicas(1).replica_connections(2)).await);
    works(&*store).await;
    let mut clients = JoinSet::new();
    for _ in 0..20 {
        let store = Arc::clone(&store);
        clients.spawn(async move {
            let address = fresh_address();
            let _lease = granted(store.acquire(address, long_terms()).await);
            address
        });
    }
    while let Some(address) = clients.join_next().await {
        let key = key_of(&address.expect("no client panics"));
        assert_eq!(replica.ask(&["EXISTS", &key]), "1", "the replica has it already");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn too_few_replicas_are_unavailable_for_grants_and_commits_alone() {
    let master = server();
    let replica = replica_of(&master);
    let config = RedisConfig::new(master.url()).min_replicas(1);
    let store = connect(config.clone().store_timeout(TIMEOUT)).await;
    // For what a replica that is only slow has to acknowledge.
    let patient = connect(config.store_timeout(Duration::from_secs(30))).await;
    let mut lease = granted(patient.acquire(fresh_address(), long_terms()).await);
    replica.freeze();
    let (address, terms) = (fresh_address(), long_terms());
    match store.acquire(address, terms).await {
        Err(AcquireError::Unavailable(error)) => assert!(error.is_outcome_unknown(), "{error:?}"),
        answer => panic!("{answer:?}"),
    }
    store.abandon(address, terms.attempt).await.expect("the master answers");
    store.renew(&mut lease, ttl(LONG)).await.expect("the master answers");
    match store.commit(&mut lease, None, ttl(LONG)).await {
        Err(CommitError::Unavailable(error)) => assert!(error.is_outcome_unknown(), "{error:?}"),
        answer => panic!("{answer:?}"),
    }
    replica.thaw();
    patient.commit(&mut lease, None, ttl(LONG)).await.expect("the repetition is acknowledged");
    works(&patient).await;
}

/// A repetition is acknowledged like the first call: also over a connection that has written
/// nothing since the replica stood still.
#[tokio::test(flavor = "multi_thread")]
async fn repetition_over_another_connection_waits_for_the_replica_too() {
    let master = server();
    let replica = replica_of(&master);
    let config = RedisConfig::new(master.url()).min_replicas(1);
    let patient = connect(config.clone().store_timeout(Duration::from_secs(30))).await;
    let mut lease = granted(patient.acquire(fresh_address(), long_terms()).await);
    replica.freeze();
    let (address, terms) = (fresh_address(), long_terms());
    for _ in 0..2 {
        let store = connect(config.clone().store_timeout(TIMEOUT)).await;
        match store.acquire(address, terms).await {
            Err(AcquireError::Unavailable(error)) => assert!(error.is_outcome_unknown()),
            answer => panic!("{answer:?}"),
        }
        match store.commit(&mut lease, None, ttl(LONG)).await {
            Err(CommitError::Unavailable(error)) => assert!(error.is_outcome_unknown()),
            answer => panic!("{answer:?}"),
        }
    }
    replica.thaw();
    let _lease = granted(patient.acquire(address, terms).await);
    patient.commit(&mut lease, None, ttl(LONG)).await.expect("acknowledged");
}

/// Without replicas nothing is acknowledged, by whichever node the key is on.
#[tokio::test(flavor = "multi_thread")]
async fn every_node_of_a_cluster_is_asked_for_its_replicas() {
    let cluster = Cluster::start();
    let url = format!("redis-cluster://127.0.0.1:{}", cluster.nodes()[0].port());
    let timeout = Duration::from_millis(300);
    let store = connect(RedisConfig::new(url).store_timeout(timeout).min_replicas(1)).await;
    for _ in 0..6 {
        match store.acquire(fresh_address(), long_terms()).await {
            Err(AcquireError::Unavailable(error)) => assert!(error.is_outcome_unknown()),
            answer => panic!("{answer:?}"),
        }
    }
    let kept = cluster.nodes().iter().map(|node| node.ask(&["DBSIZE"]).parse::<u64>());
    assert_eq!(kept.map(|count| count.expect("a number")).sum::<u64>(), 6);
}
