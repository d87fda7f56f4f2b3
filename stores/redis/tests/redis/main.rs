//! The Redis store against real servers, which these tests start and stop.

mod access;
mod clients;
mod clocks;
mod conformance;
mod cuts;
mod dropped;
mod failover;
mod faults;
mod gated;
mod keys;
mod memory;
mod near;
mod proxy;
mod records;
mod replicas;
mod replication;
mod sentinel;
