//! From the store's answer to what the client gets: the table of section 3 of the contract.

use leasehold::{AcquireError, Admission, Lease, Outcome};

use crate::layer::Prepared;
use crate::owner::Owner;
use crate::policy::Duplicate;
use crate::problem::Problem;
use crate::record::Record;
use crate::refusal::Refusal;
use crate::timed::Slow;

/// What the store said to an acquire, if it said anything in time.
pub(crate) type Answer = Result<Result<Admission, AcquireError>, Slow>;

/// The lease, or what to answer with. Counts what it decides.
pub(crate) fn admit(
    answer: Answer,
    prepared: &Prepared,
    owner: Option<Owner>,
) -> Result<Lease, Refusal> {
    let handles = &prepared.handles;
    let (counter, problem) = match answer {
        Ok(Ok(Admission::Granted(lease))) => {
            handles.granted.inc();
            return Ok(lease);
        }
        Ok(Ok(Admission::InFlight { .. })) => (&handles.in_flight, Problem::in_flight()),
        Ok(Ok(Admission::Completed { outcome, .. })) => {
            return Err(completed(outcome, prepared, owner));
        }
        Ok(Ok(Admission::Mismatch)) => (&handles.mismatch, Problem::mismatch()),
        Ok(Err(AcquireError::Full)) => (&handles.full, Problem::full()),
        // Unanswered, closed, or at the end of its clock: the key could not be checked.
        Ok(Err(_)) | Err(Slow) => (&handles.store_unavailable, Problem::store_unavailable()),
    };
    counter.inc();
    Err(problem.into())
}

/// The first run's response, where it is wanted, was kept, and belongs to whoever asks.
fn completed(outcome: Option<Outcome>, prepared: &Prepared, owner: Option<Owner>) -> Refusal {
    let (policy, handles) = (&prepared.policy, &prepared.handles);
    if policy.duplicate == Duplicate::Reject {
        handles.duplicate.inc();
        return Problem::duplicate(policy.retry_hints).into();
    }
    let record = outcome.and_then(|outcome| Record::decode(outcome.into_bytes()));
    match record.filter(|record| record.owner == owner) {
        Some(record) => {
            handles.replayed.inc();
            Refusal::Replay(Box::new(record))
        }
        None => {
            handles.duplicate.inc();
            Problem::not_replayable(policy.retry_hints).into()
        }
    }
}

/// Whether the store may have granted a lease that nobody has heard of.
pub(crate) fn is_unheard(answer: &Answer) -> bool {
    matches!(answer, Err(Slow) | Ok(Err(AcquireError::Unavailable(_))))
}
