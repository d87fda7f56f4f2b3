//! How an exchange can fail, the answer to it, and what it says about the request's outcome.

use std::error::Error;
use std::fmt;

use leasehold::Verdict;
use leasehold_http::{Asker, NotReplayable, OutcomeUnknown, Problem};

use super::Answer;
use crate::server::refusal;

/// Why there is no response of the upstream's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// Not a byte of the request was sent: 502.
    NotReached,
    /// The upstream had some of the request, or all, and no response came: 502.
    BrokeOff,
    /// The same, and the time is up: 504.
    TimedOut,
    /// The upstream has answered with a head beyond all bounds: 502.
    HeadTooLarge,
    /// The client's body ended before its end: 400, which most likely nobody reads.
    UploadBroken,
    /// The client's body took longer than it may: 408.
    UploadTooSlow,
    /// The request cannot be written for an upstream: 400.
    BadRequest,
}

impl Failure {
    /// Whether nobody knows what the upstream has done.
    pub(super) const fn is_unknown(self) -> bool {
        matches!(self, Self::BrokeOff | Self::TimedOut)
    }

    /// The answer, marked with what is known of the request's outcome (rule 4.3).
    pub(super) fn answer(self, asker: &Asker) -> Answer {
        let mut answer = match self {
            Self::NotReached | Self::BrokeOff | Self::HeadTooLarge => {
                Problem::bad_gateway().respond(asker)
            }
            Self::TimedOut => Problem::gateway_timeout().respond(asker),
            Self::UploadBroken | Self::BadRequest => refusal(Problem::bad_request(), asker),
            Self::UploadTooSlow => refusal(Problem::request_timeout(), asker),
        };
        let extensions = answer.extensions_mut();
        match self {
            Self::BrokeOff | Self::TimedOut => {
                extensions.insert(OutcomeUnknown);
            }
            // It has run, and each retry would run it again to the same end.
            Self::HeadTooLarge => {
                extensions.insert(Verdict::Commit);
                extensions.insert(NotReplayable);
            }
            // The upstream never had the whole request.
            Self::NotReached | Self::UploadBroken | Self::UploadTooSlow | Self::BadRequest => {
                extensions.insert(Verdict::Release);
            }
        }
        answer
    }
}

/// An error and its sources in one line.
pub(super) struct Chain<'a>(pub(super) &'a (dyn Error + 'static));

impl Chain<'_> {
    /// The first error of this type, from the outside in.
    pub(super) fn find<E: Error + 'static>(&self) -> Option<&E> {
        let mut next = Some(self.0);
        while let Some(error) = next {
            if let Some(found) = error.downcast_ref() {
                return Some(found);
            }
            next = error.source();
        }
        None
    }
}

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut source = self.0.source();
        while let Some(error) = source {
            write!(f, ": {error}")?;
            source = error.source();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_certainly_did_not_run_is_released() {
        const RELEASE: Option<Verdict> = Some(Verdict::Release);
        for (failure, status, expected) in [
            (Failure::NotReached, 502, RELEASE),
            (Failure::BrokeOff, 502, None),
            (Failure::TimedOut, 504, None),
            (Failure::HeadTooLarge, 502, Some(Verdict::Commit)),
            (Failure::UploadBroken, 400, RELEASE),
            (Failure::UploadTooSlow, 408, RELEASE),
            (Failure::BadRequest, 400, RELEASE),
        ] {
            let answer = failure.answer(&Asker::default());
            let verdict = answer.extensions().get::<Verdict>().copied();
            let unknown = answer.extensions().get::<OutcomeUnknown>().is_some();
            assert_eq!(answer.status(), status, "{failure:?}");
            assert_eq!(verdict, expected, "{failure:?}");
            assert_eq!(unknown, expected.is_none(), "{failure:?}");
            assert_eq!(unknown, failure.is_unknown(), "{failure:?}");
        }
    }
}
