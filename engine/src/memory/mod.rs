//! The in-memory store: the contract's verbs, as plain calls.
//!
//! Each verb reads like its law: find the entry, decide by its word and the clock, move the word by
//! one compare and swap, and look again if another thread was first. What an entry is made of is
//! the lower levels' business. Nothing here is `unsafe`.
//!
//! # Progress
//! Every verb is lock-free: a retry means that another thread's move succeeded. The allocator is
//! asked once in 16 threads, and for each kept outcome. A thread that stalls while it grants a key
//! keeps that key in flight, and no other.
//!
//! Three calls may wait for a stalled thread: a `forget` or a `peek` of the key that it is
//! granting; and an acquire that finds no free place while the thread has one in hand, since nobody
//! can know then whether the store is full.

mod acquire;
mod many;
mod settle;
mod store;
#[cfg(feature = "validate")]
mod validate;

use std::sync::Arc;

use crate::clock::Clock;
use crate::config::{ConfigError, MemoryConfig};
use crate::contract::{Address, Lease, RecordState, Usage};
use crate::entries::Entries;
use crate::holder::Holder;
use crate::identity::{Identities, Identity};
use crate::index::{Found, Look};
use crate::stats::{Event, Stats};
use crate::sweep;
use crate::sync::{AtomicU32, Ordering, yield_now};
use crate::token::Tokens;
use crate::word::Phase;

/// Leases in this process's memory: lock-free, bounded, and gone when the process ends.
///
/// Its verbs are plain calls that take an [`Identity`]; the same verbs by [`Address`] and as
/// futures come with [`LeaseStore`](crate::LeaseStore). Share it in an [`Arc`].
///
/// ```
/// use std::time::Duration;
/// use leasehold::{Admission, MemoryConfig, MemoryStore, Terms, Ttl};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = MemoryStore::new(MemoryConfig::default())?;
/// let payment = store.identify(&[b"payments", b"key-1"]);
/// let terms = Terms::new(Ttl::new(Duration::from_secs(30))?);
///
/// let Admission::Granted(mut lease) = store.acquire(payment, &terms)? else { panic!() };
/// assert!(matches!(store.acquire(payment, &terms)?, Admission::InFlight { .. }));
///
/// store.commit(&mut lease, None, Ttl::new(Duration::from_secs(86_400))?)?;
/// assert!(matches!(store.acquire(payment, &terms)?, Admission::Completed { .. }));
/// # Ok(())
/// # }
/// ```
pub struct MemoryStore {
    entries: Entries,
    clock: Clock,
    tokens: Tokens,
    identities: Identities,
    /// 1 once the store is closed.
    closed: AtomicU32,
}

impl MemoryStore {
    /// A store on the system's clock. Allocates everything that it will need for its entries.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] names the setting; the caller should refuse the configuration.
    pub fn new(config: MemoryConfig) -> Result<Self, ConfigError> {
        Self::with_clock(config, Clock::system())
    }

    /// A store on a clock of the caller's, made for it alone.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] names the setting; the caller should refuse the configuration.
    pub fn with_clock(config: MemoryConfig, clock: Clock) -> Result<Self, ConfigError> {
        config.check()?;
        let no_memory = |_| ConfigError::Memory {
            given: config.max_entries,
            bytes: config.footprint().bytes(),
        };
        Ok(Self {
            entries: Entries::new(&config).map_err(no_memory)?,
            clock,
            tokens: Tokens::new(),
            identities: Identities::new(),
            closed: AtomicU32::new(0),
        })
    }

    /// What this store knows a key by. The parts are everything that scopes the key, and the key:
    /// their order, number and boundaries count. Means nothing to another store.
    #[must_use]
    pub fn identify(&self, parts: &[&[u8]]) -> Identity {
        self.identities.of_parts(parts)
    }

    /// The same for an address. No list of parts has this identity.
    #[must_use]
    pub fn identify_address(&self, address: &Address) -> Identity {
        self.identities.of_address(address)
    }

    /// Releases the lease when the returned holder is dropped, a panic included, unless it was
    /// committed.
    pub fn hold(&self, lease: Lease) -> Holder<'_> {
        Holder::new(self, lease)
    }

    /// What an acquire of this identity would meet.
    #[must_use]
    pub fn peek(&self, identity: Identity) -> RecordState {
        // Ends: each turn means that another thread moved the word, or is about to.
        loop {
            let now = self.clock.precise();
            let Some(Found { slot, word }) = self.find(identity) else {
                return RecordState::Free;
            };
            if word.phase() == Phase::Pending {
                // Its deadline is not there yet.
                yield_now();
                continue;
            }
            if !word.is_live(now.tick()) {
                return RecordState::Free;
            }
            let remaining = word.deadline().remaining(now);
            if word.phase() == Phase::InFlight {
                return RecordState::InFlight { remaining };
            }
            let replayable = self.entries.outcomes.get(slot, word.generation()).is_some();
            if self.entries.word(slot).is_some_and(|cell| cell.is_still(word)) {
                return RecordState::Completed { remaining, replayable };
            }
        }
    }

    /// Removes whatever is kept for the identity; true if that was live. A running holder then
    /// finds itself superseded. **The request may run again.**
    pub fn forget(&self, identity: Identity) -> bool {
        let mine = self.entries.accounts.mine();
        // Ends: each turn means that another thread moved the word, or is about to.
        while let Some(found) = self.find(identity) {
            match found.word.phase() {
                Phase::Dead => return false,
                Phase::Pending => {
                    // Others may have been told of the grant that is being made, so it has to be
                    // there before it can be forgotten.
                    yield_now();
                    continue;
                }
                Phase::InFlight | Phase::Committed => {}
            }
            let now = self.clock.precise().tick();
            let live = found.word.is_live(now);
            if self.entries.end(mine, found, |cell, word| cell.reclaim(word, now)) {
                if live {
                    mine.count(Event::Forgotten);
                }
                return live;
            }
        }
        false
    }

    /// The slot that holds the identity, be it dead or alive.
    fn find(&self, identity: Identity) -> Option<Found> {
        match self.entries.index.look(&self.entries.index.sought(identity)) {
            Look::Found(found) => Some(found),
            Look::Vacant(_) => None,
        }
    }

    /// Reclaims up to `budget` expired entries; gives their number. Only frees memory.
    pub fn sweep(&self, budget: usize) -> usize {
        let now = self.clock.precise().tick();
        sweep::entries(&self.entries, self.entries.accounts.mine(), now, budget)
    }

    /// Reclaims everything that has expired; gives the number reclaimed.
    pub fn sweep_all(&self) -> usize {
        self.sweep(usize::MAX)
    }

    /// Refuses new acquires from now on; running leases may still settle.
    pub fn close(&self) {
        // [C1] `Release`: what the closer did before is seen by who is refused.
        self.closed.store(1, Ordering::Release);
    }

    fn is_closed(&self) -> bool {
        // [C1] `Acquire`: see `close`.
        self.closed.load(Ordering::Acquire) == 1
    }

    /// Entries and their bound. Expired entries count until they are reclaimed. Exact once nothing
    /// runs.
    #[must_use]
    pub fn usage(&self) -> Usage {
        Usage { entries: self.entries.entries(), max_entries: self.entries.max_entries() }
    }

    /// Bytes of all outcomes that are kept, or still held by readers.
    #[must_use]
    pub fn outcome_bytes(&self) -> u64 {
        self.entries.outcomes.bytes_used()
    }

    /// What the store has done since it was made.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.entries.accounts.snapshot()
    }

    pub(crate) const fn clock(&self) -> &Clock {
        &self.clock
    }
}

impl std::fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemoryStore")
            .field("usage", &self.usage())
            .field("clock", &self.clock)
            .finish_non_exhaustive()
    }
}

/// A shared store can be handed to threads and tasks.
const _: fn() = || {
    fn shared<T: Send + Sync + 'static>() {}
    shared::<Arc<MemoryStore>>();
};
