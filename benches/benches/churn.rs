//! What does a lifecycle cost when keys end as fast as they come?
//!
//! Acquire and commit of fresh keys that are kept for 50 to 350 ms, by the system's clock, after
//! half a second of the same. `thrpt` is per request, of whichever thread.

use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use leasehold_benches::store::{Leasehold, Store, Watch};
use leasehold_benches::{effort, passes, workload};

/// The longest time that a key is kept, and a little more.
const WARM_UP: Duration = Duration::from_millis(400);

/// How long one measurement goes on.
const MEASURED: Duration = Duration::from_millis(200);

/// Keys for each thread: more than it gets through.
const KEYS: usize = 2_000_000;

fn churn(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("churn");
    let kept = workload::churn_ttls(100_000);
    let count = effort::size(KEYS);
    group.throughput(Throughput::Elements(1));
    for threads in effort::teams() {
        let list = |thread| workload::keys(workload::Purpose::Churn(thread)).take(count).collect();
        let keys: Vec<Vec<_>> = (0..).map(list).take(threads).collect();
        group.bench_function(format!("commit/50-to-350-ms/{threads}"), |bencher| {
            bencher.iter_custom(|times| {
                let store = Leasehold::new(threads * count, effort::LONG, Watch::system());
                let work = passes::churn(&store, &keys, &kept, WARM_UP, MEASURED);
                assert_eq!(work.wrong, 0, "a key was not granted");
                // The rate of a fixed time stands for as many requests as criterion asks for.
                Duration::from_secs_f64(work.ns_per_op() * 1e-9 * times as f64)
            });
        });
    }
    group.finish();
}

criterion_group! { name = benches; config = effort::few(); targets = churn }
criterion_main!(benches);
