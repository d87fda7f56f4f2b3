//! What does one more copy of a request cost, when the first has succeeded?
//!
//! One thread, keys uniformly random, stores filled to 70 %. `thrpt` is per request.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use leasehold_benches::{effort, verbs, workload};

/// Copies in one iteration: more than the first cache holds keys for.
const ASKED: usize = 10_000;

fn duplicate(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("duplicate");
    let terms = workload::terms();
    group.throughput(Throughput::Elements(ASKED as u64));
    for live in effort::sizes(&[10_000, 100_000, 1_000_000]) {
        let (store, keys) = verbs::filled(live);
        // Enough different lists that an iteration does not find the last one's keys in the cache.
        let asked = workload::duplicates(&keys, (10 * ASKED).min(10 * live));
        let mut lists = asked.chunks(ASKED).cycle();
        group.bench_function(format!("acquire/live-{live}/1"), |bencher| {
            bencher.iter(|| {
                for key in lists.next().unwrap_or_default() {
                    verbs::acquire_duplicate(&store, key, &terms);
                }
            });
        });
    }
    group.finish();
}

criterion_group! { name = benches; config = effort::short(); targets = duplicate }
criterion_main!(benches);
