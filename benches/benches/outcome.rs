//! What does it cost to keep what a run left, and to hand it out again?
//!
//! One thread; outcomes of 64 bytes and 4 KiB, shared, so that no copy is timed. `thrpt` is per
//! request.

use bytes::Bytes;
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use leasehold::{Admission, MemoryConfig, MemoryStore, Outcome};
use leasehold_benches::{effort, verbs, workload};

/// Requests in one iteration.
const REQUESTS: usize = 10_000;

/// Room for the outcomes of one iteration.
const OUTCOME_BYTES: usize = 1 << 30;

fn store() -> MemoryStore {
    let config = MemoryConfig::default().max_entries(workload::bound(REQUESTS));
    MemoryStore::new(config.max_outcome_bytes(OUTCOME_BYTES)).expect("a valid bound")
}

fn outcome(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("outcome");
    let (terms, kept) = (workload::terms(), workload::ttl(workload::KEPT_TTL));
    let keys: Vec<_> = workload::keys(workload::Purpose::Fresh).take(REQUESTS).collect();
    group.throughput(Throughput::Elements(REQUESTS as u64));
    for length in [64, 4_096] {
        let outcome = Outcome::new(Bytes::from(vec![7; length]));
        let commit_all = |store: MemoryStore| {
            for key in &keys {
                let mut lease = verbs::acquire_fresh(&store, key, &terms);
                let committed = store.commit(&mut lease, Some(outcome.clone()), kept);
                committed.expect("the lease is the current one");
            }
            store
        };
        group.bench_function(format!("commit/{length}-bytes/1"), |bencher| {
            bencher.iter_batched(store, commit_all, BatchSize::PerIteration);
        });
        let store = commit_all(store());
        group.bench_function(format!("replay/{length}-bytes/1"), |bencher| {
            bencher.iter(|| {
                for key in &keys {
                    match store.acquire(store.identify(&key.parts()), &terms) {
                        Ok(Admission::Completed { outcome: Some(kept), .. }) => {
                            assert_eq!(kept.as_bytes().len(), length);
                        }
                        other => panic!("an outcome was not kept: {other:?}"),
                    }
                }
            });
        });
    }
    group.finish();
}

criterion_group! { name = benches; config = effort::short(); targets = outcome }
criterion_main!(benches);
