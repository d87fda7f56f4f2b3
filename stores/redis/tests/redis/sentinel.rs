//! A service behind a sentinel: after a failover the store finds the new master.

use std::path::Path;
use std::time::Duration;

use leasehold::{LeaseStore as _, RecordState};
use leasehold_redis::RedisConfig;
use leasehold_redis_server::Server;

use crate::failover::commits;
use crate::keys::{connect, fresh_address, granted, long_terms, recovered, works};
use crate::replication::{caught_up, until};

/// A sentinel that watches a master.
fn sentinel_of(master: &Server) -> Server {
    Server::start_with(|_, folder: &Path| {
        let file = folder.join("sentinel.conf");
        let monitor = format!("sentinel monitor leases 127.0.0.1 {} 1\n", master.port());
        std::fs::write(&file, monitor).expect("a file");
        vec![file.display().to_string(), "--sentinel".to_owned()]
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn store_follows_a_failover() {
    let master = crate::keys::server();
    let port = master.port().to_string();
    let replica =
        Server::start_with(|_, _| ["--replicaof", "127.0.0.1", &port].map(str::to_owned).into());
    until(&replica, &["INFO", "replication"], "master_link_status:up").await;
    let sentinel = sentinel_of(&master);
    let url = format!("redis-sentinel://127.0.0.1:{}/leases/3", sentinel.port());
    let store = connect(RedisConfig::new(url).store_timeout(Duration::from_secs(5))).await;
    works(&store).await;
    let address = fresh_address();
    let mut lease = granted(store.acquire(address, long_terms()).await);

    until(&sentinel, &["SENTINEL", "MASTERS"], "num-slaves\n1").await;
    caught_up(&master, &replica).await;
    until(&sentinel, &["SENTINEL", "FAILOVER", "leases"], "OK").await;
    until(&replica, &["INFO", "replication"], "role:master").await;
    until(&master, &["INFO", "replication"], "role:slave").await;
    recovered(&store).await;
    // Reads are answered by what is left of the old connection; a write is not.
    commits(&store, &mut lease).await;
    let state = store.peek(address).await.expect("an answer");
    assert!(matches!(state, RecordState::Completed { .. }), "{state:?}");
    works(&store).await;
    assert!(replica.ask(&["INFO", "keyspace"]).contains("db3:keys=1"));
}
