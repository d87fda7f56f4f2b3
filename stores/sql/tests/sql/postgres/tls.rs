//! Connections by TLS.

use std::time::Duration;

use leasehold::StoreErrorKind;
use leasehold_sql::{ConnectError, SqlStore};
use leasehold_sql_server::Postgres;
use rcgen::{CertifiedKey, generate_simple_self_signed};

use crate::keys::{self, connect, works};
use crate::postgres::server;

fn certificate() -> CertifiedKey<rcgen::KeyPair> {
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    generate_simple_self_signed(names).expect("a certificate")
}

/// A server that speaks TLS too. Its own user has to own its key, so it writes the files itself, in
/// its own folder.
fn encrypted() -> (Postgres, String) {
    let server = server();
    let CertifiedKey { cert, signing_key } = certificate();
    for (name, text) in [("server.crt", cert.pem()), ("server.key", signing_key.serialize_pem())] {
        let lines: Vec<_> = text.lines().map(|line| format!("('{line}')")).collect();
        server.ask(&format!(
            "COPY (VALUES {}) TO PROGRAM 'umask 077; cat > {name}'",
            lines.join(", ")
        ));
    }
    server.ask("ALTER SYSTEM SET ssl = on");
    server.ask("SELECT pg_reload_conf()");
    (server, cert.pem())
}

#[tokio::test(flavor = "multi_thread")]
async fn trusted_certificate_is_taken_and_another_is_not() {
    let (server, trusted) = encrypted();
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let verified = |name: &str, root: &str| {
        let file = folder.path().join(name);
        std::fs::write(&file, root).expect("a file");
        let file = file.display();
        keys::config(format!(
            "{}?sslmode=verify-full&sslrootcert={file}&application_name=tls",
            server.url()
        ))
    };
    let config = verified("trusted.pem", &trusted);
    // The server reads its configuration again within moments.
    let encrypted = async {
        loop {
            match SqlStore::connect(config.clone()).await {
                Ok(store) => break store,
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        }
    };
    let patience = Duration::from_secs(30);
    let store = tokio::time::timeout(patience, encrypted).await.expect("it is let in");
    works(&store).await;
    let encrypted = "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
                     WHERE application_name = 'tls'";
    assert_eq!(server.ask(encrypted), "t");
    match SqlStore::connect(verified("other.pem", &certificate().cert.pem())).await {
        Err(ConnectError::Unavailable(error)) => {
            assert_ne!(error.kind(), StoreErrorKind::NoAnswer, "{error:?}");
        }
        answer => panic!("{answer:?}"),
    }
    // Without any word on TLS it is taken where the server speaks it, and not asked for more.
    works(&connect(keys::config(server.url())).await).await;
}
