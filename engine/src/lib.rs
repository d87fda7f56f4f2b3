//! Leases that make a write succeed at most once.
//!
//! A client sends a key with a write. The first request with that key is granted a *lease*; when
//! the work succeeds the lease is *committed* and the key is kept for its TTL; when it fails the
//! lease is *released* and the key may try again. Everybody else is told *in flight* or
//! *completed*.
//!
//! This crate has the contract ([`LeaseStore`], implemented by shared stores too) and the in-memory
//! store that keeps it without locks ([`MemoryStore`]).
//!
//! # What is promised
//! - Of any number of concurrent acquires of one key exactly one is granted.
//! - A lease or a kept key never ends before its TTL, and on read at most 64 ms after it.
//! - At its bound a store refuses; it evicts nothing that is live.
//! - Tokens of a key rise from grant to grant, so that whatever the handler writes to can fence.
//!
//! # What is not
//! A [`MemoryStore`] forgets everything when its process ends, and other processes do not see it.
//! A holder that stalls past its lease and its late grace may be overtaken: renew, or fence by
//! token.
//!
//! Start at [`MemoryStore`]; the laws stand on [`LeaseStore`].

mod accounts;
mod clock;
mod config;
pub mod contract;
mod entries;
mod expiry;
mod footprint;
mod holder;
mod identity;
mod index;
mod memory;
mod place;
mod random;
mod stats;
mod sweep;
mod sweeper;
mod sync;
mod token;
mod word;

pub use clock::{Clock, ManualClock};
pub use config::{ConfigError, MAX_ENTRIES, MemoryConfig, Pages};
pub use contract::*;
pub use footprint::Footprint;
pub use holder::Holder;
pub use identity::Identity;
pub use memory::MemoryStore;
pub use stats::Stats;
pub use sweeper::Sweeper;

/// The README's example, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
