//! Files that are not there, cannot be written, or are something else; and their versions.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use leasehold::StoreErrorKind;
use leasehold_sql::{ConfigError, ConnectError, SqlConfig, SqlStore, migrate};
use sqlx::AssertSqlSafe;
use tokio::task::JoinSet;

use super::child::{all_told, command, tell};
use super::keys::{File, ask, committed, config, connect, is_completed, works};

async fn refusal(config: SqlConfig) -> ConnectError {
    SqlStore::connect(config).await.expect_err("it does not start")
}

#[tokio::test]
async fn a_path_that_can_never_be_opened_is_refused_by_its_reason() {
    let file = File::new();
    for (path, reason) in [
        (file.folder().join("absent/leases.db"), "folder of its file does not exist"),
        (file.folder().to_owned(), "is a folder"),
    ] {
        match refusal(config(&path)).await {
            ConnectError::Config(error @ ConfigError::Url { .. }) => {
                assert!(error.to_string().contains(reason), "{error}");
                assert!(!error.to_string().contains("leases.db"), "{error}");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn a_file_that_is_no_database_is_corrupt_and_stays_as_it_is() {
    let file = File::new();
    let text = "a letter to somebody\n".repeat(100);
    std::fs::write(file.path(), &text).expect("written");
    match refusal(config(&file.path())).await {
        ConnectError::Unavailable(error) => assert_eq!(error.kind(), StoreErrorKind::Corrupt),
        other => panic!("{other:?}"),
    }
    assert_eq!(std::fs::read_to_string(file.path()).expect("read"), text);
}

#[tokio::test]
async fn a_table_is_made_only_where_that_is_allowed() {
    let file = File::new();
    let careful = || config(&file.path()).auto_migrate(false);
    match refusal(careful()).await {
        ConnectError::Migrate { found: 0, .. } => {}
        other => panic!("{other:?}"),
    }
    assert!(!file.path().exists(), "no file is made either");
    assert_eq!(migrate(&careful()).await.expect("migrated").len(), 1);
    assert_eq!(migrate(&careful()).await.expect("migrated").len(), 0);
    works(&connect(careful()).await).await;
    let mut line = file.line().await;
    let later = AssertSqlSafe("INSERT INTO idempotent_record_version (version) VALUES (99)");
    sqlx::query(later).execute(&mut line).await.expect("written");
    match refusal(config(&file.path())).await {
        ConnectError::Newer { found: 99, .. } => {}
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_may_make_the_same_table_at_once() {
    let file = File::new();
    let mut tasks = JoinSet::new();
    for _ in 0..8 {
        let config = config(&file.path());
        tasks.spawn(async move { works(&connect(config).await).await });
    }
    tasks.join_all().await;
    let mut line = file.line().await;
    let versions = ask(&mut line, "SELECT group_concat(version) FROM idempotent_record_version");
    assert_eq!(versions.await, "1");
}

#[tokio::test]
async fn tables_of_one_file_are_apart() {
    let file = File::new();
    let first = connect(config(&file.path()).table("orders")).await;
    let second = connect(config(&file.path()).table("refunds")).await;
    let address = committed(&first, "first").await;
    assert!(is_completed(&first, address).await);
    assert!(!is_completed(&second, address).await);
}

#[tokio::test]
async fn a_path_may_contain_anything_that_is_encoded() {
    let file = File::new();
    let folder = file.folder().to_str().expect("a path of plain letters");
    let store = connect(SqlConfig::new(format!("sqlite://{folder}/what%3F%20a%23b.db"))).await;
    works(&store).await;
    assert!(file.folder().join("what? a#b.db").exists());
}

#[tokio::test]
async fn a_read_only_file_is_unavailable_until_it_can_be_written() {
    let file = File::new();
    let known = committed(&file.store().await, "known").await;
    set_mode(&file.path(), 0o444);
    // Root may write whatever its mode says, unless it gives that right up.
    let is_root = file.path().metadata().expect("it is there").uid() == 0;
    let wrap: &[&str] = if is_root { &["setpriv", "--bounding-set=-all"] } else { &[] };
    let task = "meet a file that is read-only";
    let process = command(wrap, task, &file.path()).spawn().expect("the process starts");
    assert_eq!(all_told(process), ["refused"]);
    set_mode(&file.path(), 0o644);
    let store = file.store().await;
    assert!(is_completed(&store, known).await);
    works(&store).await;
}

fn set_mode(path: &Path, mode: u32) {
    let mode = std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(path, mode).expect("the file is ours");
}

/// The task of a process.
pub(super) async fn meet_read_only(file: &Path) {
    assert!(std::fs::OpenOptions::new().write(true).open(file).is_err(), "it is read-only");
    match refusal(config(file)).await {
        ConnectError::Unavailable(error) => {
            assert_eq!(error.kind(), StoreErrorKind::Unreachable, "{error:?}");
        }
        other => panic!("{other:?}"),
    }
    tell("refused");
}
