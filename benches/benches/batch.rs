//! How much does a caller save who has its keys together, by how many they are?
//!
//! One thread, duplicates uniformly random, a store of a million keys filled to 70 %. `thrpt` is
//! per key; batches of one show what the call itself costs.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use leasehold::{Admission, Identity};
use leasehold_benches::{effort, verbs, workload};

/// Keys in one iteration: whole batches of each length.
const ASKED: usize = 10_240;

/// Keys in a batch.
const LENGTHS: [usize; 5] = [1, 4, 16, 64, 256];

fn batch(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("batch");
    let terms = workload::terms();
    let live = effort::size(1_000_000);
    let (store, keys) = verbs::filled(live);
    let asked = workload::duplicates(&keys, 10 * ASKED);
    group.throughput(Throughput::Elements(ASKED as u64));
    for length in LENGTHS {
        let mut lists = asked.chunks(ASKED).cycle();
        let mut batch: Vec<Identity> = Vec::with_capacity(length);
        group.bench_function(format!("acquire-many/{length}-keys/live-{live}/1"), |bencher| {
            bencher.iter(|| {
                for keys in lists.next().unwrap_or_default().chunks(length) {
                    batch.clear();
                    batch.extend(keys.iter().map(|key| store.identify(&key.parts())));
                    for answer in store.acquire_many(&batch, &terms) {
                        let completed = matches!(answer, Ok(Admission::Completed { .. }));
                        assert!(completed, "a duplicate was not refused: {answer:?}");
                    }
                }
            });
        });
    }
    group.finish();
}

criterion_group! { name = benches; config = effort::short(); targets = batch }
criterion_main!(benches);
