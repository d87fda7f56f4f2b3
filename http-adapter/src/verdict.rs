//! From the handler's response to the verdict on its lease (rules 4.1 to 4.3).

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use http::Response;
use leasehold::Verdict;

use crate::classifier::{ErrorClassifier, HandlerEnd};
use crate::grpc::GrpcCode;
use crate::policy::{Policy, UnknownOutcome};

/// A marker for a response's extensions: nobody knows whether the write has happened, as when an
/// upstream that had the whole request never answered. The policy's
/// [`on_unknown_outcome`](Policy::on_unknown_outcome) then decides.
///
/// For a handler that knows, a [`Verdict`] in the extensions is the way; it wins over this.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct OutcomeUnknown;

/// What says what a handler's end means, when the handler does not.
#[derive(Clone, Copy)]
pub(crate) struct Judge<'a> {
    pub(crate) policy: &'a Policy,
    pub(crate) classifier: Option<&'a dyn ErrorClassifier>,
}

impl Judge<'_> {
    /// What a response means: what its handler says, else the classifier, else its code or its
    /// status.
    pub(crate) fn of_response<B>(self, response: &Response<B>) -> Verdict {
        if let Some(verdict) = response.extensions().get::<Verdict>() {
            return *verdict;
        }
        if response.extensions().get::<OutcomeUnknown>().is_some() {
            return of_unknown(self.policy);
        }
        let end = HandlerEnd::Answered {
            status: response.status(),
            headers: response.headers(),
            extensions: response.extensions(),
        };
        let code = response.extensions().get::<GrpcCode>();
        self.classify(&end).unwrap_or_else(|| match code {
            Some(code) => code.verdict(),
            None => self.policy.verdicts.of(response.status()),
        })
    }

    /// What an error of the inner service means: that nothing has happened, unless the classifier
    /// knows better.
    pub(crate) fn of_error(self, error: &(dyn Any + Send)) -> Verdict {
        self.classify(&HandlerEnd::Failed(error)).unwrap_or(Verdict::Release)
    }

    /// The same for a panic.
    pub(crate) fn of_panic(self, panic: &(dyn Any + Send)) -> Verdict {
        self.classify(&HandlerEnd::Panicked(panic)).unwrap_or(Verdict::Release)
    }

    /// A classifier that panics must not keep the lease from being settled.
    fn classify(self, end: &HandlerEnd<'_>) -> Option<Verdict> {
        let classifier = self.classifier?;
        catch_unwind(AssertUnwindSafe(|| classifier.classify(end))).unwrap_or_else(|_| {
            tracing::error!("an error classifier panicked, and has no say");
            None
        })
    }
}

/// What it means that nobody knows whether the write has happened.
pub(crate) fn of_unknown(policy: &Policy) -> Verdict {
    match policy.on_unknown_outcome {
        UnknownOutcome::Hold => Verdict::Hold,
        UnknownOutcome::Release => Verdict::Release,
    }
}

#[cfg(test)]
mod tests {
    use http::StatusCode;

    use super::*;
    use crate::policy::Verdicts;

    fn response(status: u16, prepare: impl FnOnce(&mut Response<()>)) -> Response<()> {
        let mut response = Response::new(());
        *response.status_mut() = StatusCode::from_u16(status).expect("a valid status");
        prepare(&mut response);
        response
    }

    fn verdict(status: u16, prepare: impl FnOnce(&mut Response<()>), policy: &Policy) -> Verdict {
        Judge { policy, classifier: None }.of_response(&response(status, prepare))
    }

    #[test]
    fn the_handlers_verdict_wins_over_status_and_marker() {
        for said in [Verdict::Commit, Verdict::Release, Verdict::Hold] {
            for status in [200, 500] {
                let say = |response: &mut Response<()>| {
                    response.extensions_mut().insert(said);
                    response.extensions_mut().insert(OutcomeUnknown);
                };
                assert_eq!(verdict(status, say, &Policy::default()), said);
            }
        }
    }

    #[test]
    fn an_unknown_outcome_holds_unless_the_policy_says_release() {
        let mark = |response: &mut Response<()>| {
            response.extensions_mut().insert(OutcomeUnknown);
        };
        assert_eq!(verdict(504, mark, &Policy::default()), Verdict::Hold);
        let release = Policy::default().on_unknown_outcome(UnknownOutcome::Release);
        assert_eq!(verdict(504, mark, &release), Verdict::Release);
    }

    #[test]
    fn the_order_is_handler_classifier_status() {
        let verdicts = Verdicts::default().with(500..=599, Verdict::Hold).expect("valid");
        let policy = &Policy::default().verdicts(verdicts);
        let commits = |_: &HandlerEnd<'_>| Some(Verdict::Commit);
        let judge = |classifier| Judge { policy, classifier };
        let plain = response(500, |_| {});
        let said = response(500, |response| {
            response.extensions_mut().insert(Verdict::Release);
        });
        let unknown = response(500, |response| {
            response.extensions_mut().insert(OutcomeUnknown);
        });
        let silent = |_: &HandlerEnd<'_>| None;
        assert_eq!(judge(None).of_response(&plain), Verdict::Hold);
        assert_eq!(judge(Some(&silent)).of_response(&plain), Verdict::Hold);
        assert_eq!(judge(Some(&commits)).of_response(&plain), Verdict::Commit);
        assert_eq!(judge(Some(&commits)).of_response(&said), Verdict::Release);
        assert_eq!(judge(Some(&commits)).of_response(&unknown), Verdict::Hold);
    }
}
