//! What can no store go below on this machine?
//!
//! The pieces that every verb is made of: to read the clock, to hash a key's parts, to change a
//! counter that is at hand, and to load from memory that no cache holds, once the address is known
//! (`independent`) and when each address comes out of the load before (`dependent`).

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use leasehold_benches::{effort, workload};

/// Places of four bytes to load from: 256 MiB, more than any cache holds.
const PLACES: usize = 1 << 26;

/// Loads in one iteration.
const LOADS: usize = 10_000;

fn pieces(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("floor");
    let clock = quanta::Clock::new();
    group.bench_function("clock/now/1", |bencher| bencher.iter(|| clock.now()));
    let store = workload::store(1);
    let key = workload::keys(workload::Purpose::Hot).next().expect("a key");
    group.bench_function("identify/40-bytes/1", |bencher| {
        bencher.iter(|| store.identify(&black_box(&key).parts()));
    });
    let counter = AtomicU64::new(0);
    group.bench_function("fetch-add/uncontended/1", |bencher| {
        bencher.iter(|| counter.fetch_add(1, Ordering::Relaxed));
    });
    group.finish();
}

/// One circle through all places, in an order that no prefetcher guesses (Sattolo's shuffle).
fn circle(places: usize) -> Vec<u32> {
    let mut random = fastrand::Rng::with_seed(7);
    let mut next: Vec<u32> = (0..).take(places).collect();
    for at in (1..places).rev() {
        next.swap(at, random.usize(..at));
    }
    next
}

fn loads(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("floor");
    group.throughput(Throughput::Elements(LOADS as u64));
    let next = circle(effort::size(PLACES));
    let mut at = 0;
    group.bench_function("load/dependent/1", |bencher| {
        bencher.iter(|| {
            for _ in 0..LOADS {
                at = next[at as usize];
            }
            at
        });
    });
    let mut random = fastrand::Rng::with_seed(8);
    let places: Vec<_> = (0..LOADS * 100).map(|_| random.usize(..next.len())).collect();
    let mut lists = places.chunks(LOADS).cycle();
    group.bench_function("load/independent/1", |bencher| {
        bencher.iter(|| {
            let places = lists.next().unwrap_or_default();
            places.iter().fold(0_u32, |sum, place| sum.wrapping_add(next[*place]))
        });
    });
    group.finish();
}

criterion_group! { name = benches; config = effort::short(); targets = pieces, loads }
criterion_main!(benches);
