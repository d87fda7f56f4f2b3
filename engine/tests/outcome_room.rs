//! The room of outcomes comes back. In a process of its own, since the collector of freed memory is
//! the whole process's, and other tests' threads may hold it up.

use std::time::Duration;

use bytes::Bytes;
use leasehold::{Admission, Clock, MemoryConfig, MemoryStore, Outcome, Terms, Ttl};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

#[test]
fn outcomes_that_have_ended_make_room_for_others_again_and_again() {
    let (clock, hand) = Clock::manual();
    let config = MemoryConfig::default().max_entries(4).max_outcome_bytes(4_096);
    let store = MemoryStore::with_clock(config, clock).expect("a valid configuration");
    let k = store.identify(&[b"k"]);
    let day = Ttl::new(DAY).expect("a valid ttl");
    for round in 0..1_000 {
        let Ok(Admission::Granted(mut lease)) = store.acquire(k, &Terms::new(day)) else {
            panic!("the key is free in round {round}");
        };
        let whole = Outcome::new(Bytes::from(vec![7; 4_096]));
        store.commit(&mut lease, Some(whole), day).expect("the lease is current");
        let again = store.acquire(k, &Terms::new(day));
        assert!(matches!(again, Ok(Admission::Completed { outcome: Some(_), .. })), "{round}");
        if round % 2 == 0 {
            assert!(store.forget(k));
        } else {
            hand.advance(2 * DAY);
        }
    }
    assert_eq!(store.stats().outcome_dropped, 0);
}
