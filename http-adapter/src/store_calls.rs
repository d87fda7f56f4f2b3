//! What is counted of calls to the store: how long each took, and how it failed (rules 7.8 and
//! 7.9). For any store; nothing here may come from a request.

use std::error::Error;
use std::time::Duration;

use leasehold::{StoreError, StoreErrorKind};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::timed::Slow;

/// Upper ends of the histogram's buckets, in seconds: 1 µs, below every call, to 5 s, above every
/// sensible time limit; in steps of 1, 2.5 and 5 within each power of ten, which is arbitrary.
const BUCKETS: [f64; 21] = [
    1e-6, 2.5e-6, 5e-6, 1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 1e-2, 2.5e-2,
    5e-2, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0,
];

/// The verbs that the layer calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Acquire,
    Commit,
    Attach,
    Release,
    Abandon,
    Renew,
}

impl Verb {
    const ALL: [Self; 6] =
        [Self::Acquire, Self::Commit, Self::Attach, Self::Release, Self::Abandon, Self::Renew];

    const fn label(self) -> &'static str {
        match self {
            Self::Acquire => "acquire",
            Self::Commit => "commit",
            Self::Attach => "attach",
            Self::Release => "release",
            Self::Abandon => "abandon",
            Self::Renew => "renew",
        }
    }
}

/// The kinds of failure that there are.
const KINDS: [StoreErrorKind; 4] = [
    StoreErrorKind::Unreachable,
    StoreErrorKind::NoAnswer,
    StoreErrorKind::Refused,
    StoreErrorKind::Corrupt,
];

const fn label(kind: StoreErrorKind) -> &'static str {
    match kind {
        StoreErrorKind::Unreachable => "unreachable",
        StoreErrorKind::NoAnswer => "no_answer",
        StoreErrorKind::Refused => "refused",
        StoreErrorKind::Corrupt => "corrupt",
        // The contract may get more of them.
        _ => "other",
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct VerbLabels {
    verb: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ErrorLabels {
    verb: &'static str,
    kind: &'static str,
}

/// The counters of all calls. A clone shares them.
#[derive(Clone, Debug)]
pub(crate) struct StoreCalls {
    seconds: Family<VerbLabels, Histogram, fn() -> Histogram>,
    errors: Family<ErrorLabels, Counter>,
}

impl StoreCalls {
    pub(crate) fn new() -> Self {
        let histogram: fn() -> Histogram = || Histogram::new(BUCKETS);
        let seconds = Family::new_with_constructor(histogram);
        Self { seconds, errors: Family::default() }
    }

    pub(crate) fn register(&self, registry: &mut Registry) {
        let seconds = "Time that the store took to answer";
        registry.register("leasehold_store_seconds", seconds, self.seconds.clone());
        let errors = "Calls that failed because the store did";
        registry.register("leasehold_store_errors", errors, self.errors.clone());
    }

    /// What a service counts. All of it is exported from now on, at zero.
    pub(crate) fn handles(&self) -> CallHandles {
        for verb in Verb::ALL {
            for kind in KINDS {
                drop(self.errors.get_or_create(&labels(verb, kind)));
            }
        }
        let seconds =
            |verb: Verb| self.seconds.get_or_create_owned(&VerbLabels { verb: verb.label() });
        CallHandles {
            acquire: seconds(Verb::Acquire),
            commit: seconds(Verb::Commit),
            attach: seconds(Verb::Attach),
            release: seconds(Verb::Release),
            abandon: seconds(Verb::Abandon),
            renew: seconds(Verb::Renew),
            errors: self.errors.clone(),
        }
    }
}

const fn labels(verb: Verb, kind: StoreErrorKind) -> ErrorLabels {
    ErrorLabels { verb: verb.label(), kind: label(kind) }
}

/// What one service counts: the time of each verb's calls without looking up a label, and failures,
/// which are seldom, by one.
#[derive(Clone, Debug)]
pub(crate) struct CallHandles {
    acquire: Histogram,
    commit: Histogram,
    attach: Histogram,
    release: Histogram,
    abandon: Histogram,
    renew: Histogram,
    errors: Family<ErrorLabels, Counter>,
}

impl CallHandles {
    /// Records how long one call took, and how it failed, if it did.
    pub(crate) fn observe(&self, verb: Verb, took: Duration, failure: Option<StoreErrorKind>) {
        let histogram = match verb {
            Verb::Acquire => &self.acquire,
            Verb::Commit => &self.commit,
            Verb::Attach => &self.attach,
            Verb::Release => &self.release,
            Verb::Abandon => &self.abandon,
            Verb::Renew => &self.renew,
        };
        histogram.observe(took.as_secs_f64());
        if let Some(kind) = failure {
            self.errors.get_or_create(&labels(verb, kind)).inc();
        }
    }
}

/// How the store failed, if it did. What it refuses by right (full, superseded) is no failure;
/// that the layer has waited long enough is one.
pub(crate) fn failure<T, E>(answer: &Result<Result<T, E>, Slow>) -> Option<StoreErrorKind>
where
    E: Error + 'static,
{
    match answer {
        Ok(Ok(_)) => None,
        Ok(Err(error)) => kind(error),
        Err(Slow) => Some(StoreErrorKind::NoAnswer),
    }
}

/// The kind of the store's own failure: a verb's error is one, or has one right below it.
fn kind(error: &(dyn Error + 'static)) -> Option<StoreErrorKind> {
    let own = error.downcast_ref::<StoreError>();
    own.or_else(|| error.source()?.downcast_ref()).map(StoreError::kind)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use leasehold::{AcquireError, AttachError, CommitError, ReleaseError, RenewError};

    use super::*;

    #[test]
    fn the_failure_of_every_verb_is_found_and_refusals_are_none() {
        for expected in KINDS {
            let error = || StoreError::with_source(expected, "below");
            let errors: [Box<dyn Error>; 6] = [
                Box::new(AcquireError::Unavailable(error())),
                Box::new(CommitError::Unavailable(error())),
                Box::new(AttachError::Unavailable(error())),
                Box::new(ReleaseError::Unavailable(error())),
                Box::new(RenewError::Unavailable(error())),
                Box::new(error()),
            ];
            for error in errors {
                assert_eq!(kind(&*error), Some(expected), "{error:?}");
            }
        }
        let refusals: [Box<dyn Error>; 4] = [
            Box::new(AcquireError::Full),
            Box::new(AcquireError::Closed),
            Box::new(CommitError::Superseded),
            Box::new(AttachError::NoRoom),
        ];
        for error in refusals {
            assert_eq!(kind(&*error), None, "{error:?}");
        }
        assert_eq!(failure::<(), StoreError>(&Err(Slow)), Some(StoreErrorKind::NoAnswer));
        assert_eq!(failure::<(), StoreError>(&Ok(Ok(()))), None);
    }

    #[test]
    fn verbs_and_kinds_have_labels_of_their_own() {
        let verbs: HashSet<_> = Verb::ALL.into_iter().map(Verb::label).collect();
        let kinds: HashSet<_> = KINDS.into_iter().map(label).collect();
        assert_eq!((verbs.len(), kinds.len()), (Verb::ALL.len(), KINDS.len()));
        assert!(!kinds.contains("other"));
    }
}
