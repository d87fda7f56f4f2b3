//! What each player was granted and how long that was to last: read once nothing runs any more.
//!
//! The marks of keys are judged while the players play, by whoever meets them. This is judged
//! afterwards, from all players' lines together, and knows nothing of marks: of two grants of one
//! key the later one must not have come before the earlier one's time was over. A commit that got
//! lost shows as a grant within the time that its key was to be kept.

use std::collections::HashMap;

use crate::claim::{Checked, Claim, check};

/// One grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Line {
    /// When it had been granted, at the latest.
    by: u64,
    /// Nobody else before this. Zero: its holder gave it up, or had it taken away.
    until: u64,
    is_kept: bool,
}

/// Some players' grants by key and token.
#[derive(Debug, Default)]
pub(crate) struct Log(HashMap<(usize, u32), Line>);

impl Log {
    /// A grant, by the time after the call, and until the earliest end of its TTL.
    pub(crate) fn granted(&mut self, key: usize, token: u32, by: u64, until: u64) {
        self.0.insert((key, token), Line { by, until, is_kept: false });
    }

    /// A renewal or, if `is_kept`, a commit has moved the end.
    pub(crate) fn moved(&mut self, key: usize, token: u32, until: u64, is_kept: bool) {
        if let Some(line) = self.0.get_mut(&(key, token)) {
            (line.until, line.is_kept) = (until, is_kept);
        }
    }

    /// The grant may end from now on.
    pub(crate) fn given_up(&mut self, key: usize, token: u32) {
        self.moved(key, token, 0, false);
    }

    /// Takes over another player's.
    pub(crate) fn join(&mut self, other: Self) -> Checked {
        for (grant, line) in other.0 {
            let twin = self.0.insert(grant, line);
            check(twin.is_none(), Claim::TokensRise, || {
                format!("key {} was granted to two with token {}", grant.0, grant.1)
            })?;
        }
        Ok(())
    }

    /// Holds each key's grants against each other, in the order of their tokens.
    pub(crate) fn check(&self) -> Checked {
        let mut lines: Vec<_> = self.0.iter().collect();
        lines.sort_unstable_by_key(|(grant, _)| **grant);
        for pair in lines.windows(2) {
            let [((key, token), line), ((next_key, next), later)] = pair else { continue };
            if key != next_key {
                continue;
            }
            let claim = if line.is_kept { Claim::KeptIsCompleted } else { Claim::OneHolder };
            check(line.until <= later.by, claim, || {
                format!("key {key}: token {token} {line:?}, then token {next} {later:?}")
            })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(until: u64, is_kept: bool, next: u64) -> Log {
        let mut log = Log::default();
        log.granted(1, 1, 0, 10);
        log.moved(1, 1, until, is_kept);
        let mut other = Log::default();
        other.granted(1, 2, next, next + 10);
        other.granted(2, 1, 0, 1_000);
        assert!(log.join(other).is_ok());
        log
    }

    #[test]
    fn a_grant_within_anothers_time_is_a_violation() {
        assert!(log(20, false, 20).check().is_ok());
        let found = |log: Log| log.check().map_err(|violation| violation.claim);
        assert_eq!(found(log(20, false, 19)), Err(Claim::OneHolder));
        assert_eq!(found(log(20, true, 19)), Err(Claim::KeptIsCompleted));
    }

    #[test]
    fn who_gave_its_lease_up_stands_in_nobodys_way() {
        let mut log = log(20, false, 5);
        log.given_up(1, 1);
        assert!(log.check().is_ok());
    }

    #[test]
    fn a_token_that_two_have_is_a_violation() {
        let mut one = log(20, false, 20);
        let mut other = Log::default();
        other.granted(1, 2, 30, 40);
        assert!(one.join(other).is_err());
    }
}
