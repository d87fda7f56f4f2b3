//! The SQL stores against real databases, which these tests start and stop.

#[cfg(feature = "sqlite")]
mod sqlite;
