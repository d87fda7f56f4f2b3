//! What does one request cost that runs and succeeds: acquire and commit of a fresh key?
//!
//! One thread. Each iteration fills a store of its own; `thrpt` is per request.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use leasehold_benches::{effort, verbs, workload};

fn lifecycle(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("lifecycle");
    let (terms, kept) = (workload::terms(), workload::ttl(workload::KEPT_TTL));
    for count in effort::sizes(&[10_000, 100_000]) {
        let keys: Vec<_> = workload::keys(workload::Purpose::Fresh).take(count).collect();
        group.throughput(Throughput::Elements(count as u64));
        group.bench_function(format!("commit/fresh-{count}/1"), |bencher| {
            let run = |store| {
                for key in &keys {
                    let mut lease = verbs::acquire_fresh(&store, key, &terms);
                    verbs::commit(&store, &mut lease, kept);
                }
                store
            };
            bencher.iter_batched(|| workload::store(count), run, BatchSize::PerIteration);
        });
    }
    group.finish();
}

criterion_group! { name = benches; config = effort::short(); targets = lifecycle }
criterion_main!(benches);
