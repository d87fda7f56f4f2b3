//! A disk without room. A process of its own fills a small file system, or, where none may be
//! mounted, a file as large as files may be.

use std::path::Path;
use std::process::{Command, Stdio};

use leasehold::{CommitError, LeaseStore as _, RecordState, StoreErrorKind};

use super::child::{all_told, command, tell};
use super::keys::{
    File, LONG, assert_is_whole, config, connect, fresh_address, granted, is_completed, long_terms,
    outcome, ttl, works,
};

/// Name of a file beside the store's that takes up room until it is removed.
const BALLAST: &str = "ballast";
const BALLAST_BYTES: usize = 300 << 10;

/// Far more than the room is for.
const MOST: usize = 1_000;

/// Mounts a small file system where only the program that follows sees it.
const MOUNT: &str = r#"mount -t tmpfs -o size=1m leasehold "$0" && exec "$@""#;

/// Lets no file of the program that follows grow beyond some hundred KiB, and has it told by an
/// error rather than by a signal.
const LIMIT: &str = r#"trap '' XFSZ && ulimit -S -f 600 && exec "$@""#;

#[test]
fn a_full_disk_is_unavailable_and_leaves_nothing_half_written() {
    let file = File::new();
    let folder = file.folder().to_str().expect("a path of plain letters");
    let mut may_mount = Command::new("unshare");
    may_mount.args(["--mount", "sh", "-c", MOUNT, folder, "true"]).stderr(Stdio::null());
    let wrap: &[&str] = if may_mount.status().is_ok_and(|status| status.success()) {
        &["unshare", "--mount", "sh", "-c", MOUNT, folder]
    } else {
        &["sh", "-c", LIMIT, folder]
    };
    let process = command(wrap, "fill", &file.path()).spawn().expect("the process starts");
    assert_eq!(all_told(process), ["full", "works again"]);
}

#[test]
fn a_disk_that_writes_no_more_is_unavailable_and_leaves_nothing_half_written() {
    let file = File::new();
    let wrap = ["sh", "-c", LIMIT, "limited"];
    let process = command(&wrap, "fill", &file.path()).spawn().expect("the process starts");
    assert_eq!(all_told(process), ["full", "works again"]);
}

/// Gives the process the room back that it was started without.
fn make_room(ballast: &Path) {
    std::fs::remove_file(ballast).expect("it is there");
    let process = std::process::id().to_string();
    let limit = Command::new("prlimit").args(["--pid", &process, "--fsize=unlimited"]).status();
    assert!(limit.expect("prlimit is installed").success());
}

/// The task of a process: commits keys until there is no room, and again when there is.
pub(super) async fn fill(file: &Path) {
    let store = connect(config(file)).await;
    let ballast = file.with_file_name(BALLAST);
    std::fs::write(&ballast, vec![1; BALLAST_BYTES]).expect("there is room for it");
    let mut committed = Vec::new();
    let mut refused = None;
    for _ in 0..MOST {
        let address = fresh_address();
        let mut lease = match store.acquire(address, long_terms()).await {
            Err(leasehold::AcquireError::Unavailable(error)) => {
                assert_eq!(error.kind(), StoreErrorKind::Unreachable, "{error:?}");
                assert_eq!(store.peek(address).await.expect("an answer"), RecordState::Free);
                break;
            }
            answer => granted(answer),
        };
        match store.commit(&mut lease, Some(outcome(vec![b'x'; 8_000])), ttl(LONG)).await {
            Ok(()) => committed.push(address),
            Err(CommitError::Unavailable(error)) => {
                assert_eq!(error.kind(), StoreErrorKind::Unreachable, "{error:?}");
                let state = store.peek(address).await.expect("an answer");
                assert!(matches!(state, RecordState::InFlight { .. }), "{state:?}");
                refused.get_or_insert((address, lease));
            }
            Err(other) => panic!("{other}"),
        }
    }
    assert!((1..MOST).contains(&committed.len()), "{}", committed.len());
    for address in &committed {
        assert!(is_completed(&store, *address).await, "what is there is still read");
    }
    tell("full");
    make_room(&ballast);
    if let Some((address, mut lease)) = refused {
        store.commit(&mut lease, Some(outcome("small")), ttl(LONG)).await.expect("committed");
        committed.push(address);
    }
    works(&store).await;
    let later = connect(config(file)).await;
    for address in committed {
        assert!(is_completed(&later, address).await);
    }
    assert_is_whole(file).await;
    tell("works again");
}
