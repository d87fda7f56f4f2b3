//! Ten million operations on two threads against 100,000 places, then a count.
//!
//! ```text
//! cargo run --release -p leasehold --example soak [OPERATIONS]
//! ```
//!
//! Each thread acquires fresh keys; of seven in ten it commits the lease with a ttl of 0.5 to 4
//! seconds, two it releases, one it leaves to end by itself; and it asks again for keys that it has
//! committed. A manual clock moves one tick after every 2,000 keys, so that entries expire all the
//! while and the store stays near its bound. At the end the number of live entries must be exact,
//! and memory must not have grown since the first million operations. Exits with 1 if either fails.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use leasehold::{
    AcquireError, Admission, Clock, ManualClock, MemoryConfig, MemoryStore, Terms, Ttl,
};

const THREADS: u64 = 2;
const ENTRIES: usize = 100_000;
const KEYS_PER_TICK: u64 = 2_000;
const TICK: Duration = Duration::from_millis(32);
const LEASE_TICKS: u64 = 10;
const GRACE_TICKS: u64 = 10;
const MILLION: u64 = 1_000_000;
/// What resident memory may move by itself: the allocator's slack, in bytes.
const SLACK: u64 = 1 << 20;

fn main() -> ExitCode {
    let operations = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(10 * MILLION);
    let (clock, hand) = Clock::manual();
    let config = MemoryConfig::default()
        .max_entries(ENTRIES)
        .late_grace(TICK * u32::try_from(GRACE_TICKS).unwrap_or(u32::MAX));
    let before = resident_bytes();
    let store = match MemoryStore::with_clock(config, clock) {
        Ok(store) => store,
        Err(error) => {
            eprintln!("soak: {error}");
            return ExitCode::FAILURE;
        }
    };
    let soak = Soak { store, hand, done: AtomicU64::new(0), barrier: Barrier::new(2) };
    let started = now();
    let (expected, settled) = soak.run(operations);
    let elapsed = started.elapsed();
    soak.report(expected, operations, elapsed, before, settled)
}

struct Soak {
    store: MemoryStore,
    hand: ManualClock,
    /// Operations so far: acquires, commits, releases; expiries are what the store reclaims.
    done: AtomicU64,
    barrier: Barrier,
}

impl Soak {
    /// Runs the operations; gives the live entries that there must be, and the resident bytes after
    /// the first million operations.
    fn run(&self, operations: u64) -> (u64, u64) {
        let settled = AtomicU64::new(0);
        let expected = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS)
                .map(|number| {
                    let settled = &settled;
                    scope.spawn(move || Worker::new(self, number).work(operations, settled))
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap_or(u64::MAX)).sum()
        });
        (expected, settled.into_inner())
    }

    fn report(
        &self,
        expected: u64,
        operations: u64,
        took: Duration,
        before: u64,
        settled: u64,
    ) -> ExitCode {
        self.store.sweep_all();
        let live = self.store.usage().entries as u64;
        let after = resident_bytes();
        let stats = self.store.stats();
        let total = self.done.load(Ordering::Relaxed) + stats.reclaimed;
        println!(
            "operations        {total} ({} acquires granted, {} committed, {} released, {} \
            expired, {} refused as full)",
            stats.granted, stats.committed, stats.released, stats.reclaimed, stats.full
        );
        println!("operations/second {:.0}", total as f64 / took.as_secs_f64());
        println!(
            "bytes per entry   {:.0} resident, {ENTRIES} places",
            after.saturating_sub(before) as f64 / ENTRIES as f64
        );
        println!("live entries      {live}, expected {expected}");
        println!("resident bytes    {settled} after the first million, {after} at the end");
        if live != expected {
            eprintln!("soak: the live count is wrong");
            return ExitCode::FAILURE;
        }
        if operations > MILLION && after > settled + SLACK {
            eprintln!("soak: memory grew");
            return ExitCode::FAILURE;
        }
        ExitCode::SUCCESS
    }
}

struct Worker<'a> {
    soak: &'a Soak,
    number: u64,
    random: u64,
    tick: u64,
    keys: u64,
    /// How many of this thread's entries end at each tick.
    ends: BTreeMap<u64, u64>,
    last_committed: Option<u64>,
}

impl<'a> Worker<'a> {
    fn new(soak: &'a Soak, number: u64) -> Self {
        let random = 0x9e37_79b9_7f4a_7c15 ^ (number + 1);
        Self { soak, number, random, tick: 0, keys: 0, ends: BTreeMap::new(), last_committed: None }
    }

    /// Works until the operations are done; gives how many of its entries are then live.
    fn work(mut self, operations: u64, settled: &AtomicU64) -> u64 {
        loop {
            for _ in 0..KEYS_PER_TICK / THREADS {
                let done = self.one_key();
                self.soak.done.fetch_add(done, Ordering::Relaxed);
            }
            self.soak.barrier.wait();
            let done = self.soak.done.load(Ordering::Relaxed);
            if self.number == 0 {
                self.soak.hand.advance(TICK);
                if done >= MILLION && settled.load(Ordering::Relaxed) == 0 {
                    settled.store(resident_bytes(), Ordering::Relaxed);
                }
            }
            self.soak.barrier.wait();
            self.tick += 1;
            self.ends = self.ends.split_off(&(self.tick + 1));
            if done >= operations {
                return self.ends.values().sum();
            }
        }
    }

    /// One key's life, and a duplicate; gives the number of operations.
    fn one_key(&mut self) -> u64 {
        self.keys += 1;
        let terms = Terms::new(ticks(LEASE_TICKS));
        let mut lease = match self.acquire(self.keys, &terms) {
            Ok(Admission::Granted(lease)) => lease,
            Err(AcquireError::Full) => return 1,
            other => panic!("a fresh key was answered {other:?}"),
        };
        let mut done = 2;
        match self.draw() % 10 {
            0..=6 => {
                let ttl = 16 + self.draw() % 110;
                self.soak.store.commit(&mut lease, None, ticks(ttl)).expect("the lease is new");
                *self.ends.entry(self.tick + ttl).or_default() += 1;
                if let Some(key) = self.last_committed.replace(self.keys) {
                    let again = self.acquire(key, &terms).expect("the key is present");
                    assert!(matches!(again, Admission::Completed { .. }), "{again:?}");
                    done += 1;
                }
            }
            7..=8 => self.soak.store.release(&mut lease).expect("the lease is new"),
            _ => {
                *self.ends.entry(self.tick + LEASE_TICKS + GRACE_TICKS).or_default() += 1;
                done = 1;
            }
        }
        done
    }

    fn acquire(&self, key: u64, terms: &Terms) -> Result<Admission, AcquireError> {
        let parts: [&[u8]; 3] = [b"soak", &self.number.to_le_bytes(), &key.to_le_bytes()];
        self.soak.store.acquire(self.soak.store.identify(&parts), terms)
    }

    /// The next number of a splitmix64 generator (S. Vigna): seeded, so that runs are alike.
    fn draw(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

fn ticks(count: u64) -> Ttl {
    let ttl = TICK.saturating_mul(u32::try_from(count).unwrap_or(u32::MAX));
    Ttl::new(ttl).expect("above zero, below ten years")
}

#[expect(clippy::disallowed_methods, reason = "the soak times itself; the store does not")]
fn now() -> Instant {
    Instant::now()
}

/// Resident memory of this process in bytes, where the system tells it as Linux does; else zero.
fn resident_bytes() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm")
        .ok()
        .and_then(|statm| statm.split_whitespace().nth(1)?.parse::<u64>().ok());
    pages.unwrap_or(0) * 4096
}
