//! What a verb finds and does, given the row under its lock and the database's time: the contract
//! as plain functions, for every database whose statements do not decide by themselves.
//!
//! No I/O and no clock here.

use bytes::Bytes;
use leasehold::RecordState;

use crate::record::{Ask, Record, Status, span};

/// What an acquire finds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// The key is free: write this token.
    Free { token: u64 },
    /// The lease that this very attempt was granted; its reply was lost.
    Own { token: u64, remaining: i64 },
    /// Another holder runs.
    InFlight { remaining: i64 },
    /// It has succeeded.
    Completed { outcome: Option<Bytes>, remaining: i64 },
    /// The key stands for another request.
    Mismatch,
}

/// What a settling verb finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Settling {
    /// It is this token's to write.
    Write,
    /// It is done already, or there is nothing to do.
    Done,
    /// The lease is no longer the current one, or what it asks for is past.
    Superseded,
}

impl Record {
    /// An acquire would not be granted.
    pub(crate) fn is_live(&self, now: i64) -> bool {
        self.status != Status::Failed && now < self.expires
    }

    /// A lease that its holder may still settle: running, or late within its grace.
    pub(crate) fn is_held(&self, now: i64) -> bool {
        self.status == Status::Processing && self.stuck.is_none() && now < self.purge
    }
}

/// The next token of an address: later than its last one, and than the clock as far as it is read.
pub(crate) fn next_token(last: Option<u64>, now: i64) -> u64 {
    let now = u64::try_from(now).unwrap_or(0).max(1);
    last.map_or(now, |last| now.max(last.saturating_add(1)))
}

/// Acquire.
pub(crate) fn acquire(record: Option<&Record>, ask: &Ask, now: i64) -> Found {
    let Some(record) = record.filter(|record| record.is_live(now)) else {
        return Found::Free { token: next_token(record.map(|record| record.token), now) };
    };
    let remaining = record.expires.saturating_sub(now);
    let is_running = record.status == Status::Processing;
    if is_running && record.attempt == ask.attempt {
        return Found::Own { token: record.token, remaining };
    }
    let prints = (ask.fingerprint, record.fingerprint);
    if matches!(prints, (Some(asked), Some(kept)) if asked != kept) {
        return Found::Mismatch;
    }
    if is_running {
        Found::InFlight { remaining }
    } else {
        Found::Completed { outcome: record.outcome.clone(), remaining }
    }
}

/// Commit.
pub(crate) fn commit(record: Option<&Record>, token: u64, now: i64) -> Settling {
    match record.filter(|record| record.token == token) {
        Some(record) if record.is_held(now) => Settling::Write,
        Some(record) if record.status == Status::Success && now < record.expires => Settling::Done,
        _ => Settling::Superseded,
    }
}

/// Attach: an outcome for what this token has committed without one. *Superseded* is too late.
pub(crate) fn attach(record: Option<&Record>, token: u64, now: i64) -> Settling {
    match record.filter(|record| record.token == token) {
        Some(record)
            if record.status == Status::Success
                && record.outcome.is_none()
                && now < record.expires =>
        {
            Settling::Write
        }
        _ => Settling::Superseded,
    }
}

/// Release.
pub(crate) fn release(record: Option<&Record>, token: u64, now: i64) -> Settling {
    match record {
        Some(record) if record.is_held(now) && record.token == token => Settling::Write,
        // Another's lease, running or late; or what is kept, by this token or another.
        Some(record) if record.is_held(now) || record.is_live(now) => Settling::Superseded,
        _ => Settling::Done,
    }
}

/// Renew.
pub(crate) fn renew(record: Option<&Record>, token: u64, now: i64) -> Settling {
    match record {
        Some(record) if record.is_held(now) && record.token == token => Settling::Write,
        _ => Settling::Superseded,
    }
}

/// Abandon: release by attempt.
pub(crate) fn abandon(record: Option<&Record>, attempt: &[u8; 16], now: i64) -> Settling {
    match record {
        Some(record) if record.is_held(now) && record.attempt == *attempt => Settling::Write,
        _ => Settling::Done,
    }
}

/// Peek: what an acquire would meet.
pub(crate) fn peek(record: &Record, now: i64) -> RecordState {
    if !record.is_live(now) {
        return RecordState::Free;
    }
    let remaining = span(record.expires.saturating_sub(now));
    if record.status == Status::Processing {
        RecordState::InFlight { remaining }
    } else {
        RecordState::Completed { remaining, replayable: record.outcome.is_some() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: [u8; 16] = [1; 16];
    const NOW: i64 = 1_000;

    fn record(status: Status, expires: i64, purge: i64) -> Record {
        Record {
            status,
            token: 7,
            attempt: OWN,
            fingerprint: Some([3; 32]),
            outcome: None,
            expires,
            purge,
            stuck: None,
        }
    }

    fn ask(attempt: [u8; 16], fingerprint: Option<[u8; 32]>) -> Ask {
        Ask { attempt, fingerprint, lease_ttl: 10 }
    }

    /// The states of docs/contract.md, and what each settling verb of the token finds there.
    #[test]
    fn settling_goes_by_the_contracts_table() {
        use Settling::{Done, Superseded, Write};
        let running = record(Status::Processing, NOW + 1, NOW + 2);
        let late = record(Status::Processing, NOW, NOW + 1);
        let lapsed = record(Status::Processing, NOW - 1, NOW);
        let marked = Record { stuck: Some(NOW - 1), purge: NOW + 99, ..lapsed.clone() };
        let kept = record(Status::Success, NOW + 1, NOW + 1);
        let ended = record(Status::Success, NOW, NOW);
        let released = record(Status::Failed, NOW + 1, NOW + 2);
        for (state, commits, releases, renews, abandons) in [
            (Some(running), Write, Write, Write, Write),
            (Some(late), Write, Write, Write, Write),
            (Some(lapsed), Superseded, Done, Superseded, Done),
            (Some(marked), Superseded, Done, Superseded, Done),
            (Some(kept), Done, Superseded, Superseded, Done),
            (Some(ended), Superseded, Done, Superseded, Done),
            (Some(released), Superseded, Done, Superseded, Done),
            (None, Superseded, Done, Superseded, Done),
        ] {
            let state = state.as_ref();
            assert_eq!(commit(state, 7, NOW), commits, "{state:?}");
            assert_eq!(release(state, 7, NOW), releases, "{state:?}");
            assert_eq!(renew(state, 7, NOW), renews, "{state:?}");
            assert_eq!(abandon(state, &OWN, NOW), abandons, "{state:?}");
            // Another token owns nothing here.
            assert_eq!(commit(state, 6, NOW), Superseded, "{state:?}");
            assert_eq!(renew(state, 6, NOW), Superseded, "{state:?}");
            assert_ne!(release(state, 6, NOW), Write, "{state:?}");
            assert_eq!(abandon(state, &[9; 16], NOW), Done, "{state:?}");
        }
    }

    #[test]
    fn an_acquire_is_granted_what_is_not_live() {
        for state in [
            record(Status::Processing, NOW, NOW + 1),
            record(Status::Processing, NOW - 1, NOW - 1),
            record(Status::Success, NOW, NOW),
            record(Status::Failed, NOW + 1, NOW + 1),
        ] {
            let found = acquire(Some(&state), &ask(OWN, None), NOW);
            assert_eq!(found, Found::Free { token: 1_000 }, "{state:?}");
        }
        assert_eq!(acquire(None, &ask(OWN, None), NOW), Found::Free { token: 1_000 });
    }

    #[test]
    fn a_live_record_is_told_as_what_it_is() {
        let other = [2; 16];
        let running = record(Status::Processing, NOW + 5, NOW + 9);
        let kept = record(Status::Success, NOW + 5, NOW + 5);
        let of = |record: &Record, ask: &Ask| acquire(Some(record), ask, NOW);
        assert_eq!(of(&running, &ask(OWN, None)), Found::Own { token: 7, remaining: 5 });
        assert_eq!(of(&running, &ask(other, None)), Found::InFlight { remaining: 5 });
        assert_eq!(of(&running, &ask(other, Some([4; 32]))), Found::Mismatch);
        assert_eq!(of(&kept, &ask(OWN, Some([4; 32]))), Found::Mismatch);
        let completed = Found::Completed { outcome: None, remaining: 5 };
        assert_eq!(of(&kept, &ask(OWN, Some([3; 32]))), completed);
    }

    #[test]
    fn an_outcome_is_attached_once_and_to_its_own() {
        let kept = record(Status::Success, NOW + 1, NOW + 1);
        assert_eq!(attach(Some(&kept), 7, NOW), Settling::Write);
        assert_eq!(attach(Some(&kept), 6, NOW), Settling::Superseded);
        assert_eq!(attach(Some(&kept), 7, NOW + 1), Settling::Superseded);
        let with = Record { outcome: Some(Bytes::new()), ..kept };
        assert_eq!(attach(Some(&with), 7, NOW), Settling::Superseded);
        let running = record(Status::Processing, NOW + 1, NOW + 1);
        assert_eq!(attach(Some(&running), 7, NOW), Settling::Superseded);
    }

    #[test]
    fn no_time_in_a_row_is_too_far_from_now() {
        for status in [Status::Processing, Status::Success, Status::Failed] {
            for (end, now) in [(i64::MIN, NOW), (i64::MAX, -NOW), (i64::MAX, i64::MIN)] {
                let row = record(status, end, end);
                let is_free =
                    matches!(acquire(Some(&row), &ask([2; 16], None), now), Found::Free { .. });
                assert_eq!(peek(&row, now) == RecordState::Free, is_free, "{row:?}");
            }
        }
    }

    #[test]
    fn tokens_rise_whatever_the_clock_does() {
        assert_eq!(next_token(None, 0), 1);
        assert_eq!(next_token(Some(5), 9), 9);
        assert_eq!(next_token(Some(9), 9), 10);
        assert_eq!(next_token(Some(9), 3), 10);
    }
}
