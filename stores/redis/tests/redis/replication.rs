//! What a test waits for where servers replicate each other.

use std::time::Duration;

use leasehold_redis_server::Server;

/// Far above what anything takes that is waited for here.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Pause between two looks.
pub(crate) const PAUSE: Duration = Duration::from_millis(20);

/// Waits until an answer has these words in it. A server closes its connections when its role
/// changes, and answers nothing while it is down.
pub(crate) async fn until(server: &Server, question: &[&str], words: &str) {
    let said = async {
        while !server.try_ask(question).is_ok_and(|answer| answer.contains(words)) {
            tokio::time::sleep(PAUSE).await;
        }
    };
    let in_time = tokio::time::timeout(PATIENCE, said).await;
    assert!(in_time.is_ok(), "no {words:?} in {:?}", server.try_ask(question));
}

/// Waits until a replica has all that its master has written so far. `WAIT` on a connection of its
/// own would say nothing: it counts for what that connection has written.
pub(crate) async fn caught_up(master: &Server, replica: &Server) {
    let written = offset(master, "master_repl_offset:").expect("a master");
    let reached = async {
        while offset(replica, "slave_repl_offset:").is_none_or(|reached| reached < written) {
            tokio::time::sleep(PAUSE).await;
        }
    };
    tokio::time::timeout(PATIENCE, reached).await.expect("the replica catches up");
}

fn offset(server: &Server, name: &str) -> Option<u64> {
    let info = server.ask(&["INFO", "replication"]);
    info.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
}
