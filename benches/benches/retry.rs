//! What does one request cost that runs and fails: acquire and release?
//!
//! One thread, stores filled to 70 %. `again` fails with the same key each time, `fresh` with
//! another one. `thrpt` is per request.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use leasehold_benches::{effort, verbs, workload};

/// Requests in one iteration.
const REQUESTS: usize = 10_000;

fn retry(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("retry");
    let terms = workload::terms();
    let failing: Vec<_> = workload::keys(workload::Purpose::Failing).take(REQUESTS).collect();
    group.throughput(Throughput::Elements(REQUESTS as u64));
    for live in effort::sizes(&[10_000, 1_000_000]) {
        let (store, _) = verbs::filled(live);
        group.bench_function(format!("release/fresh/live-{live}/1"), |bencher| {
            bencher.iter(|| {
                for key in &failing {
                    verbs::release(&store, &mut verbs::acquire_fresh(&store, key, &terms));
                }
            });
        });
        group.bench_function(format!("release/again/live-{live}/1"), |bencher| {
            bencher.iter(|| {
                for key in failing.iter().take(1).cycle().take(REQUESTS) {
                    verbs::release(&store, &mut verbs::acquire_fresh(&store, key, &terms));
                }
            });
        });
    }
    group.finish();
}

criterion_group! { name = benches; config = effort::short(); targets = retry }
criterion_main!(benches);
