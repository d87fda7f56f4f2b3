//! The laws of the lease contract, one public function each, for every store to run.
//!
//! `docs/contract.md` says what a store answers in which state; each of its cells names the
//! functions here that hold it. A store's tests implement [`Subject`] and call [`laws!`], which
//! makes one test of each law:
//!
//! ```
//! # use std::{sync::{Arc, Mutex}, time::Duration};
//! use leasehold::{Clock, ManualClock, MemoryConfig, MemoryStore};
//! use leasehold_conformance::Subject;
//!
//! struct Memory {
//!     store: Arc<MemoryStore>,
//!     clock: ManualClock,
//!     elapsed: Mutex<Duration>,
//! }
//!
//! impl Memory {
//!     fn new() -> Self {
//!         let (clock, hand) = Clock::manual();
//!         let config = MemoryConfig::default().max_entries(8);
//!         let store = MemoryStore::with_clock(config, clock).expect("a valid configuration");
//!         Self { store: Arc::new(store), clock: hand, elapsed: Mutex::default() }
//!     }
//! }
//!
//! impl Subject for Memory {
//!     // As the trait says, method by method.
//! #   type Store = MemoryStore;
//! #   const RECOGNISES_ATTEMPTS: bool = false;
//! #   fn store(&self) -> &Arc<MemoryStore> { &self.store }
//! #   fn late_grace(&self) -> Duration { MemoryConfig::default().late_grace }
//! #   fn resolution(&self) -> Duration { Duration::from_millis(64) }
//! #   fn short_ttl(&self) -> Duration { Duration::from_secs(10) }
//! #   fn max_entries(&self) -> Option<usize> { Some(8) }
//! #   fn place_lag(&self, _: Duration) -> Duration { Duration::from_secs(2) }
//! #   fn max_outcome_bytes(&self) -> Option<usize> { Some(64 << 20) }
//! #   fn elapsed(&self) -> Duration { *self.elapsed.lock().unwrap() }
//! #   async fn advance(&self, by: Duration) {
//! #       *self.elapsed.lock().unwrap() += by;
//! #       self.clock.advance(by);
//! #   }
//! #   async fn stranger(&self) -> Option<Arc<MemoryStore>> { Some(Self::new().store) }
//! #   async fn restarted(&self) -> Arc<MemoryStore> { Self::new().store }
//! }
//!
//! mod memory_store {
//!     use super::*;
//!     leasehold_conformance::laws!(Memory::new());
//! }
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! #     leasehold_conformance::acquire::free_key_is_granted(&Memory::new()).await;
//! # });
//! ```
//!
//! A law panics when it is broken; that is its job. It must know nothing of any store but what
//! [`Subject`] says, and wait for nothing but [`Subject::advance`].

#![forbid(unsafe_code)]

pub mod acquire;
pub mod attach;
pub mod attempt;
pub mod bound;
mod case;
pub mod close;
pub mod commit;
pub mod concurrency;
pub mod expiry;
pub mod fingerprint;
pub mod foreign;
mod list;
pub mod operator;
pub mod release;
pub mod renew;
mod sight;
mod subject;
pub mod token;

#[doc(hidden)]
pub use list::LAWS;
pub use subject::Subject;
