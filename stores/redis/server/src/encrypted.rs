//! A server that is reached by TLS.

use rcgen::{CertifiedKey, generate_simple_self_signed};

use crate::server::Server;

/// Starts a server that speaks TLS alone, with these arguments besides; gives its URL, and its
/// certificate in PEM, which is its own authority. The server's own `ask` and `url` do not reach
/// it.
///
/// # Panics
///
/// If there is no `redis-server`, or it was built without TLS.
#[must_use]
pub fn encrypted(arguments: &[&str]) -> (Server, String, String) {
    let names = ["localhost", "127.0.0.1"].map(str::to_owned);
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(names).expect("a certificate");
    let server = Server::start_with(|port, folder| {
        let (certificate, key) = (folder.join("cert.pem"), folder.join("key.pem"));
        std::fs::write(&certificate, cert.pem()).expect("a file");
        std::fs::write(&key, signing_key.serialize_pem()).expect("a file");
        let port = port.to_string();
        let pairs = [
            ("--port", "0"),
            ("--tls-port", port.as_str()),
            ("--tls-cert-file", &certificate.display().to_string()),
            ("--tls-key-file", &key.display().to_string()),
            ("--tls-auth-clients", "no"),
        ];
        let placing = pairs.iter().flat_map(|(name, value)| [*name, *value]);
        placing.chain(arguments.iter().copied()).map(str::to_owned).collect()
    });
    let url = format!("rediss://127.0.0.1:{}", server.port());
    (server, url, cert.pem())
}
