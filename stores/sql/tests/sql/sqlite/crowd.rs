//! Many writers of one file at once: stores of one process, and processes.

use std::path::Path;
use std::sync::Arc;

use leasehold::{Admission, LeaseStore as _};
use tokio::task::JoinSet;

use super::child::{all_told, start, tell};
use super::keys::{
    File, LONG, address_of, assert_is_whole, config, connect, is_completed, long_terms, outcome,
    ttl,
};

const WRITERS: usize = 8;
const KEYS: usize = 60;
const PROCESSES: usize = 4;

fn key(number: usize) -> String {
    format!("key {number}")
}

/// Tries every key, in an order of its own, and commits what it was granted. Gives those.
async fn try_all(file: &Path, turn: usize) -> Vec<String> {
    let store = connect(config(file)).await;
    let mut granted = Vec::new();
    for number in 0..KEYS {
        let key = key((number + turn * KEYS / WRITERS) % KEYS);
        match store.acquire(address_of(&key), long_terms()).await.expect("an answer") {
            Admission::Granted(mut lease) => {
                let body = Some(outcome(key.as_str()));
                store.commit(&mut lease, body, ttl(LONG)).await.expect("committed");
                granted.push(key);
            }
            Admission::InFlight { .. } | Admission::Completed { .. } => {}
            other => panic!("{other:?}"),
        }
    }
    granted
}

async fn assert_each_was_granted_once(file: &Path, mut granted: Vec<String>) {
    granted.sort();
    let mut all: Vec<_> = (0..KEYS).map(key).collect();
    all.sort();
    assert_eq!(granted, all);
    let store = connect(config(file)).await;
    for key in all {
        assert!(is_completed(&store, address_of(&key)).await, "{key}");
    }
    assert_is_whole(file).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn eight_writers_grant_each_key_once() {
    let file = File::new();
    let path: Arc<Path> = file.path().into();
    let mut writers = JoinSet::new();
    for turn in 0..WRITERS {
        let path = Arc::clone(&path);
        writers.spawn(async move { try_all(&path, turn).await });
    }
    let granted = writers.join_all().await.concat();
    assert_each_was_granted_once(&path, granted).await;
}

/// The task of a process.
pub(super) async fn compete(file: &Path) {
    let turn = usize::try_from(std::process::id()).expect("a small number");
    try_all(file, turn).await.iter().for_each(|key| tell(key));
}

#[tokio::test]
async fn processes_grant_each_key_once() {
    let file = File::new();
    let path = file.path();
    let processes: Vec<_> = (0..PROCESSES).map(|_| start("compete", &path)).collect();
    let granted: Vec<_> = processes.into_iter().flat_map(all_told).collect();
    assert_each_was_granted_once(&path, granted).await;
}

/// All at the very same key, again and again.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_of_many_stores_is_granted_a_key() {
    let file = File::new();
    let mut stores = Vec::new();
    for _ in 0..WRITERS {
        stores.push(Arc::new(file.store().await));
    }
    for number in 0..20 {
        let address = address_of(&key(number));
        let mut rivals = JoinSet::new();
        for store in &stores {
            let store = Arc::clone(store);
            rivals.spawn(async move { store.acquire(address, long_terms()).await });
        }
        let answers = rivals.join_all().await;
        let is_granted = |answer: &&_| matches!(answer, Ok(Admission::Granted(_)));
        let in_flight = |answer: &&_| matches!(answer, Ok(Admission::InFlight { .. }));
        assert_eq!(answers.iter().filter(is_granted).count(), 1, "{answers:?}");
        assert_eq!(answers.iter().filter(in_flight).count(), WRITERS - 1, "{answers:?}");
    }
}
