//! Free ports of the loopback address.

use std::net::{Ipv4Addr, TcpListener};

/// Highest port that may be given: a cluster's nodes also listen 10,000 above their own.
const HIGHEST: u16 = 55_535;

/// A port on which nobody listens now. Another process may take it before its user does, so who
/// starts a server on it tries again with another.
pub(crate) fn free_port() -> u16 {
    // Ends: the system gives its ephemeral ports in turn, and most of them are low enough.
    loop {
        let listener =
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has free ports");
        let port = listener.local_addr().expect("a bound listener has an address").port();
        if port <= HIGHEST {
            return port;
        }
    }
}
