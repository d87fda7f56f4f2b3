//! What the run claims, each with the sentence by which a violation is reported.

use std::fmt;

/// One claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    OneHolder,
    TokensRise,
    KeptIsCompleted,
    RunningIsInFlight,
    HolderSettles,
    SupersededSettlesNothing,
    BoundHolds,
    FullAtTheBound,
    PresentIsNeverFull,
    FreeIsGranted,
    ExpiredIsReclaimed,
    KeysComeFree,
    PlacesAreWhole,
    UsageIsExact,
    FingerprintsMatch,
    OutcomesAreTheirGrants,
    FiguresAddUp,
    VerbsEnd,
    NothingPanics,
    NothingElseIsAnswered,
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OneHolder => "a key has one holder at a time",
            Self::TokensRise => "tokens of a key rise from grant to grant",
            Self::KeptIsCompleted => "a kept key is completed until its ttl has passed",
            Self::RunningIsInFlight => "a key whose lease runs is in flight",
            Self::HolderSettles => "a current holder commits, releases and renews",
            Self::SupersededSettlesNothing => "a superseded holder settles nothing",
            Self::BoundHolds => "no more keys are live than the bound",
            Self::FullAtTheBound => "full is answered at the bound alone",
            Self::PresentIsNeverFull => "a present key is never told full",
            Self::FreeIsGranted => "a key that nobody has is granted, or full",
            Self::ExpiredIsReclaimed => "a sweep reclaims all that has expired",
            Self::KeysComeFree => "every key can be had again",
            Self::PlacesAreWhole => "as many keys can be had as the bound says",
            Self::UsageIsExact => "usage is exact once nothing runs",
            Self::FingerprintsMatch => "the same fingerprint never mismatches",
            Self::OutcomesAreTheirGrants => "an outcome belongs to its grant",
            Self::FiguresAddUp => "the store's figures add up",
            Self::VerbsEnd => "every verb ends",
            Self::NothingPanics => "no verb panics",
            Self::NothingElseIsAnswered => "no other error is answered",
        })
    }
}

/// A claim that does not hold, and how that was seen.
#[derive(Debug)]
pub(crate) struct Violation {
    pub(crate) claim: Claim,
    pub(crate) seen: String,
}

impl Violation {
    pub(crate) fn new(claim: Claim, seen: impl Into<String>) -> Self {
        Self { claim, seen: seen.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "violated: {}\nseen: {}", self.claim, self.seen)
    }
}

/// A check's end: nothing, or what it found.
pub(crate) type Checked<T = ()> = Result<T, Violation>;

/// Fails with a claim unless it holds.
pub(crate) fn check(holds: bool, claim: Claim, seen: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(Violation::new(claim, seen())) }
}
