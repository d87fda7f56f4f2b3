//! What only the memory store promises: its clock's range, its threads, its memory.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use leasehold::{
    AcquireError, Admission, AttachError, Clock, CommitError, Identity, Lease, MAX_TTL,
    ManualClock, MemoryConfig, MemoryStore, Outcome, RecordState, Sweeper, Terms, Ttl,
};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// 2^34 ticks of 32 ms: the range of the store's clock.
const RANGE: Duration = Duration::from_millis((1 << 34) * 32);

fn store(config: MemoryConfig) -> (MemoryStore, ManualClock) {
    let (clock, hand) = Clock::manual();
    (MemoryStore::with_clock(config, clock).expect("a valid configuration"), hand)
}

fn ttl(duration: Duration) -> Ttl {
    Ttl::new(duration).expect("a valid ttl")
}

fn terms() -> Terms {
    Terms::new(ttl(Duration::from_secs(30)))
}

fn granted(store: &MemoryStore, identity: Identity) -> Lease {
    match store.acquire(identity, &terms()) {
        Ok(Admission::Granted(lease)) => lease,
        other => panic!("{other:?}"),
    }
}

#[test]
fn acquires_are_refused_where_the_clocks_range_ends() {
    let (store, hand) = store(MemoryConfig::default());
    let mut early = granted(&store, store.identify(&[b"early"]));
    hand.advance(RANGE - Duration::from_secs(31));
    assert!(matches!(store.acquire(store.identify(&[b"k"]), &terms()), Ok(Admission::Granted(_))));
    hand.advance(Duration::from_secs(2));
    let late = store.acquire(store.identify(&[b"l"]), &terms());
    assert!(matches!(late, Err(AcquireError::ClockExhausted)), "{late:?}");
    let gone = store.commit(&mut early, None, ttl(DAY));
    assert!(matches!(gone, Err(CommitError::Superseded)), "{gone:?}");
}

#[test]
fn a_commit_beyond_the_clocks_range_keeps_the_key_to_its_end() {
    let (store, hand) = store(MemoryConfig::default());
    let k = store.identify(&[b"k"]);
    hand.advance(RANGE - DAY);
    store.commit(&mut granted(&store, k), None, ttl(MAX_TTL)).expect("the lease is current");
    hand.advance(DAY - Duration::from_secs(60));
    assert!(matches!(store.peek(k), RecordState::Completed { .. }));
}

#[test]
fn released_keys_leave_nothing_behind_whatever_their_ttl() {
    let (store, _) = store(MemoryConfig::default().max_entries(2));
    for number in 0_u32..200_000 {
        let Ok(Admission::Granted(mut lease)) =
            store.acquire(store.identify(&[&number.to_le_bytes()]), &Terms::new(ttl(DAY)))
        else {
            panic!("the store is empty");
        };
        store.release(&mut lease).expect("the lease is current");
    }
    assert_eq!(store.usage().entries, 0);
}

#[test]
fn an_outcome_without_room_is_dropped_and_its_commit_stands() {
    let (store, _) = store(MemoryConfig::default().max_outcome_bytes(4));
    let [k, l] = [b"k", b"l"].map(|name| store.identify(&[name]));
    let four = || Some(Outcome::new(Bytes::from_static(b"four")));
    store.commit(&mut granted(&store, k), four(), ttl(DAY)).expect("the lease is current");
    store.commit(&mut granted(&store, l), four(), ttl(DAY)).expect("the lease is current");
    let kept = |identity| match store.acquire(identity, &terms()) {
        Ok(Admission::Completed { outcome, .. }) => outcome.is_some(),
        other => panic!("{other:?}"),
    };
    assert_eq!((kept(k), kept(l)), (true, false));
    assert_eq!((store.stats().outcome_dropped, store.outcome_bytes()), (1, 4));
}

#[test]
fn an_outcome_for_a_key_that_has_one_is_too_late_whatever_the_room() {
    let (store, _) = store(MemoryConfig::default().max_outcome_bytes(4));
    let mut lease = granted(&store, store.identify(&[b"k"]));
    let four = Outcome::new(Bytes::from_static(b"four"));
    store.commit(&mut lease, Some(four.clone()), ttl(DAY)).expect("the lease is current");
    let again = store.attach(&lease, four);
    assert!(matches!(again, Err(AttachError::TooLate)), "{again:?}");
    assert_eq!(store.stats().outcome_dropped, 0);
}

#[test]
fn an_upkeep_begins_with_the_time_that_it_is() {
    let (store, hand) = store(MemoryConfig::default());
    let store = Arc::new(store);
    let k = store.identify(&[b"k"]);
    store.commit(&mut granted(&store, k), None, ttl(DAY)).expect("the lease is current");
    hand.advance(2 * DAY);
    let _upkeep = Sweeper::upkeep(&store).expect("a thread");
    assert!(matches!(store.acquire(k, &terms()), Ok(Admission::Granted(_))));
}

#[test]
fn a_holder_releases_on_an_early_return_and_on_a_panic_but_not_after_its_commit() {
    let (store, _) = store(MemoryConfig::default());
    let k = store.identify(&[b"k"]);
    drop(store.hold(granted(&store, k)));
    assert_eq!(store.peek(k), RecordState::Free);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _holder = store.hold(granted(&store, k));
        panic!("the work fails");
    }));
    assert!(panicked.is_err());
    assert_eq!(store.peek(k), RecordState::Free);
    let mut holder = store.hold(granted(&store, k));
    let token = holder.token();
    holder.renew(ttl(DAY)).expect("the lease is current");
    let lease = holder.commit(None, ttl(DAY)).expect("the lease is current");
    assert_eq!(lease.token(), token);
    assert!(matches!(store.peek(k), RecordState::Completed { .. }));
}

/// Waits for what a background thread brings about, not for luck: fails after far longer than any
/// machine takes.
fn eventually(what: &str, check: impl Fn() -> bool) {
    for _ in 0..2_000 {
        if check() {
            return;
        }
        std::thread::park_timeout(Duration::from_millis(10));
    }
    panic!("{what}");
}

#[test]
fn the_sweeper_reclaims_what_nobody_asks_for_and_stops_when_dropped() {
    let (store, hand) = store(MemoryConfig::default());
    let store = Arc::new(store);
    let sweeper = Sweeper::start(&store, Duration::from_millis(1)).expect("a thread");
    let _lease = granted(&store, store.identify(&[b"k"]));
    hand.advance(Duration::from_secs(61));
    eventually("the entry is still there", || store.usage().entries == 0);
    assert_eq!(store.stats().reclaimed, 1);
    drop(sweeper);
    let _lease = granted(&store, store.identify(&[b"k"]));
    assert_eq!(Arc::weak_count(&store), 0, "the thread has ended");
}

#[test]
fn no_interval_means_no_thread() {
    let (store, _) = store(MemoryConfig::default());
    assert!(Sweeper::start(&Arc::new(store), Duration::ZERO).expect("no thread").is_none());
}

#[test]
fn with_an_upkeep_keys_still_end_and_none_ends_early() {
    let (store, hand) = store(MemoryConfig::default());
    let store = Arc::new(store);
    let upkeep = Sweeper::upkeep(&store).expect("a thread");
    let k = store.identify(&[b"k"]);
    store.commit(&mut granted(&store, k), None, ttl(DAY)).expect("the lease is current");
    hand.advance(DAY - Duration::from_nanos(1));
    for _ in 0..200 {
        assert!(matches!(store.acquire(k, &terms()), Ok(Admission::Completed { .. })));
    }
    hand.advance(Duration::from_millis(64));
    eventually("the key never ended", || {
        matches!(store.acquire(k, &terms()), Ok(Admission::Granted(_)))
    });
    drop(upkeep);
}

#[test]
fn debug_shows_no_more_than_figures() {
    let (store, _) = store(MemoryConfig::default().max_entries(7));
    let lease = granted(&store, store.identify(&[b"secret-key"]));
    assert!(format!("{store:?}").contains("max_entries: 7"));
    let printed = format!("{store:?} {lease:?}");
    assert!(!printed.contains("secret") && !printed.contains("place"), "{printed}");
}
