//! From the handler's response to the verdict on its lease (rules 4.1 to 4.3).

use http::{Response, StatusCode};
use leasehold::Verdict;

use crate::policy::{Policy, UnknownOutcome};

/// A marker for a response's extensions: nobody knows whether the write has happened, as when an
/// upstream that had the whole request never answered. The policy's
/// [`on_unknown_outcome`](Policy::on_unknown_outcome) then decides.
///
/// For a handler that knows, a [`Verdict`] in the extensions is the way; it wins over this.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct OutcomeUnknown;

/// What a response means: what its handler says, else what its status does.
pub(crate) fn of_response<B>(response: &Response<B>, policy: &Policy) -> Verdict {
    if let Some(verdict) = response.extensions().get::<Verdict>() {
        *verdict
    } else if response.extensions().get::<OutcomeUnknown>().is_some() {
        of_unknown(policy)
    } else {
        of_status(response.status())
    }
}

/// What it means that nobody knows whether the write has happened.
pub(crate) fn of_unknown(policy: &Policy) -> Verdict {
    match policy.on_unknown_outcome {
        UnknownOutcome::Hold => Verdict::Hold,
        UnknownOutcome::Release => Verdict::Release,
    }
}

/// Success and redirection have written; everything else has not (rule 4.1).
fn of_status(status: StatusCode) -> Verdict {
    if status.is_success() || status.is_redirection() { Verdict::Commit } else { Verdict::Release }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(status: u16, prepare: impl FnOnce(&mut Response<()>), policy: &Policy) -> Verdict {
        let mut response = Response::new(());
        *response.status_mut() = StatusCode::from_u16(status).expect("a valid status");
        prepare(&mut response);
        of_response(&response, policy)
    }

    #[test]
    fn success_and_redirection_commit_and_the_rest_releases() {
        for (status, expected) in [
            (100, Verdict::Release),
            (199, Verdict::Release),
            (200, Verdict::Commit),
            (201, Verdict::Commit),
            (299, Verdict::Commit),
            (300, Verdict::Commit),
            (303, Verdict::Commit),
            (399, Verdict::Commit),
            (400, Verdict::Release),
            (429, Verdict::Release),
            (500, Verdict::Release),
            (503, Verdict::Release),
            (600, Verdict::Release),
            (999, Verdict::Release),
        ] {
            assert_eq!(verdict(status, |_| {}, &Policy::default()), expected, "{status}");
        }
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
}
