//! Looking twice: whether a call has left a record as it was, and whether an end came early.
//!
//! Times are compared by the subject's own clock, with the time that has passed between the looks,
//! so a pause of the machine fails nothing.

use std::time::Duration;

use leasehold::RecordState;

use crate::Subject;
use crate::case::Case;

/// What was seen of a record, and when.
pub(crate) struct Sight {
    state: RecordState,
    at: Duration,
}

impl<S: Subject> Case<'_, S> {
    /// Looks at the record.
    pub(crate) async fn look(&self) -> Sight {
        let at = self.subject.elapsed();
        Sight { state: self.peek().await, at }
    }

    /// Asserts that the record is as it was, but for the time that has passed.
    pub(crate) async fn assert_unmoved(&self, before: &Sight) {
        let state = self.peek().await;
        let context = format!("{:?} became {state:?}", before.state);
        match (before.state, state) {
            (RecordState::Free, RecordState::Free) => {}
            (
                RecordState::InFlight { remaining: old },
                RecordState::InFlight { remaining: new },
            ) => {
                self.assert_ran(old, new, before.at, &context);
            }
            (
                RecordState::Completed { remaining: old, replayable: was },
                RecordState::Completed { remaining: new, replayable: is },
            ) => {
                assert_eq!(was, is, "{context}");
                self.assert_ran(old, new, before.at, &context);
            }
            _ => panic!("{context}"),
        }
    }

    fn assert_ran(&self, old: Duration, new: Duration, since: Duration, context: &str) {
        let passed = self.subject.elapsed().saturating_sub(since);
        let resolution = self.subject.resolution();
        assert!(new <= old + resolution, "longer: {context}");
        assert!(new + passed + resolution >= old, "shorter: {context}");
    }

    /// Asserts that a remaining time is that of a TTL that was given at `since` or later.
    #[track_caller]
    pub(crate) fn assert_remaining(&self, remaining: Duration, ttl: Duration, since: Duration) {
        let passed = self.subject.elapsed().saturating_sub(since);
        let resolution = self.subject.resolution();
        assert!(remaining <= ttl + resolution, "{remaining:?} of {ttl:?} is too long");
        assert!(remaining + passed + resolution >= ttl, "{remaining:?} of {ttl:?} is too short");
    }

    /// Asserts that what began at `since` or later, and shows as ended, has had all of its TTL.
    #[track_caller]
    pub(crate) fn assert_not_early(&self, since: Duration, ttl: Duration) {
        let passed = self.subject.elapsed().saturating_sub(since);
        assert!(passed >= ttl, "ended {passed:?} after its start, before its {ttl:?}");
    }
}
