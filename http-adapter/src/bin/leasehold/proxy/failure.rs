//! How an exchange can fail, the answer to it, and what it says about the request's outcome.

use std::error::Error;
use std::fmt;

use leasehold::Verdict;
use leasehold_http::{Asker, OutcomeUnknown, Problem};

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
            Self::NotReached | Self::BrokeOff => Problem::bad_gateway().respond(asker),
            Self::TimedOut => Problem::gateway_timeout().respond(asker),
            Self::UploadBroken | Self::BadRequest => refusal(Problem::bad_request(), asker),
            Self::UploadTooSlow => refusal(Problem::request_timeout(), asker),
        };
        let extensions = answer.extensions_mut();
        if self.is_unknown() {
            extensions.insert(OutcomeUnknown);
        } else {
            // The upstream never had the whole request.
            extensions.insert(Verdict::Release);
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
        for (failure, status, released) in [
            (Failure::NotReached, 502, true),
            (Failure::BrokeOff, 502, false),
            (Failure::TimedOut, 504, false),
            (Failure::UploadBroken, 400, true),
            (Failure::UploadTooSlow, 408, true),
            (Failure::BadRequest, 400, true),
        ] {
            let answer = failure.answer(&Asker::default());
            let verdict = answer.extensions().get::<Verdict>().copied();
            let unknown = answer.extensions().get::<OutcomeUnknown>().is_some();
            assert_eq!(answer.status(), status, "{failure:?}");
            assert_eq!(verdict, released.then_some(Verdict::Release), "{failure:?}");
            assert_eq!(unknown, !released, "{failure:?}");
        }
    }
}
