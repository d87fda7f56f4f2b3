//! The room of outcomes comes back. In a process of its own, since the collector of freed memory is
//! the whole process's, and other tests' threads may hold it up.

use std::time::Duration;

use bytes::Bytes;
use leasehold::{Admission, Clock, Identity, MemoryConfig, MemoryStore, Outcome, Terms, Ttl};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// One after the other, since each pins the collector's epoch while it runs.
#[test]
fn the_room_of_outcomes_comes_back() {
    however_an_entry_ends_its_outcome_is_freed();
    outcomes_that_have_ended_make_room_for_others_again_and_again();
}

/// How an entry with an outcome can end.
#[derive(Clone, Copy, Debug)]
enum End {
    Forgotten,
    Swept,
    TakenOver,
}

fn however_an_entry_ends_its_outcome_is_freed() {
    for end in [End::Forgotten, End::Swept, End::TakenOver] {
        let (clock, hand) = Clock::manual();
        let store = MemoryStore::with_clock(MemoryConfig::default().max_entries(2), clock)
            .expect("a valid configuration");
        let [k, other] = [b"k", b"o"].map(|name| store.identify(&[name]));
        commit(&store, k, 4_096);
        match end {
            End::Forgotten => assert!(store.forget(k)),
            End::Swept => {
                hand.advance(2 * DAY);
                assert_eq!(store.sweep_all(), 1);
            }
            End::TakenOver => {
                hand.advance(2 * DAY);
                assert!(matches!(store.acquire(k, &terms()), Ok(Admission::Granted(_))));
            }
        }
        // Others' outcomes come and go meanwhile, which moves the collector on.
        for _ in 0..10_000 {
            if store.outcome_bytes() < 4_096 {
                break;
            }
            commit(&store, other, 1);
            assert!(store.forget(other));
        }
        assert!(store.outcome_bytes() < 4_096, "{end:?}");
    }
}

fn terms() -> Terms {
    Terms::new(Ttl::new(DAY).expect("a valid ttl"))
}

fn commit(store: &MemoryStore, identity: Identity, size: usize) {
    let Ok(Admission::Granted(mut lease)) = store.acquire(identity, &terms()) else {
        panic!("the key is free");
    };
    let outcome = Outcome::new(Bytes::from(vec![7; size]));
    store.commit(&mut lease, Some(outcome), terms().lease_ttl).expect("the lease is current");
}

fn outcomes_that_have_ended_make_room_for_others_again_and_again() {
    let (clock, hand) = Clock::manual();
    let config = MemoryConfig::default().max_entries(4).max_outcome_bytes(4_096);
    let store = MemoryStore::with_clock(config, clock).expect("a valid configuration");
    let k = store.identify(&[b"k"]);
    for round in 0..1_000 {
        commit(&store, k, 4_096);
        let again = store.acquire(k, &terms());
        assert!(matches!(again, Ok(Admission::Completed { outcome: Some(_), .. })), "{round}");
        if round % 2 == 0 {
            assert!(store.forget(k));
        } else {
            hand.advance(2 * DAY);
        }
    }
    assert_eq!(store.stats().outcome_dropped, 0);
}
