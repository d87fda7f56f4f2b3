//! Times to live, tokens, and leases that belong to another store.

use std::time::Duration;

use futures_util::FutureExt as _;
use leasehold::{
    AcquireError, Admission, AttachError, CommitError, LeaseStore as _, MAX_TTL, Outcome,
    ReleaseError, RenewError, Terms, Token, Ttl, TtlError,
};
use proptest::prelude::*;
use proptests::{Answer, Limits, Rig, Verb, address, cases};

const LIMITS: Limits =
    Limits { bound: 4, late_grace: Duration::from_secs(30), outcome_bytes: 1 << 20 };

fn durations() -> impl Strategy<Value = Duration> {
    let around = |middle: Duration| {
        (0_u64..3, any::<bool>()).prop_map(move |(nanos, later)| {
            let by = Duration::from_nanos(nanos);
            if later { middle + by } else { middle.saturating_sub(by) }
        })
    };
    prop_oneof![
        2 => around(Duration::ZERO),
        2 => around(MAX_TTL),
        1 => Just(Duration::MAX),
        2 => (0..=MAX_TTL.as_secs() * 2, 0_u32..1_000_000_000)
            .prop_map(|(secs, nanos)| Duration::new(secs, nanos)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: cases(1_000),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_ttl_is_above_zero_and_at_most_ten_years(duration in durations()) {
        let years = Duration::from_secs(10 * 365 * 24 * 60 * 60);
        let expected = match duration {
            Duration::ZERO => Err(TtlError::Zero),
            long if long > years => Err(TtlError::TooLong),
            fine => Ok(fine),
        };
        prop_assert_eq!(Ttl::new(duration).map(Ttl::get), expected);
        prop_assert_eq!(Ttl::try_from(duration).map(Ttl::get), expected);
    }

    #[test]
    fn a_token_is_its_number_in_text_and_in_order(one in 1_u64..1 << 63, two in 1_u64..1 << 63) {
        prop_assert_eq!(Token::new(one).get(), one);
        prop_assert_eq!(Token::new(one).to_string(), one.to_string());
        prop_assert_eq!(Token::new(one).cmp(&Token::new(two)), one.cmp(&two));
    }

    /// Also when the record has gone in between, by whichever way.
    #[test]
    fn tokens_of_one_address_rise_whatever_ended_the_lease(
        ends in prop::collection::vec(0_u8..5, 1..40),
    ) {
        let mut rig = Rig::new(LIMITS).expect("the limits are legal");
        let ttl = Ttl::new(Duration::from_secs(1)).expect("a ttl");
        let mut last = 0;
        for end in ends {
            let acquire = Verb::Acquire { address: 0, ttl, fingerprint: None };
            let answer = rig.act(&acquire).map_err(TestCaseError::fail)?;
            let Some(Answer::Granted { token, .. }) = answer else {
                return Err(TestCaseError::fail(format!("{answer:?}")));
            };
            prop_assert!(token > last && token < 1 << 63);
            last = token;
            let settle = match end {
                0 => Verb::Release { lease: 0 },
                1 => Verb::Commit { lease: 0, outcome: None, ttl },
                2 => Verb::Forget { address: 0 },
                3 => Verb::Renew { lease: 0, ttl },
                _ => Verb::Peek { address: 0 },
            };
            rig.act(&settle).map_err(TestCaseError::fail)?;
            rig.advance(Duration::from_secs(if end == 4 { 2 } else { 60 }));
            rig.act(&Verb::Sweep { budget: usize::from(end) }).map_err(TestCaseError::fail)?;
        }
    }

    /// Two stores, the same address, leases crossed. Nothing is touched.
    #[test]
    fn a_lease_of_another_store_is_foreign(before in 0_u8..4, grants in 1_usize..4) {
        let (mut home, mut away) = (
            Rig::new(LIMITS).expect("the limits are legal"),
            Rig::new(LIMITS).expect("the limits are legal"),
        );
        let ttl = Ttl::new(Duration::from_secs(60)).expect("a ttl");
        let acquire = Verb::Acquire { address: 0, ttl, fingerprint: None };
        for _ in 1..grants {
            away.act(&acquire).map_err(TestCaseError::fail)?;
            away.act(&Verb::Release { lease: 0 }).map_err(TestCaseError::fail)?;
        }
        away.act(&acquire).map_err(TestCaseError::fail)?;
        if before > 0 {
            home.act(&acquire).map_err(TestCaseError::fail)?;
        }
        if before > 1 {
            let commit = Verb::Commit { lease: 0, outcome: None, ttl };
            home.act(&commit).map_err(TestCaseError::fail)?;
        }
        let Some((_, mut lease)) = away.hands.pop() else {
            return Err(TestCaseError::fail("the other store granted nothing"));
        };
        let store = &home.store;
        let outcome = || Outcome::new(vec![1].into());
        let commit = store.commit(&mut lease, Some(outcome()), ttl).now_or_never();
        prop_assert!(matches!(commit, Some(Err(CommitError::Foreign))), "{:?}", commit);
        let attach = store.attach(&lease, outcome()).now_or_never();
        prop_assert!(matches!(attach, Some(Err(AttachError::Foreign))), "{:?}", attach);
        let renew = store.renew(&mut lease, ttl).now_or_never();
        prop_assert!(matches!(renew, Some(Err(RenewError::Foreign))), "{:?}", renew);
        let release = store.release(&mut lease).now_or_never();
        prop_assert!(matches!(release, Some(Err(ReleaseError::Foreign))), "{:?}", release);
        home.act(&Verb::Peek { address: 0 }).map_err(TestCaseError::fail)?;
    }

    /// The far end of the clock: what cannot be counted is refused, and everything that was granted
    /// before keeps its word.
    #[test]
    fn near_the_end_of_the_clock_a_lease_is_whole_or_refused(
        years in 0_u64..=20, ttl_years in 1_u64..=10,
    ) {
        let year = Duration::from_secs(365 * 24 * 60 * 60);
        let mut rig = Rig::new(LIMITS).expect("the limits are legal");
        rig.advance(year * u32::try_from(years).unwrap_or(0));
        let ttl = Ttl::new(year * u32::try_from(ttl_years).unwrap_or(1)).expect("a ttl");
        let granted = rig.store.acquire(address(0), Terms::new(ttl)).now_or_never();
        match granted {
            Some(Ok(Admission::Granted(_))) => {
                rig.advance(ttl.get() - Duration::from_nanos(1));
                let again = rig.store.acquire(address(0), Terms::new(ttl)).now_or_never();
                prop_assert!(
                    matches!(
                        again,
                        Some(Ok(Admission::InFlight { .. }) | Err(AcquireError::ClockExhausted))
                    ),
                    "{:?}", again
                );
            }
            Some(Err(AcquireError::ClockExhausted)) => prop_assert!(years + ttl_years >= 17),
            other => prop_assert!(false, "{:?}", other),
        }
    }
}
