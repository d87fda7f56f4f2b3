//! Processes that are killed while they write.

use std::path::Path;
use std::sync::Arc;

use leasehold::LeaseStore as _;
use tokio::task::JoinSet;

use super::child::{start, tell, told};
use super::keys::{
    File, LONG, address_of, assert_is_whole, config, connect, granted, is_completed, long_terms,
    outcome, ttl, works,
};

/// Tasks that commit side by side, so that a kill finds groups under way.
const TASKS: usize = 8;

/// Processes that are killed, one after the other, over one file.
const KILLS: usize = 8;

/// Seed of the moments at which they are killed.
const SEED: u64 = 0x6c65_6173_6568_6f6c;

/// The task of a process: commits keys until it is killed, and tells each once it is committed.
pub(super) async fn commit_without_end(file: &Path) {
    let store = Arc::new(connect(config(file)).await);
    let mut tasks = JoinSet::new();
    for task in 0..TASKS {
        let store = Arc::clone(&store);
        tasks.spawn(async move {
            for number in 0.. {
                let key = format!("{} {task} {number}", std::process::id());
                let mut lease = granted(store.acquire(address_of(&key), long_terms()).await);
                let body = Some(outcome(vec![b'x'; 100 * task]));
                store.commit(&mut lease, body, ttl(LONG)).await.expect("committed");
                tell(&key);
            }
        });
    }
    tasks.join_all().await;
}

#[test]
fn every_acknowledged_commit_outlives_its_process() {
    let file = File::new();
    let path = file.path();
    let mut random = fastrand::Rng::with_seed(SEED);
    let mut committed = Vec::new();
    for kill in 0..KILLS {
        let mut process = start("commit", &path);
        let mut told = told(&mut process);
        committed.extend(told.by_ref().take(random.usize(1..300)));
        process.kill().expect("it is killed");
        process.wait().expect("the process is ours");
        // What it has told until then counts too.
        committed.extend(told);

        let log = path.with_extension("db-wal");
        let left = log.metadata().expect("a process that was killed leaves its log");
        assert!(left.len() > 0, "the commits stand in the log, after kill {kill}");
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        runtime.block_on(async {
            // The first to open the file, which is half in its log.
            let store = connect(config(&path)).await;
            for key in &committed {
                assert!(is_completed(&store, address_of(key)).await, "{key}, after kill {kill}");
            }
            assert_is_whole(&path).await;
            works(&store).await;
        });
    }
    assert!(committed.len() > KILLS, "{}", committed.len());
}
