//! The timed parts. Each does what its name says and nothing else: keys and times are made before.

use std::time::Duration;

use crate::key::Key;
use crate::stopwatch::Stopwatch;
use crate::store::{Answer, Store};
use crate::team::{self, Share, Work};
use crate::workload::{BATCH, KEPT_TTL};

/// Operations between two looks at the clock that ends a pass.
const STRIDE: usize = 64;

const _: () = assert!(STRIDE.is_multiple_of(BATCH), "a stride is cut into whole batches");

/// Who works, and how long at most.
#[derive(Clone, Copy, Debug)]
pub struct Shift {
    /// Threads at work.
    pub threads: usize,
    /// Longest that it may take. A store that needs milliseconds for an operation does fewer.
    pub longest: Duration,
}

/// The part of a list that one of several threads uses.
#[must_use]
pub fn part<T>(of: &[T], thread: usize, threads: usize) -> &[T] {
    let length = of.len() / threads.max(1);
    of.get(thread * length..(thread + 1) * length).unwrap_or_default()
}

/// Runs each thread over its part of the keys, until they or the time are used up.
fn pass(keys: &[Key], shift: Shift, operation: impl Fn(&Key) -> bool + Sync) -> Work {
    strides(keys, shift, |stride, share| {
        for key in stride {
            share.count(operation(key));
        }
    })
}

/// The same, a stride of keys at a time.
fn strides(keys: &[Key], shift: Shift, work: impl Fn(&[Key], &mut Share) + Sync) -> Work {
    let Shift { threads, longest } = shift;
    team::run(threads, |thread| {
        let stopwatch = Stopwatch::start();
        let mut share = Share::default();
        for stride in part(keys, thread, threads).chunks(STRIDE) {
            work(stride, &mut share);
            if stopwatch.elapsed() > longest {
                break;
            }
        }
        share
    })
}

/// One lifecycle; whether it went as a fresh key's does.
#[inline]
pub fn acquire_and_commit<S: Store>(store: &S, key: &Key, kept: Duration) -> bool {
    match store.acquire(key) {
        Answer::Granted(lease) => store.commit(key, lease, kept),
        _ => false,
    }
}

/// Puts keys into a store, committed for a day.
pub fn fill<S: Store>(store: &S, keys: &[Key]) {
    for key in keys {
        acquire_and_commit(store, key, KEPT_TTL);
    }
}

/// W1: acquire and commit of fresh keys.
pub fn lifecycle<S: Store>(store: &S, fresh: &[Key], shift: Shift) -> Work {
    pass(fresh, shift, |key| acquire_and_commit(store, key, KEPT_TTL))
}

/// W2: acquire of committed keys.
pub fn duplicate<S: Store>(store: &S, committed: &[Key], shift: Shift) -> Work {
    pass(committed, shift, |key| matches!(store.acquire(key), Answer::Completed))
}

/// B16: one call for every [`BATCH`] committed keys, each of which counts as an operation; keys
/// that do not fill a batch are not asked for.
pub fn batches<S: Store>(store: &S, committed: &[Key], shift: Shift) -> Work {
    strides(committed, shift, |stride, share| {
        for batch in stride.as_chunks::<BATCH>().0 {
            share.operations += BATCH as u64;
            share.wrong += (BATCH - store.completed_of(batch)) as u64;
        }
    })
}

/// W3: acquire and release of fresh keys.
pub fn retry<S: Store>(store: &S, fresh: &[Key], shift: Shift) -> Work {
    pass(fresh, shift, |key| match store.acquire(key) {
        Answer::Granted(lease) => store.release(key, lease),
        _ => false,
    })
}

/// W4: all threads acquire and release the same few keys. To be told *in flight* is an operation.
pub fn hot<S: Store>(store: &S, asked: &[Key], shift: Shift) -> Work {
    pass(asked, shift, |key| match store.acquire(key) {
        Answer::Granted(lease) => store.release(key, lease),
        Answer::InFlight => shift.threads > 1,
        Answer::Completed | Answer::Full => false,
    })
}

/// W5: acquire and commit of fresh keys that are kept for a moment, for a fixed time, after as long
/// as it takes until as many keys end as come.
pub fn churn<S: Store>(
    store: &S,
    fresh: &[Vec<Key>],
    kept: &[Duration],
    warm_up: Duration,
    measured: Duration,
) -> Work {
    let threads = fresh.len();
    let begun = |thread: usize, time: Duration, from: usize| {
        let stopwatch = Stopwatch::start();
        let keys = fresh.get(thread).and_then(|keys| keys.get(from..)).unwrap_or_default();
        let mut share = Share::default();
        let each = keys.iter().zip(kept.iter().cycle());
        for (number, (key, ttl)) in each.enumerate() {
            share.count(acquire_and_commit(store, key, *ttl));
            if number % STRIDE == 0 && stopwatch.elapsed() >= time {
                break;
            }
        }
        share
    };
    let from: Vec<_> = (0..threads).map(|_| std::sync::atomic::AtomicU64::new(0)).collect();
    team::run(threads, |thread| {
        let share = begun(thread, warm_up, 0);
        // `Relaxed`: each thread reads back what it wrote itself, or what a joined one wrote.
        from[thread].store(share.operations, std::sync::atomic::Ordering::Relaxed);
        share
    });
    team::run(threads, |thread| {
        let from = from[thread].load(std::sync::atomic::Ordering::Relaxed);
        begun(thread, measured, usize::try_from(from).unwrap_or(usize::MAX))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Leasehold, Watch};
    use crate::workload::{Purpose, bound, churn_ttls, duplicates, keys};

    fn everything_goes_as_expected<S: Store>() {
        let list = |purpose, count| keys(purpose).take(count).collect::<Vec<_>>();
        let (live, fresh) = (list(Purpose::Live, 1_000), list(Purpose::Fresh, 100));
        let store = S::new(bound(1_000), Duration::from_secs(60), Watch::system());
        fill(&store, &live);
        let asked = duplicates(&list(Purpose::Hot, 16), 200);
        for threads in [1, 2] {
            let shift = Shift { threads, longest: Duration::MAX };
            let fresh = part(&fresh, threads - 1, 2);
            let passes = [
                duplicate(&store, &duplicates(&live, 100), shift),
                lifecycle(&store, fresh, shift),
                retry(&store, &list(Purpose::Failing, 100), shift),
                hot(&store, &asked, shift),
            ];
            let operations = passes.map(|work| work.operations);
            assert_eq!(operations, [100, 50, 100, 200], "{}", S::NAME);
            assert_eq!(passes.map(|work| work.wrong), [0; 4], "{}", S::NAME);
        }
        assert_eq!(store.entries(), 1_100, "{}", S::NAME);
    }

    #[test]
    fn every_pass_of_every_store_goes_as_expected() {
        crate::for_each_store!(everything_goes_as_expected);
    }

    #[test]
    fn every_key_of_a_batch_is_an_operation_and_only_kept_keys_are_as_expected() {
        let list = |purpose, count| keys(purpose).take(count).collect::<Vec<_>>();
        let live = list(Purpose::Live, 1_024);
        let store = Leasehold::new(bound(1_024), Duration::from_secs(60), Watch::system());
        fill(&store, &live);
        for threads in [1, 2] {
            let shift = Shift { threads, longest: Duration::MAX };
            let work = batches(&store, &live, shift);
            assert_eq!((work.operations, work.wrong), (1_024, 0));
        }
        let shift = Shift { threads: 1, longest: Duration::MAX };
        let work = batches(&store, &list(Purpose::Fresh, 20), shift);
        assert_eq!((work.operations, work.wrong), (16, 16));
    }

    #[test]
    fn churn_goes_on_with_keys_that_it_has_not_used() {
        let fresh: Vec<Vec<_>> =
            (0..2).map(|thread| keys(Purpose::Churn(thread)).take(5_000).collect()).collect();
        let store = Leasehold::new(20_000, Duration::from_secs(1), Watch::system());
        let kept = churn_ttls(100);
        let work = churn(&store, &fresh, &kept, Duration::ZERO, Duration::from_secs(60));
        assert_eq!((work.operations, work.wrong), (2 * 4_999, 0));
    }

    #[test]
    fn parts_do_not_overlap() {
        let all = [1, 2, 3, 4, 5];
        assert_eq!((part(&all, 0, 2), part(&all, 1, 2)), (&all[..2], &all[2..4]));
        assert!(part(&all, 2, 2).is_empty());
    }
}
