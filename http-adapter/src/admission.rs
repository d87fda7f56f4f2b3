//! From the store's answer to what the client gets: the table of section 3 of the contract.

use leasehold::{AcquireError, Admission, Lease};

use crate::layer::Prepared;
use crate::problem::Problem;
use crate::timed::Slow;

/// What the store said to an acquire, if it said anything in time.
pub(crate) type Answer = Result<Result<Admission, AcquireError>, Slow>;

/// The lease, or the problem to answer with. Counts what it decides.
pub(crate) fn admit(answer: Answer, prepared: &Prepared) -> Result<Lease, Problem> {
    let handles = &prepared.handles;
    let (counter, problem) = match answer {
        Ok(Ok(Admission::Granted(lease))) => {
            handles.granted.inc();
            return Ok(lease);
        }
        Ok(Ok(Admission::InFlight { .. })) => (&handles.in_flight, Problem::in_flight()),
        Ok(Ok(Admission::Completed { .. })) => {
            (&handles.duplicate, Problem::duplicate(prepared.policy.retry_hints))
        }
        Ok(Ok(Admission::Mismatch)) => (&handles.mismatch, Problem::mismatch()),
        Ok(Err(AcquireError::Full)) => (&handles.full, Problem::full()),
        // Unanswered, closed, or at the end of its clock: the key could not be checked.
        Ok(Err(_)) | Err(Slow) => (&handles.store_unavailable, Problem::store_unavailable()),
    };
    counter.inc();
    Err(problem)
}

/// Whether the store may have granted a lease that nobody has heard of.
pub(crate) fn is_unheard(answer: &Answer) -> bool {
    matches!(answer, Err(Slow) | Ok(Err(AcquireError::Unavailable(_))))
}
