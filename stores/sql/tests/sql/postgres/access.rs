//! Users and their rights, and databases that take no writes: the right error for each, and no
//! password in any.

use std::error::Error;
use std::time::Duration;

use leasehold::{AcquireError, LeaseStore as _, RecordState, StoreError, StoreErrorKind};
use leasehold_sql::{ConnectError, SqlConfig, SqlStore, migrate};

use crate::keys::{config, connect, fresh_address, long_terms, works};
use crate::postgres::shared;

/// A user with a password, and what he is granted on the table of a configuration, which is there.
async fn user(config: &SqlConfig, grants: &str) -> SqlConfig {
    migrate(config).await.expect("migrated");
    let (table, name) = (&config.table, format!("u{:x}", fastrand::u64(..)));
    let grants = grants.replace("{table}", table).replace("{user}", &name);
    shared().ask(&format!("CREATE USER {name} PASSWORD 'hunter2'; {grants}"));
    let url = config.url.replace("postgres@", &format!("{name}:hunter2@"));
    let mut config = config.clone().auto_migrate(false);
    config.url = url;
    config
}

/// All that a store needs.
const GRANTS: &str = "GRANT SELECT, INSERT, UPDATE, DELETE ON {table} TO {user};
                      GRANT SELECT ON {table}_version TO {user}";

fn unavailable(answer: Result<SqlStore, ConnectError>) -> StoreError {
    match answer {
        Err(ConnectError::Unavailable(error)) => error,
        answer => panic!("{answer:?}"),
    }
}

/// All that an error says, and all that lies below.
fn texts(error: &(dyn Error + 'static)) -> String {
    let (mut texts, mut next) = (String::new(), Some(error));
    // Ends: a chain of sources does.
    while let Some(error) = next {
        texts += &format!("{error} {error:?}\n");
        next = error.source();
    }
    texts
}

#[tokio::test(flavor = "multi_thread")]
async fn user_needs_no_more_than_is_listed() {
    let store = connect(user(&config(shared().url()), GRANTS).await).await;
    works(&store).await;
    store.upkeep_once().await.expect("kept up");
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_password_is_refused_and_told_nowhere() {
    let mut config = user(&config(shared().url()), GRANTS).await;
    config.url = config.url.replace("hunter2", "swordfish");
    assert!(!format!("{config:?}").contains("swordfish"));
    let error = SqlStore::connect(config).await.expect_err("it is let in");
    assert!(!texts(&error).contains("swordfish"), "{}", texts(&error));
    assert_eq!(unavailable(Err(error)).kind(), StoreErrorKind::Refused);
}

#[tokio::test(flavor = "multi_thread")]
async fn url_that_cannot_be_read_is_told_nowhere() {
    for url in ["postgres://u:swordfish@host:port/db", "postgres://h/d?pasword=swordfish"] {
        let error = SqlStore::connect(SqlConfig::new(url)).await.expect_err("it is no url");
        assert!(matches!(error, ConnectError::Config(_)), "{error:?}");
        assert!(!texts(&error).contains("swordfish"), "{}", texts(&error));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_database_and_missing_server_are_told_apart() {
    let error = unavailable(SqlStore::connect(config(shared().url() + "_absent")).await);
    assert_eq!(error.kind(), StoreErrorKind::Refused);
    // Nobody listens on the first port.
    let error =
        unavailable(SqlStore::connect(config("postgres://u:swordfish@127.0.0.1:1/d")).await);
    assert_eq!(error.kind(), StoreErrorKind::Unreachable);
    assert!(!texts(&error).contains("swordfish"), "{}", texts(&error));
}

#[tokio::test(flavor = "multi_thread")]
async fn user_without_rights_is_refused() {
    let grants = "GRANT SELECT ON {table}, {table}_version TO {user}";
    let store = connect(user(&config(shared().url()), grants).await).await;
    assert_eq!(store.peek(fresh_address()).await.expect("an answer"), RecordState::Free);
    match store.acquire(fresh_address(), long_terms()).await {
        Err(AcquireError::Unavailable(error)) => {
            assert_eq!(error.kind(), StoreErrorKind::Refused);
        }
        answer => panic!("{answer:?}"),
    }
    let blind = user(&config(shared().url()), "").await;
    assert_eq!(unavailable(SqlStore::connect(blind).await).kind(), StoreErrorKind::Refused);
    let config = user(&config(shared().url()), GRANTS).await.table("fresh_of_a_plain_user");
    match migrate(&config).await {
        Err(ConnectError::Unavailable(error)) => assert!(!error.is_transient(), "{error:?}"),
        answer => panic!("{answer:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn table_that_is_dropped_is_refused_until_it_is_back() {
    let config = config(shared().url());
    let store = connect(config.clone()).await;
    works(&store).await;
    let table = &config.table;
    shared().ask(&format!("DROP TABLE {table}, {table}_version"));
    let error = store.peek(fresh_address()).await.expect_err("there is no table");
    assert_eq!(error.kind(), StoreErrorKind::Refused);
    migrate(&config).await.expect("migrated");
    works(&store).await;
}

/// A standby, or a server that was made so.
#[tokio::test(flavor = "multi_thread")]
async fn read_only_database_is_unavailable_and_still_looks() {
    let mut config = config(shared().url());
    migrate(&config).await.expect("migrated");
    config.url += "?options=-c%20default_transaction_read_only%3Don";
    let store = connect(config).await;
    assert_eq!(store.peek(fresh_address()).await.expect("an answer"), RecordState::Free);
    match store.acquire(fresh_address(), long_terms()).await {
        Err(AcquireError::Unavailable(error)) => {
            assert_eq!(error.kind(), StoreErrorKind::Unreachable);
        }
        answer => panic!("{answer:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn user_with_too_few_connections_is_unavailable_for_a_while() {
    let grants = format!("{GRANTS}; ALTER USER {{user}} CONNECTION LIMIT 1");
    let config = user(&config(shared().url()), &grants).await;
    let one = connect(config.clone()).await;
    let error = unavailable(SqlStore::connect(config.clone()).await);
    assert_eq!(error.kind(), StoreErrorKind::Unreachable);
    drop(one);
    // Ends: the server sees within moments that the connection is closed.
    let again = async {
        while SqlStore::connect(config.clone()).await.is_err() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), again).await.expect("it is let in");
}
