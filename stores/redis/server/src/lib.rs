//! Real Redis servers for tests and benches: each listens on a free port of the loopback address,
//! keeps its files in a temporary folder, and is gone when its handle or its process is.
//!
//! `redis-server` must be on the path (Debian: the package `redis-server`), or another program that
//! `REDIS_SERVER` names; without it every start panics and says so, since a test that is skipped
//! unseen protects nothing. This crate is for tests: nothing that ships may depend on it.
//!
//! ```
//! let server = leasehold_redis_server::Server::start(&["--maxmemory-policy", "noeviction"]);
//! assert_eq!(server.ask(&["PING"]), "+PONG");
//! ```

#![forbid(unsafe_code)]

mod cluster;
mod encrypted;
mod keeper;
mod port;
mod program;
mod server;
mod wire;

pub use cluster::Cluster;
pub use encrypted::encrypted;
pub use server::Server;
