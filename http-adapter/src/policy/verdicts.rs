//! What statuses mean, where a policy says otherwise than rule 4.1 does.

use std::fmt;
use std::ops::RangeInclusive;

use http::StatusCode;
use leasehold::Verdict;
use thiserror::Error;

/// Statuses that a response can have.
const STATUSES: RangeInclusive<u16> = 100..=999;

/// Verdicts for statuses and ranges of them. A status that has none commits if it is 2xx or 3xx,
/// and else releases.
///
/// A single status goes before a range that it lies in.
///
/// ```
/// use http::StatusCode;
/// use leasehold::Verdict;
/// use leasehold_http::Verdicts;
///
/// let verdicts = Verdicts::default()
///     .with(500..=599, Verdict::Hold)?
///     .with(503..=503, Verdict::Release)?;
/// assert_eq!(verdicts.of(StatusCode::BAD_GATEWAY), Verdict::Hold);
/// assert_eq!(verdicts.of(StatusCode::SERVICE_UNAVAILABLE), Verdict::Release);
/// # Ok::<(), leasehold_http::VerdictsError>(())
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Verdicts {
    /// Single statuses first.
    entries: Vec<Entry>,
}

#[derive(Clone, PartialEq, Eq)]
struct Entry {
    statuses: RangeInclusive<u16>,
    verdict: Verdict,
}

/// Why an entry was refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum VerdictsError {
    /// It names no status, or one that no response has.
    #[error("statuses are from 100 to 999, and a range does not end before it begins")]
    NoStatus,
    /// Some status would have two verdicts: ranges that overlap must agree, and so must entries of
    /// one status.
    #[error("status {status} has another verdict already")]
    Conflict {
        /// The first such status.
        status: u16,
    },
}

impl Entry {
    fn is_single(&self) -> bool {
        self.statuses.start() == self.statuses.end()
    }

    /// The first status that two entries of equal rank give different verdicts.
    fn conflict(&self, other: &Self) -> Option<u16> {
        let first = *self.statuses.start().max(other.statuses.start());
        let last = *self.statuses.end().min(other.statuses.end());
        let differ = self.verdict != other.verdict && self.is_single() == other.is_single();
        (differ && first <= last).then_some(first)
    }
}

impl Verdicts {
    /// Adds a verdict for a range of statuses; of one, `409..=409`, for that status alone.
    ///
    /// # Errors
    ///
    /// [`VerdictsError`]; the caller should refuse the configuration that it comes from.
    pub fn with(
        mut self,
        statuses: RangeInclusive<u16>,
        verdict: Verdict,
    ) -> Result<Self, VerdictsError> {
        let ends = [statuses.start(), statuses.end()];
        if statuses.is_empty() || !ends.iter().all(|end| STATUSES.contains(end)) {
            return Err(VerdictsError::NoStatus);
        }
        let entry = Entry { statuses, verdict };
        if let Some(status) = self.entries.iter().find_map(|other| entry.conflict(other)) {
            return Err(VerdictsError::Conflict { status });
        }
        let place = if entry.is_single() { 0 } else { self.entries.len() };
        self.entries.insert(place, entry);
        Ok(self)
    }

    /// What a status means.
    #[must_use]
    pub fn of(&self, status: StatusCode) -> Verdict {
        self.of_number(status.as_u16())
    }

    fn of_number(&self, status: u16) -> Verdict {
        match self.entries.iter().find(|entry| entry.statuses.contains(&status)) {
            Some(entry) => entry.verdict,
            // Success and redirection have written; everything else has not.
            None if (200..=399).contains(&status) => Verdict::Commit,
            None => Verdict::Release,
        }
    }

    /// Whether no status frees a key sooner than it does by `other`.
    pub(crate) fn are_as_strict_as(&self, other: &Self) -> bool {
        let strictness = |verdict| match verdict {
            Verdict::Release => 0,
            Verdict::Hold => 1,
            Verdict::Commit => 2,
        };
        STATUSES
            .into_iter()
            .all(|status| strictness(self.of_number(status)) >= strictness(other.of_number(status)))
    }
}

impl fmt::Debug for Verdicts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map()
            .entries(self.entries.iter().map(|entry| (&entry.statuses, entry.verdict)))
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMIT: Verdict = Verdict::Commit;
    const RELEASE: Verdict = Verdict::Release;
    const HOLD: Verdict = Verdict::Hold;

    fn verdicts(entries: &[(u16, u16, Verdict)]) -> Result<Verdicts, VerdictsError> {
        let mut verdicts = Verdicts::default();
        for (first, last, verdict) in entries {
            verdicts = verdicts.with(*first..=*last, *verdict)?;
        }
        Ok(verdicts)
    }

    #[test]
    fn success_and_redirection_commit_and_the_rest_releases() {
        for (status, expected) in [
            (100, RELEASE),
            (199, RELEASE),
            (200, COMMIT),
            (201, COMMIT),
            (299, COMMIT),
            (300, COMMIT),
            (303, COMMIT),
            (399, COMMIT),
            (400, RELEASE),
            (429, RELEASE),
            (500, RELEASE),
            (503, RELEASE),
            (600, RELEASE),
            (999, RELEASE),
        ] {
            assert_eq!(Verdicts::default().of_number(status), expected, "{status}");
        }
    }

    #[test]
    fn a_status_goes_before_a_range_whichever_came_first() {
        let range = (500, 599, HOLD);
        let single = (503, 503, COMMIT);
        for entries in [[range, single], [single, range]] {
            let verdicts = verdicts(&entries).expect("no conflict");
            for (status, expected) in [
                (499, RELEASE),
                (500, HOLD),
                (502, HOLD),
                (503, COMMIT),
                (504, HOLD),
                (599, HOLD),
                (600, RELEASE),
                (200, COMMIT),
            ] {
                assert_eq!(verdicts.of_number(status), expected, "{status}");
            }
        }
    }

    #[test]
    fn ranges_that_overlap_must_agree() {
        let conflict = |status| Err(VerdictsError::Conflict { status });
        for (first, last, status) in [(400, 500, 500), (599, 700, 599), (510, 520, 510)] {
            let entries = |verdict| [(500, 599, HOLD), (first, last, verdict)];
            assert_eq!(verdicts(&entries(COMMIT)), conflict(status));
            assert!(verdicts(&entries(HOLD)).is_ok());
        }
        assert!(verdicts(&[(500, 599, HOLD), (600, 699, COMMIT), (400, 499, COMMIT)]).is_ok());
        assert_eq!(verdicts(&[(409, 409, HOLD), (409, 409, COMMIT)]), conflict(409));
    }

    #[test]
    fn statuses_are_those_that_a_response_can_have() {
        for (first, last) in [(99, 200), (500, 1000), (0, 0), (599, 500)] {
            assert_eq!(verdicts(&[(first, last, HOLD)]), Err(VerdictsError::NoStatus));
        }
        assert!(verdicts(&[(100, 999, HOLD)]).is_ok());
    }

    #[test]
    fn what_releases_more_is_less_strict() {
        let default = Verdicts::default();
        let holds = verdicts(&[(500, 599, HOLD)]).expect("valid");
        let frees = verdicts(&[(202, 202, RELEASE)]).expect("valid");
        let delays = verdicts(&[(202, 202, HOLD)]).expect("valid");
        assert!(holds.are_as_strict_as(&default) && !default.are_as_strict_as(&holds));
        assert!(default.are_as_strict_as(&frees) && !frees.are_as_strict_as(&default));
        assert!(delays.are_as_strict_as(&frees) && !delays.are_as_strict_as(&default));
        assert!(holds.are_as_strict_as(&delays) && holds.are_as_strict_as(&holds.clone()));
    }
}
