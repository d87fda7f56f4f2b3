//! What does a store at its bound cost: to refuse, to still know what it holds, to fill up?
//!
//! One thread. `thrpt` is per request.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use leasehold::AcquireError;
use leasehold_benches::{effort, verbs, workload};

/// Requests in one iteration.
const REQUESTS: usize = 10_000;

fn full(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("full");
    let (terms, kept) = (workload::terms(), workload::ttl(workload::KEPT_TTL));
    let bound = effort::size(100_000);
    let held: Vec<_> = workload::keys(workload::Purpose::Live).take(bound).collect();
    let fresh: Vec<_> = workload::keys(workload::Purpose::Fresh).take(REQUESTS).collect();
    let filled = |count: usize| {
        let store = workload::store(bound);
        for key in &held[..count] {
            verbs::commit(&store, &mut verbs::acquire_fresh(&store, key, &terms), kept);
        }
        store
    };
    group.throughput(Throughput::Elements(REQUESTS as u64));
    let store = filled(bound);
    group.bench_function("refuse/fresh/1", |bencher| {
        bencher.iter(|| {
            for key in &fresh {
                let answer = store.acquire(store.identify(&key.parts()), &terms);
                assert!(matches!(answer, Err(AcquireError::Full)), "a full store took a key");
            }
        });
    });
    let asked = workload::duplicates(&held, REQUESTS);
    group.bench_function("duplicate/uniform/1", |bencher| {
        bencher.iter(|| {
            for key in &asked {
                verbs::acquire_duplicate(&store, key, &terms);
            }
        });
    });
    let last = &held[bound - bound / 10..];
    group.throughput(Throughput::Elements(last.len() as u64));
    group.bench_function("commit/last-tenth/1", |bencher| {
        let run = |store| {
            for key in last {
                let mut lease = verbs::acquire_fresh(&store, key, &terms);
                verbs::commit(&store, &mut lease, kept);
            }
            store
        };
        bencher.iter_batched(|| filled(bound - last.len()), run, BatchSize::PerIteration);
    });
    group.finish();
}

criterion_group! { name = benches; config = effort::few(); targets = full }
criterion_main!(benches);
