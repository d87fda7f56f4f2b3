//! The store in memory against the sequential model: all verbs, stale leases, and a clock that
//! moves to both sides of every deadline.
//!
//! A step names leases by their place in the caller's hands, and moments by the record that they
//! belong to, so a sequence keeps its meaning when it is shrunk.

use std::fmt;
use std::time::Duration;

use leasehold::{MAX_TTL, Ttl};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest, prop_state_machine};
use proptests::{Limits, Payload, Rig, Verb, cases};

/// What a sequence of steps is run on.
#[derive(Clone, Debug)]
struct Setting {
    limits: Limits,
    addresses: usize,
    /// Look at every address after every step. Looking must change nothing, so half of all
    /// sequences go without.
    watched: bool,
}

/// A moment that a record makes interesting.
#[derive(Clone, Copy, Debug)]
enum Moment {
    EarliestEnd,
    LatestEnd,
    EarliestHold,
    LatestHold,
}

#[derive(Clone, Debug)]
enum Step {
    Act(Verb<usize>),
    Advance(Duration),
    /// To `moment` of the record at `address`, moved by `nudge` nanoseconds; never backwards.
    AdvanceTo {
        address: usize,
        moment: Moment,
        nudge: i64,
    },
    SweepOut {
        budget: usize,
    },
}

/// The settings do not change; what a store may answer is followed beside the store itself, since
/// it depends on its answers.
struct Settings;

impl ReferenceStateMachine for Settings {
    type State = Setting;
    type Transition = Step;

    fn init_state() -> BoxedStrategy<Setting> {
        let limits = (1_usize..=4, graces(), prop_oneof![4 => Just(64 << 20), 1 => 0_usize..=48]);
        (limits, 1_usize..=6, any::<bool>())
            .prop_map(|((bound, late_grace, outcome_bytes), addresses, watched)| Setting {
                limits: Limits { bound, late_grace, outcome_bytes },
                addresses,
                watched,
            })
            .boxed()
    }

    fn transitions(setting: &Setting) -> BoxedStrategy<Step> {
        let address = 0..setting.addresses;
        let to = (address.clone(), moments(), nudges())
            .prop_map(|(address, moment, nudge)| Step::AdvanceTo { address, moment, nudge });
        prop_oneof![
            12 => acquires(address.clone()).prop_map(Step::Act),
            14 => settlements().prop_map(Step::Act),
            4 => tools(address).prop_map(Step::Act),
            2 => advances().prop_map(Step::Advance),
            7 => to,
            1 => (1_usize..=8).prop_map(|budget| Step::SweepOut { budget }),
        ]
        .boxed()
    }

    fn apply(setting: Setting, _: &Step) -> Setting {
        setting
    }
}

fn acquires(address: std::ops::Range<usize>) -> impl Strategy<Value = Verb<usize>> {
    let fingerprint = prop_oneof![2 => Just(None), 3 => (0_u8..2).prop_map(Some)];
    (address, ttls(), fingerprint).prop_map(|(address, ttl, fingerprint)| Verb::Acquire {
        address,
        ttl,
        fingerprint,
    })
}

fn settlements() -> impl Strategy<Value = Verb<usize>> {
    prop_oneof![
        4 => (places(), prop::option::of(payloads()), ttls())
            .prop_map(|(lease, outcome, ttl)| Verb::Commit { lease, outcome, ttl }),
        2 => (places(), payloads()).prop_map(|(lease, outcome)| Verb::Attach { lease, outcome }),
        3 => places().prop_map(|lease| Verb::Release { lease }),
        4 => (places(), ttls()).prop_map(|(lease, ttl)| Verb::Renew { lease, ttl }),
        1 => (places(), any::<bool>()).prop_map(|(lease, own)| Verb::Abandon { lease, own }),
    ]
}

fn tools(address: std::ops::Range<usize>) -> impl Strategy<Value = Verb<usize>> {
    prop_oneof![
        20 => address.clone().prop_map(|address| Verb::Peek { address }),
        12 => address.prop_map(|address| Verb::Forget { address }),
        16 => (0_usize..4).prop_map(|budget| Verb::Sweep { budget }),
        4 => Just(Verb::Sweep { budget: usize::MAX }),
        1 => Just(Verb::Close),
    ]
}

/// Mostly the newest leases.
fn places() -> impl Strategy<Value = usize> {
    prop_oneof![5 => Just(0_usize), 3 => 1_usize..4, 1 => 4_usize..16]
}

fn payloads() -> impl Strategy<Value = Payload> {
    prop::collection::vec(any::<u8>(), 0..24)
}

fn ttls() -> impl Strategy<Value = Ttl> {
    let tick = Duration::from_millis(32);
    let near_ticks = (1_u32..100, -1_i64..=1)
        .prop_map(move |(ticks, off)| Duration::saturating_add(tick * ticks, nanos(off)));
    prop_oneof![
        1 => Just(Duration::from_nanos(1)),
        2 => near_ticks,
        4 => (1_u64..120_000).prop_map(Duration::from_millis),
        1 => Just(Duration::from_secs(24 * 60 * 60)),
        1 => (1_u64..MAX_TTL.as_secs()).prop_map(Duration::from_secs),
        1 => Just(MAX_TTL),
    ]
    .prop_filter_map("a ttl", |duration| Ttl::new(duration).ok())
}

fn nanos(count: i64) -> Duration {
    Duration::from_nanos(count.max(0).unsigned_abs())
}

fn graces() -> impl Strategy<Value = Duration> {
    prop_oneof![
        2 => Just(Duration::ZERO),
        2 => (1_u64..200).prop_map(Duration::from_millis),
        4 => Just(Duration::from_secs(30)),
        1 => Just(Duration::from_secs(24 * 60 * 60)),
        1 => Just(MAX_TTL),
    ]
}

fn advances() -> impl Strategy<Value = Duration> {
    prop_oneof![
        2 => (1_u64..100_000_000).prop_map(Duration::from_nanos),
        3 => (1_u64..60_000).prop_map(Duration::from_millis),
        1 => (1_u64..100_000).prop_map(Duration::from_secs),
        1 => (1_u64..4 * 365).prop_map(|days| Duration::from_secs(days * 24 * 60 * 60)),
    ]
}

fn moments() -> impl Strategy<Value = Moment> {
    prop_oneof![
        Just(Moment::EarliestEnd),
        Just(Moment::LatestEnd),
        Just(Moment::EarliestHold),
        Just(Moment::LatestHold),
    ]
}

fn nudges() -> impl Strategy<Value = i64> {
    prop_oneof![
        4 => Just(0_i64),
        4 => Just(-1_i64),
        1 => Just(1_i64),
        2 => -40_000_000_i64..40_000_000,
        1 => 0_i64..3_000_000_000,
    ]
}

/// A rig under its setting; `Debug` is what a failure prints.
struct Driven {
    rig: Rig,
}

impl fmt::Debug for Driven {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.rig.model.fmt(f)
    }
}

impl Driven {
    fn take(&mut self, step: &Step) -> Result<(), String> {
        match step {
            Step::Act(verb) => self.rig.act(verb).map(drop),
            Step::Advance(by) => {
                self.rig.advance(*by);
                Ok(())
            }
            Step::AdvanceTo { address, moment, nudge } => {
                let Some(sight) = self.rig.model.sight(*address) else {
                    return Ok(());
                };
                let moment = match moment {
                    Moment::EarliestEnd => sight.end.earliest,
                    Moment::LatestEnd => sight.end.latest,
                    Moment::EarliestHold => sight.hold.earliest,
                    Moment::LatestHold => sight.hold.latest,
                };
                let target = moment.saturating_add(nanos(*nudge)).saturating_sub(nanos(-nudge));
                self.rig.advance(target.saturating_sub(self.rig.now));
                Ok(())
            }
            Step::SweepOut { budget } => self.rig.sweep_out(*budget),
        }
    }

    fn look_around(&mut self, setting: &Setting) -> Result<(), String> {
        (0..setting.addresses)
            .try_for_each(|address| self.rig.act(&Verb::Peek { address }).map(drop))
    }

    /// After everything is due the store is empty, and a new key is never refused.
    fn end(&mut self, setting: &Setting) -> Result<(), String> {
        self.look_around(setting)?;
        let latest = (0..setting.addresses)
            .filter_map(|address| self.rig.model.sight(address))
            .map(|sight| sight.hold.latest)
            .max();
        if let Some(latest) = latest {
            self.rig.advance(latest.saturating_sub(self.rig.now));
        }
        let ttl = Ttl::new(Duration::from_secs(1)).map_err(|error| error.to_string())?;
        for address in 0..setting.limits.bound {
            let address = setting.addresses + address;
            self.rig.act(&Verb::Acquire { address, ttl, fingerprint: None })?;
        }
        while let Some((address, _)) = self.rig.hands.pop() {
            self.rig.act(&Verb::Forget { address })?;
        }
        self.rig.sweep_out(usize::MAX)
    }
}

fn check(outcome: Result<(), String>) {
    if let Err(report) = outcome {
        panic!("{report}");
    }
}

struct StoreFollowsModel;

impl StateMachineTest for StoreFollowsModel {
    type SystemUnderTest = Driven;
    type Reference = Settings;

    fn init_test(setting: &Setting) -> Driven {
        Driven { rig: Rig::new(setting.limits).expect("the limits are legal") }
    }

    fn apply(mut driven: Driven, setting: &Setting, step: Step) -> Driven {
        check(driven.take(&step));
        if setting.watched {
            check(driven.look_around(setting));
        }
        driven
    }

    fn teardown(mut driven: Driven, setting: Setting) {
        check(driven.end(&setting));
    }
}

prop_state_machine! {
    #![proptest_config(ProptestConfig {
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(
            "proptest-regressions/model.txt",
        ))),
        cases: cases(3_000),
        max_shrink_iters: 20_000,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_answer_is_one_that_the_contract_allows(sequential 1..80 => StoreFollowsModel);
}
