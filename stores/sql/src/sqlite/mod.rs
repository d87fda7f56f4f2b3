//! Records in a file of SQLite's: a few connections read, and one task writes in groups.
//!
//! Duplicates are answered by a plain read, so that neither a group nor another process that holds
//! the database's lock keeps them waiting. Everything that may write goes through the one writer.
//! Other processes may use the same file at the same time: each decision is made on rows that were
//! read under the lock.

#[cfg(test)]
mod agreement;
mod call;
mod failure;
mod group;
mod migration;
mod path;
mod records;
mod row;
mod slot;
mod texts;
mod verb;
mod writer;

pub(crate) use migration::migrate;
pub(crate) use path::options;
pub(crate) use records::open;
