//! The home of a lease store in an SQL database, for services that want a durable record of what
//! has succeeded.
//!
//! **There is no store in this crate yet.** It exports nothing; a service that needs its keys to
//! survive a restart cannot get that from Leasehold today. What belongs here is an implementation
//! of [`leasehold::LeaseStore`] on a table with a unique index, so that the database decides who
//! is granted, and which passes every law of the conformance suite.

#![forbid(unsafe_code)]
