//! How do costs grow with threads and with size?
//!
//! Duplicates and lifecycles over stores of ten thousand to a million keys, 1 to as many threads as
//! there are cores. `thrpt` is per request, of whichever thread: threads that do not hinder each
//! other multiply it. Ten million keys are in the comparison (`rivals --live 10000000`), since to
//! fill them takes longer than to measure.

use criterion::{
    BenchmarkGroup, Criterion, SamplingMode, Throughput, criterion_group, criterion_main,
};
use leasehold_benches::key::Key;
use leasehold_benches::passes::{self, Shift};
use leasehold_benches::store::{Leasehold, Store, Watch};
use leasehold_benches::{effort, workload};

/// Requests in one iteration.
const REQUESTS: usize = 20_000;

type Group<'a> = BenchmarkGroup<'a, criterion::measurement::WallTime>;

fn duplicates(group: &mut Group<'_>, live: &[Key], threads: usize) {
    let store = Leasehold::new(workload::bound(live.len()), effort::LONG, Watch::system());
    passes::fill(&store, live);
    group.throughput(Throughput::Elements(REQUESTS as u64));
    group.sampling_mode(SamplingMode::Auto);
    let asked = workload::duplicates(live, REQUESTS * 10);
    let mut lists = asked.chunks(REQUESTS).cycle();
    let name = format!("duplicate/live-{}/{threads}", live.len());
    group.bench_function(name, |bencher| {
        let shift = Shift { threads, longest: effort::LONG };
        bencher.iter_custom(|times| {
            let mut pass = || {
                let asked = lists.next().unwrap_or_default();
                passes::duplicate(&store, asked, shift).elapsed
            };
            (0..times).map(|_| pass()).sum()
        });
    });
}

/// Each iteration fills a store, which is not timed, and makes it a tenth fuller, which is.
fn lifecycles(group: &mut Group<'_>, live: &[Key], threads: usize) {
    let fresh: Vec<_> = workload::keys(workload::Purpose::Fresh).take(live.len() / 10).collect();
    group.throughput(Throughput::Elements(fresh.len() as u64));
    // As many iterations in each sample: a million keys are filled in for each.
    group.sampling_mode(SamplingMode::Flat);
    let name = format!("commit/live-{}/{threads}", live.len());
    group.bench_function(name, |bencher| {
        let shift = Shift { threads, longest: effort::LONG };
        let lap = || {
            let store = Leasehold::new(workload::bound(live.len()), effort::LONG, Watch::system());
            passes::fill(&store, live);
            passes::lifecycle(&store, &fresh, shift).elapsed
        };
        bencher.iter_custom(|times| (0..times).map(|_| lap()).sum());
    });
}

fn scaling(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("scaling");
    for size in effort::sizes(&[10_000, 100_000, 1_000_000]) {
        let live: Vec<_> = workload::keys(workload::Purpose::Live).take(size).collect();
        for threads in effort::teams() {
            duplicates(&mut group, &live, threads);
            lifecycles(&mut group, &live, threads);
        }
    }
    group.finish();
}

criterion_group! { name = benches; config = effort::few(); targets = scaling }
criterion_main!(benches);
