//! Any sequence of verbs and moves of the clock, beside the model of the contract.
//!
//! After each call the answer is judged, and the store walks its invariants.

#![no_main]

use std::time::Duration;

use arbitrary::Arbitrary;
use leasehold::{MAX_TTL, Ttl};
use libfuzzer_sys::fuzz_target;
use proptests::{Limits, Rig, Verb};

/// Most steps of one sequence: longer ones are slower and say little more.
const STEPS_MAX: usize = 200;

#[derive(Arbitrary, Debug)]
struct Input {
    bound: u8,
    late_grace: Length,
    outcome_bytes: u8,
    steps: Vec<Step>,
}

/// A length of time near where something happens: a few ticks, seconds, or years.
#[derive(Arbitrary, Clone, Copy, Debug)]
enum Length {
    Nanos(u32),
    Ticks { count: u8, nanos: i8 },
    Millis(u16),
    Days(u16),
    Longest,
}

impl Length {
    fn get(self) -> Duration {
        match self {
            Self::Nanos(nanos) => Duration::from_nanos(nanos.into()),
            Self::Ticks { count, nanos } => {
                let ticks = Duration::from_millis(32) * u32::from(count);
                let off = Duration::from_nanos(nanos.unsigned_abs().into());
                if nanos < 0 { ticks.saturating_sub(off) } else { ticks + off }
            }
            Self::Millis(millis) => Duration::from_millis(millis.into()),
            Self::Days(days) => Duration::from_secs(86_400) * u32::from(days % 3_650),
            Self::Longest => MAX_TTL,
        }
    }

    fn ttl(self) -> Ttl {
        Ttl::new(self.get().max(Duration::from_nanos(1))).expect("within ten years")
    }
}

#[derive(Arbitrary, Debug)]
enum Step {
    Acquire {
        address: u8,
        ttl: Length,
        fingerprint: Option<bool>,
    },
    Commit {
        lease: u8,
        outcome: Option<Vec<u8>>,
        ttl: Length,
    },
    Attach {
        lease: u8,
        outcome: Vec<u8>,
    },
    Release {
        lease: u8,
    },
    Renew {
        lease: u8,
        ttl: Length,
    },
    Abandon {
        lease: u8,
        own: bool,
    },
    Peek {
        address: u8,
    },
    Forget {
        address: u8,
    },
    Sweep {
        budget: u8,
    },
    Close,
    Advance(Length),
    /// To a moment of an address's record, by less than a second off.
    AdvanceTo {
        address: u8,
        hold: bool,
        latest: bool,
        nanos: i32,
    },
}

/// Addresses to choose from: more than the bound, so that stores are full.
const ADDRESSES: u8 = 6;

fn address(byte: u8) -> usize {
    usize::from(byte % ADDRESSES)
}

fn take(rig: &mut Rig, step: Step) -> Result<(), String> {
    let lease = |byte: u8| usize::from(byte % 16);
    let verb = match step {
        Step::Acquire { address: byte, ttl, fingerprint } => Verb::Acquire {
            address: address(byte),
            ttl: ttl.ttl(),
            fingerprint: fingerprint.map(u8::from),
        },
        Step::Commit { lease: byte, outcome, ttl } => {
            Verb::Commit { lease: lease(byte), outcome, ttl: ttl.ttl() }
        }
        Step::Attach { lease: byte, outcome } => Verb::Attach { lease: lease(byte), outcome },
        Step::Release { lease: byte } => Verb::Release { lease: lease(byte) },
        Step::Renew { lease: byte, ttl } => Verb::Renew { lease: lease(byte), ttl: ttl.ttl() },
        Step::Abandon { lease: byte, own } => Verb::Abandon { lease: lease(byte), own },
        Step::Peek { address: byte } => Verb::Peek { address: address(byte) },
        Step::Forget { address: byte } => Verb::Forget { address: address(byte) },
        Step::Sweep { budget } => Verb::Sweep { budget: budget.into() },
        Step::Close => Verb::Close,
        Step::Advance(by) => {
            rig.advance(by.get());
            return Ok(());
        }
        Step::AdvanceTo { address: byte, hold, latest, nanos } => {
            if let Some(sight) = rig.model.sight(address(byte)) {
                let span = if hold { sight.hold } else { sight.end };
                let moment = if latest { span.latest } else { span.earliest };
                let off = Duration::from_nanos(nanos.unsigned_abs().into());
                let to =
                    if nanos < 0 { moment.saturating_sub(off) } else { moment.saturating_add(off) };
                rig.advance(to.saturating_sub(rig.now));
            }
            return Ok(());
        }
    };
    rig.act(&verb).map(drop)
}

fuzz_target!(|input: Input| {
    let limits = Limits {
        bound: usize::from(input.bound % 4) + 1,
        late_grace: input.late_grace.get(),
        outcome_bytes: usize::from(input.outcome_bytes),
    };
    let mut rig = Rig::new(limits).expect("the limits are legal");
    for step in input.steps.into_iter().take(STEPS_MAX) {
        if let Err(report) = take(&mut rig, step) {
            panic!("{report}");
        }
    }
});
