//! More keys than the model's sequences have: tables with neighbours, keys away from home, and
//! deadlines in several leaves.
//!
//! Nothing here is judged but by the keys' own states and the store's invariants.

use std::time::Duration;

use leasehold::{
    AcquireError, Admission, Clock, Lease, ManualClock, MemoryConfig, MemoryStore, Outcome, Terms,
    Ttl,
};
use proptest::prelude::*;
use proptests::cases;

/// Entries of the store: a hundred need some thirty buckets, in several leaves.
const BOUND: usize = 100;

const GRACE: Duration = Duration::from_secs(5);

/// How one of a crowd ends, and when.
#[derive(Clone, Copy, Debug)]
enum End {
    Kept { secs: u64, with_outcome: bool },
    Released,
    Late { secs: u64 },
}

fn ends() -> impl Strategy<Value = End> {
    prop_oneof![
        4 => (1_u64..20, any::<bool>())
            .prop_map(|(secs, with_outcome)| End::Kept { secs, with_outcome }),
        1 => Just(End::Released),
        2 => (1_u64..20).prop_map(|secs| End::Late { secs }),
    ]
}

fn ttl(secs: u64) -> Ttl {
    Ttl::new(Duration::from_secs(secs)).expect("a ttl")
}

fn store() -> (MemoryStore, ManualClock) {
    let (clock, hand) = Clock::manual();
    let config = MemoryConfig::default().max_entries(BOUND).late_grace(GRACE);
    (MemoryStore::with_clock(config, clock).expect("a valid configuration"), hand)
}

fn acquire(store: &MemoryStore, number: usize, secs: u64) -> Result<Admission, AcquireError> {
    store.acquire(store.identify(&[&number.to_le_bytes()]), &Terms::new(ttl(secs)))
}

fn granted(store: &MemoryStore, number: usize, secs: u64) -> Result<Lease, TestCaseError> {
    match acquire(store, number, secs) {
        Ok(Admission::Granted(lease)) => Ok(lease),
        other => Err(TestCaseError::fail(format!("key {number}: {other:?}"))),
    }
}

fn check(store: &MemoryStore) -> Result<(), TestCaseError> {
    store.validate().map_err(TestCaseError::fail)
}

/// Grants the key and brings its entry to its end.
fn play(store: &MemoryStore, number: usize, end: End) -> Result<(), TestCaseError> {
    let secs = if let End::Late { secs } = end { secs } else { 20 };
    let mut lease = granted(store, number, secs)?;
    match end {
        End::Kept { secs, with_outcome } => {
            let outcome = with_outcome.then(|| Outcome::new(number.to_le_bytes().to_vec().into()));
            prop_assert!(store.commit(&mut lease, outcome, ttl(secs)).is_ok());
        }
        End::Released => prop_assert!(store.release(&mut lease).is_ok()),
        End::Late { .. } => {}
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: cases(40),
        failure_persistence: None,
        max_shrink_iters: 500,
        ..ProptestConfig::default()
    })]

    /// All of them are due or late when the next crowd comes: the same keys, or others.
    #[test]
    fn a_crowd_that_expires_is_taken_over_whole(
        ends in prop::collection::vec(ends(), BOUND),
        others in prop::sample::select(vec![0, BOUND / 2, BOUND]),
        wait in 20_u64..30,
    ) {
        let (store, hand) = store();
        for (number, end) in ends.into_iter().enumerate() {
            play(&store, number, end)?;
        }
        check(&store)?;
        hand.advance(Duration::from_secs(wait) + GRACE);
        for number in others..others + BOUND {
            drop(granted(&store, number, 60)?);
            check(&store)?;
        }
        prop_assert!(matches!(acquire(&store, 3 * BOUND, 60), Err(AcquireError::Full)));
        hand.advance(Duration::from_secs(61) + GRACE);
        store.sweep_all();
        check(&store)?;
        prop_assert_eq!(store.usage().entries, 0);
    }

    /// Keys come and go while time passes, so that dead slots are everywhere.
    #[test]
    fn a_crowd_that_comes_and_goes_leaves_the_store_whole(
        steps in prop::collection::vec((0..BOUND + 20, ends(), 0_u64..3), 1..400),
    ) {
        let (store, hand) = store();
        for (number, end, secs) in steps {
            hand.advance(Duration::from_secs(secs));
            match acquire(&store, number, 20) {
                Ok(Admission::Granted(mut lease)) => match end {
                    End::Kept { secs, with_outcome } => {
                        let outcome = with_outcome.then(|| Outcome::new(vec![1, 2, 3].into()));
                        prop_assert!(store.commit(&mut lease, outcome, ttl(secs)).is_ok());
                    }
                    End::Released => prop_assert!(store.release(&mut lease).is_ok()),
                    End::Late { secs } => prop_assert!(store.renew(&mut lease, ttl(secs)).is_ok()),
                },
                Ok(_) | Err(AcquireError::Full) => {}
                Err(other) => return Err(TestCaseError::fail(other.to_string())),
            }
            check(&store)?;
        }
    }
}
