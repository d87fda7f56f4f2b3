//! Records in MySQL or MariaDB.
//!
//! What only looks takes no lock; what writes is one statement whose condition is checked under
//! the row's lock. MariaDB waits for no lock at all if it is told so. MySQL waits for a
//! second at least, so there a row is locked by a statement of its own that does not wait, in a
//! transaction that ends with the write.
//!
//! Isolation is READ COMMITTED, on connections that are ours alone: nothing here locks a gap.

mod acquire;
mod batch;
mod connect;
mod error;
mod migrate;
mod product;
mod row;
mod settle;
mod statement;
mod transaction;
mod verbs;

#[cfg(test)]
mod tests;

pub(crate) use connect::{open, options};
pub(crate) use error::read;
pub(crate) use migrate::migrate;
