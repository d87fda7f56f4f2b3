//! Leases that make a write succeed at most once: the contract that every store keeps.

pub mod contract;
mod random;
mod sync;

pub use contract::*;
