//! Many clients of two processes at one server.

use std::sync::Arc;

use leasehold::{Admission, LeaseStore as _};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use crate::keys::{LONG, fresh_address, long_terms, outcome, server, store, ttl};

/// Clients at once.
const CLIENTS: usize = 200;

/// Keys, one after the other.
const KEYS: usize = 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn each_key_is_granted_to_one_of_200_clients_of_two_stores() {
    let server = server();
    let stores = [Arc::new(store(&server.url()).await), Arc::new(store(&server.url()).await)];
    let keys: Arc<Vec<_>> = Arc::new((0..KEYS).map(|_| fresh_address()).collect());
    let gate = Arc::new(Barrier::new(CLIENTS));
    let mut clients = JoinSet::new();
    for client in 0..CLIENTS {
        let (store, keys) = (Arc::clone(&stores[client % 2]), Arc::clone(&keys));
        let gate = Arc::clone(&gate);
        clients.spawn(async move {
            let mut grants = Vec::new();
            for address in keys.iter() {
                gate.wait().await;
                match store.acquire(*address, long_terms()).await {
                    Ok(Admission::Granted(mut lease)) => {
                        grants.push(*address);
                        let body = Some(outcome("body"));
                        store.commit(&mut lease, body, ttl(LONG)).await.expect("committed");
                    }
                    Ok(Admission::InFlight { .. } | Admission::Completed { .. }) => {}
                    answer => panic!("{answer:?}"),
                }
            }
            grants
        });
    }
    let mut granted = Vec::new();
    while let Some(grants) = clients.join_next().await {
        granted.extend(grants.expect("no client panics"));
    }
    let mut expected = keys.to_vec();
    granted.sort();
    expected.sort();
    assert_eq!(granted, expected);
}
