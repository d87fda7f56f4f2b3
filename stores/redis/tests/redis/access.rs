//! Users, databases and TLS; and that no password is told.

use std::error::Error as _;
use std::path::Path;

use leasehold::{LeaseStore as _, StoreErrorKind};
use leasehold_redis::{ConnectError, RedisConfig, RedisStore};
use leasehold_redis_server::Server;

use crate::keys::{connect, fresh_address, granted, long_terms, server, store, works};

/// All that the store asks for, as `docs/redis.md` lists it.
const USER: &str = "user leases on >hunter2 ~leasehold:* -@all +evalsha +eval +get +set +del \
                    +pexpireat +time +info +select";

/// A server whose users stand in a file.
fn guarded(users: &str) -> Server {
    Server::start_with(|_, folder: &Path| {
        let file = folder.join("users.acl");
        std::fs::write(&file, format!("user default off\n{users}\n")).expect("a file");
        vec!["--aclfile".to_owned(), file.display().to_string()]
    })
}

fn url(server: &Server, user: &str) -> String {
    server.url().replace("redis://", &format!("redis://{user}@"))
}

#[tokio::test(flavor = "multi_thread")]
async fn user_needs_no_more_than_is_listed() {
    let server = guarded(USER);
    works(&store(&url(&server, "leases:hunter2")).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_password_is_refused_and_told_nowhere() {
    let server = guarded(USER);
    let config = RedisConfig::new(url(&server, "leases:swordfish"));
    assert!(!format!("{config:?}").contains("swordfish"));
    let Err(error) = RedisStore::connect(config).await else { panic!("it is let in") };
    match &error {
        ConnectError::Unavailable(error) => assert_eq!(error.kind(), StoreErrorKind::Refused),
        error => panic!("{error:?}"),
    }
    let mut texts = vec![format!("{error:?}"), error.to_string()];
    let mut source = error.source();
    while let Some(next) = source {
        texts.push(format!("{next:?} {next}"));
        source = next.source();
    }
    assert!(texts.iter().all(|text| !text.contains("swordfish")), "{texts:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn server_that_may_not_tell_its_policy_is_refused_unless_eviction_is_allowed() {
    let server = guarded(&USER.replace(" +info", ""));
    let config = RedisConfig::new(url(&server, "leases:hunter2"));
    match RedisStore::connect(config.clone()).await {
        Err(ConnectError::EvictionUnknown) => {}
        answer => panic!("{answer:?}"),
    }
    works(&connect(config.allow_eviction(true)).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn user_without_scripts_is_refused() {
    let server = guarded(&USER.replace(" +evalsha", ""));
    let store = store(&url(&server, "leases:hunter2")).await;
    let error = store.peek(fresh_address()).await.expect_err("it may not");
    assert_eq!(error.kind(), StoreErrorKind::Refused);
}

#[tokio::test(flavor = "multi_thread")]
async fn database_of_the_url_is_used() {
    let server = server();
    let store = store(&(server.url() + "/5")).await;
    let _lease = granted(store.acquire(fresh_address(), long_terms()).await);
    assert!(server.ask(&["INFO", "keyspace"]).contains("db5:keys=1"));
}

#[tokio::test(flavor = "multi_thread")]
async fn resp3_answers_alike() {
    let server = server();
    works(&store(&(server.url() + "/?protocol=resp3")).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn server_is_reached_by_its_socket() {
    let server = Server::start_with(|_, folder: &Path| {
        ["--unixsocket".to_owned(), folder.join("socket").display().to_string()].into()
    });
    let url = format!("unix://{}?db=2", server.folder().join("socket").display());
    let store = store(&url).await;
    let _lease = granted(store.acquire(fresh_address(), long_terms()).await);
    assert!(server.ask(&["INFO", "keyspace"]).contains("db2:keys=1"));
}

#[cfg(feature = "tls")]
mod tls {
    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn trusted_certificate_is_taken_and_another_is_not() {
        let (_server, url, certificate) = leasehold_redis_server::encrypted(&[]);
        let config = RedisConfig::new(&*url).root_certificate(certificate);
        works(&connect(config).await).await;
        match RedisStore::connect(RedisConfig::new(url)).await {
            Err(ConnectError::Unavailable(error)) => {
                assert_eq!(error.kind(), StoreErrorKind::Unreachable);
            }
            answer => panic!("{answer:?}"),
        }
    }
}
