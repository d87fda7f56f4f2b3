//! Free ports of the loopback address.

use std::net::{Ipv4Addr, TcpListener};

/// A port on which nobody listens now. Another process may take it before its user does, so who
/// starts a server on it tries again with another.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has free ports");
    listener.local_addr().expect("a bound listener has an address").port()
}
