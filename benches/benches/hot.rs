//! How much do threads hinder each other that all want the same 16 keys?
//!
//! Acquire and release, 1 to as many threads as there are cores. Times are of the whole team;
//! `thrpt` is per attempt, of whichever thread.

use criterion::{Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use leasehold_benches::passes::{self, Shift};
use leasehold_benches::store::{Leasehold, Store, Watch};
use leasehold_benches::{effort, workload};

/// Attempts in one iteration.
const ATTEMPTS: usize = 20_000;

/// Keys that everybody wants.
const KEYS: usize = 16;

fn hot(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("hot");
    let keys: Vec<_> = workload::keys(workload::Purpose::Hot).take(KEYS).collect();
    let asked = workload::duplicates(&keys, ATTEMPTS);
    group.throughput(Throughput::Elements(ATTEMPTS as u64));
    // As many iterations in each sample: an iteration is long once threads meet.
    group.sampling_mode(SamplingMode::Flat);
    for threads in effort::teams() {
        let store = Leasehold::new(10_000, effort::LONG, Watch::system());
        group.bench_function(format!("release/16-keys/{threads}"), |bencher| {
            let shift = Shift { threads, longest: effort::LONG };
            bencher.iter_custom(|times| {
                (0..times).map(|_| passes::hot(&store, &asked, shift).elapsed).sum()
            });
        });
    }
    group.finish();
}

criterion_group! { name = benches; config = effort::short(); targets = hot }
criterion_main!(benches);
