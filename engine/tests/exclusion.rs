//! Real threads on tiny stores: no two holders of a key, no slot lost, nothing more than the bound.
//!
//! The clock stands still, so nothing expires and every answer is exact: a key is held by who was
//! granted it until that thread gives it up. Few slots and few keys more, so that slots change
//! hands all the time and chains are full of neighbours that come and go.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use leasehold::{
    AcquireError, Admission, Clock, Identity, Lease, MemoryConfig, MemoryStore, Outcome, Terms, Ttl,
};

/// Steps of each thread in each round. Small enough that all rounds take a few seconds.
const STEPS: u64 = 4_000;
const ROUNDS: u64 = 300;

#[test]
fn a_key_has_one_holder_and_no_slot_is_lost() {
    for round in 0..ROUNDS {
        let slots = 1 + round % 5;
        let arena = Arena::new(slots as usize, (slots + 1 + round % 4) as usize);
        std::thread::scope(|scope| {
            for thread in 0..3 + round % 3 {
                let arena = &arena;
                scope.spawn(move || Player::new(arena, round * 8 + thread).play());
            }
        });
        arena.assert_whole();
    }
}

/// A store, its keys, and what is known of them from outside.
struct Arena {
    store: MemoryStore,
    slots: usize,
    keys: Vec<Key>,
    held: AtomicU64,
}

struct Key {
    identity: Identity,
    held: AtomicBool,
    /// The highest token that was granted for it.
    token: AtomicU64,
}

impl Arena {
    fn new(slots: usize, keys: usize) -> Self {
        let config = MemoryConfig::default().max_entries(slots);
        let store = MemoryStore::with_clock(config, Clock::manual().0).expect("a valid bound");
        let key = |number: usize| Key {
            identity: store.identify(&[&number.to_le_bytes()]),
            held: AtomicBool::new(false),
            token: AtomicU64::new(0),
        };
        Self { keys: (0..keys).map(key).collect(), store, slots, held: AtomicU64::new(0) }
    }

    fn acquire(&self, identity: Identity) -> Result<Admission, AcquireError> {
        self.store.acquire(identity, &Terms::new(ttl()))
    }

    /// Every slot can be had, and not one more.
    fn assert_whole(&self) {
        assert_eq!(self.store.usage().entries, 0);
        for number in 0..=self.slots {
            let answer = self.acquire(self.store.identify(&[b"end", &number.to_le_bytes()]));
            if number < self.slots {
                assert!(matches!(answer, Ok(Admission::Granted(_))), "slot {number}: {answer:?}");
            } else {
                assert!(matches!(answer, Err(AcquireError::Full)), "{answer:?}");
            }
        }
    }
}

/// One thread, and the leases that it holds.
struct Player<'a> {
    arena: &'a Arena,
    random: fastrand::Rng,
    leases: Vec<(usize, Lease)>,
}

impl<'a> Player<'a> {
    fn new(arena: &'a Arena, seed: u64) -> Self {
        Self { arena, random: fastrand::Rng::with_seed(seed), leases: Vec::new() }
    }

    fn play(mut self) {
        for _ in 0..STEPS {
            let step = if self.leases.is_empty() { 0 } else { self.random.u8(..5) };
            match step {
                0 if self.leases.len() < 2 => self.try_one(),
                1 => self.ask_for_its_own(),
                _ => self.give_one_up(),
            }
        }
        while !self.leases.is_empty() {
            self.give_one_up();
        }
    }

    fn try_one(&mut self) {
        let number = self.random.usize(..self.arena.keys.len());
        let key = &self.arena.keys[number];
        let lease = match self.arena.acquire(key.identity) {
            Ok(Admission::Granted(lease)) => lease,
            Ok(_) | Err(AcquireError::Full) => return,
            Err(other) => panic!("{other}"),
        };
        assert!(!key.held.swap(true, Ordering::SeqCst), "two holders");
        let held = self.arena.held.fetch_add(1, Ordering::SeqCst) + 1;
        assert!(held <= self.arena.slots as u64, "more than the bound");
        let before = key.token.swap(lease.token().get(), Ordering::SeqCst);
        assert!(before < lease.token().get(), "tokens rise");
        self.leases.push((number, lease));
    }

    /// Its own key is in flight, never full and never granted again; and the lease can be renewed.
    fn ask_for_its_own(&mut self) {
        let (number, lease) = &mut self.leases[0];
        let answer = self.arena.acquire(self.arena.keys[*number].identity);
        assert!(matches!(answer, Ok(Admission::InFlight { .. })), "{answer:?}");
        self.arena.store.renew(lease, ttl()).expect("the lease is current");
    }

    fn give_one_up(&mut self) {
        let (number, mut lease) = self.leases.swap_remove(0);
        let (store, key) = (&self.arena.store, &self.arena.keys[number]);
        let commits = self.random.bool();
        if commits {
            let left = Bytes::copy_from_slice(&lease.token().get().to_le_bytes());
            store.commit(&mut lease, Some(Outcome::new(left.clone())), ttl()).expect("current");
            match self.arena.acquire(key.identity) {
                Ok(Admission::Completed { outcome: Some(outcome), .. }) => {
                    assert_eq!(outcome.into_bytes(), left, "another grant's outcome");
                }
                other => panic!("{other:?}"),
            }
        }
        self.arena.held.fetch_sub(1, Ordering::SeqCst);
        assert!(key.held.swap(false, Ordering::SeqCst));
        if commits {
            assert!(store.forget(key.identity));
        } else {
            store.release(&mut lease).expect("the lease is current");
        }
    }
}

fn ttl() -> Ttl {
    Ttl::new(Duration::from_secs(3_600)).expect("a valid ttl")
}
