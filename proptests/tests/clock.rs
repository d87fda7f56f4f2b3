//! The arithmetic of deadlines at both ends of the clock's range: to the nanosecond where the store
//! begins, and where it ends after seventeen years.
//!
//! Written from the contract's rule on time: never early, on read at most 64 ms late.

use std::time::Duration;

use leasehold::{
    AcquireError, Admission, Clock, Lease, MAX_TTL, ManualClock, MemoryConfig, MemoryStore,
    RecordState, Terms, Ttl,
};
use proptest::prelude::*;
use proptests::{CLOCK_RANGE, LATENESS, cases};

/// The unit of deadlines; its multiples are where rounding may go wrong.
const TICK: Duration = Duration::from_millis(32);

/// The last deadline that there is: 2^34 - 1 ticks.
const LAST: Duration = Duration::from_millis(32 * ((1 << 34) - 1));

const NANO: Duration = Duration::from_nanos(1);

fn store() -> (MemoryStore, ManualClock) {
    let (clock, hand) = Clock::manual();
    let config = MemoryConfig::default().max_entries(2).late_grace(Duration::ZERO);
    (MemoryStore::with_clock(config, clock).expect("a valid configuration"), hand)
}

fn acquire(store: &MemoryStore, ttl: Duration) -> Result<Admission, AcquireError> {
    let terms = Terms::new(Ttl::new(ttl).expect("a ttl"));
    store.acquire(store.identify(&[b"key"]), &terms)
}

/// A moment from `from` on: on a tick, beside one, or anywhere.
fn moments(from: Duration) -> impl Strategy<Value = Duration> {
    let near = (0_u32..64, 0_u64..3).prop_map(|(ticks, nanos)| {
        (TICK * ticks + Duration::from_nanos(nanos)).saturating_sub(NANO)
    });
    let anywhere = (0_u64..4_000_000_000).prop_map(Duration::from_nanos);
    prop_oneof![2 => near, 1 => anywhere].prop_map(move |later| from + later)
}

fn ttls() -> impl Strategy<Value = Duration> {
    prop_oneof![
        3 => moments(Duration::ZERO).prop_map(|length| length.max(NANO)),
        1 => Just(MAX_TTL),
        1 => (1..MAX_TTL.as_secs()).prop_map(Duration::from_secs),
    ]
}

/// Holds a lease that was granted now against its ttl, up to its end.
fn check_end(store: &MemoryStore, hand: &ManualClock, lease: &Lease, ttl: Duration) {
    let key = store.identify(&[b"key"]);
    let RecordState::InFlight { remaining } = store.peek(key) else {
        panic!("a running lease is in flight")
    };
    assert!((ttl..ttl + TICK).contains(&remaining), "{remaining:?} of {ttl:?}");
    hand.advance(ttl - NANO);
    assert!(matches!(store.peek(key), RecordState::InFlight { .. }), "{lease:?} ended early");
    hand.advance(LATENESS + NANO);
    assert!(matches!(store.peek(key), RecordState::Free), "{lease:?} ended late");
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: cases(2_000),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn from_the_first_nanosecond_a_lease_lasts_its_ttl(
        now in moments(Duration::ZERO), ttl in ttls(),
    ) {
        let (store, hand) = store();
        hand.advance(now);
        let answer = acquire(&store, ttl);
        let Ok(Admission::Granted(lease)) = answer else {
            return Err(TestCaseError::fail(format!("{answer:?}")));
        };
        check_end(&store, &hand, &lease, ttl);
    }

    /// Granted if its end is a deadline that there is, and not otherwise: no tick earlier or later.
    #[test]
    fn to_the_last_tick_a_lease_lasts_its_ttl_or_is_refused(
        left in moments(Duration::ZERO), ttl in moments(Duration::ZERO),
    ) {
        prop_assert!(CLOCK_RANGE < LAST);
        let (store, hand) = store();
        let (now, ttl) = (LAST.saturating_sub(left), ttl.max(NANO));
        hand.advance(now);
        match acquire(&store, ttl) {
            Ok(Admission::Granted(lease)) => {
                prop_assert!(now + ttl <= LAST, "{:?} at {:?}", lease, now);
                check_end(&store, &hand, &lease, ttl);
            }
            Err(AcquireError::ClockExhausted) => prop_assert!(now + ttl > LAST),
            other => prop_assert!(false, "{:?}", other),
        }
    }

    /// What cannot be refused is cut to the range, and still ends.
    #[test]
    fn a_commit_or_a_renewal_near_the_end_is_kept_to_the_end(
        left in moments(Duration::ZERO), ttl in ttls(), commits in any::<bool>(),
    ) {
        let (store, hand) = store();
        let now = LAST.saturating_sub(left).saturating_sub(TICK);
        hand.advance(now);
        let answer = acquire(&store, NANO);
        let Ok(Admission::Granted(mut lease)) = answer else {
            return Err(TestCaseError::fail(format!("{answer:?}")));
        };
        let key = store.identify(&[b"key"]);
        let ttl = Ttl::new(ttl).expect("a ttl");
        let is_done = if commits {
            store.commit(&mut lease, None, ttl).is_ok()
        } else {
            store.renew(&mut lease, ttl).is_ok()
        };
        prop_assert!(is_done);
        let end = (now + ttl.get()).min(LAST);
        hand.advance(end.saturating_sub(now + NANO));
        prop_assert!(!matches!(store.peek(key), RecordState::Free), "ended early");
        hand.advance(LATENESS + NANO);
        prop_assert!(matches!(store.peek(key), RecordState::Free), "ended late");
        store.sweep_all();
        prop_assert_eq!(store.usage().entries, 0);
        prop_assert_eq!(store.validate(), Ok(()));
    }

    /// Beyond the range the clock goes on for centuries, and then stands.
    #[test]
    fn beyond_the_range_every_verb_answers(
        by in prop::collection::vec(any::<u64>().prop_map(Duration::from_nanos), 1..4),
    ) {
        let (store, hand) = store();
        let Ok(Admission::Granted(mut lease)) = acquire(&store, MAX_TTL) else {
            return Err(TestCaseError::fail("a free key"));
        };
        hand.advance(LAST);
        by.into_iter().for_each(|by| hand.advance(by));
        hand.advance(Duration::MAX);
        let second = Ttl::new(Duration::from_secs(1)).expect("a ttl");
        prop_assert!(store.renew(&mut lease, second).is_err());
        prop_assert!(store.commit(&mut lease, None, second).is_err());
        prop_assert!(matches!(acquire(&store, NANO), Err(AcquireError::ClockExhausted)));
        prop_assert!(store.release(&mut lease).is_ok());
        store.sweep_all();
        prop_assert_eq!(store.usage().entries, 0);
        prop_assert_eq!(store.validate(), Ok(()));
    }
}
