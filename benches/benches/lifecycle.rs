//! What does one request cost in the memory store: its first run, its duplicate, its failed run?
//!
//! One thread, ten thousand keys a store. Times are of the whole batch; `thrpt` is per request.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use leasehold_benches::{verbs, workload};

/// Keys of one batch. Arbitrary: enough to leave the first cache, few enough for short runs.
const KEYS: usize = 10_000;

/// Each iteration fills a store of its own, and drops it outside of the timed part.
fn lifecycle(criterion: &mut Criterion) {
    let keys = workload::keys(KEYS);
    let (terms, kept) = (workload::terms(), workload::kept_ttl());
    let mut group = criterion.benchmark_group("lifecycle");
    group.throughput(Throughput::Elements(KEYS as u64));

    group.bench_function("commit/fresh/1", |bencher| {
        let run = |store| {
            for key in &keys {
                let mut lease = verbs::acquire_fresh(&store, key, &terms);
                verbs::commit(&store, &mut lease, kept);
            }
            store
        };
        bencher.iter_batched(|| workload::store(KEYS), run, BatchSize::PerIteration);
    });

    group.bench_function("release/fresh/1", |bencher| {
        let run = |store| {
            for key in &keys {
                let mut lease = verbs::acquire_fresh(&store, key, &terms);
                verbs::release(&store, &mut lease);
            }
            store
        };
        bencher.iter_batched(|| workload::store(KEYS), run, BatchSize::PerIteration);
    });

    let store = workload::store(KEYS);
    for key in &keys {
        let mut lease = verbs::acquire_fresh(&store, key, &terms);
        verbs::commit(&store, &mut lease, kept);
    }
    let duplicates = workload::shuffled(&keys);
    group.bench_function("duplicate/uniform/1", |bencher| {
        bencher.iter(|| {
            for key in &duplicates {
                verbs::acquire_duplicate(&store, key, &terms);
            }
        });
    });
    group.finish();
}

criterion_group!(benches, lifecycle);
criterion_main!(benches);
