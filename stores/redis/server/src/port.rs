//! Free ports of the loopback address, outside of those that the system gives to connections: while
//! a server is down, a connection, even one that tries to reach it, could take its port for its own
//! end.

use std::hash::{BuildHasher, RandomState};
use std::net::{Ipv4Addr, TcpListener};
use std::ops::RangeInclusive;

/// Below the range for connections (32,768 and more, unless somebody has changed that), and so are
/// those that a cluster's nodes listen on besides, 10,000 above their own. Above those of the SQL
/// servers that tests start.
const PORTS: RangeInclusive<u16> = 12_000..=21_999;

/// A port on which nobody listens now. Another process may take it before its user does, so who
/// starts a server on it tries again with another.
pub(crate) fn free_port() -> u16 {
    let width = u64::from(PORTS.end() - PORTS.start()) + 1;
    // Random, so that test runs beside each other seldom ask for the same ones. Ends: a machine on
    // which most of them are taken runs no tests.
    loop {
        let offset = RandomState::new().hash_one(()) % width;
        let port = PORTS.start() + u16::try_from(offset).expect("the range is one of ports");
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return port;
        }
    }
}
