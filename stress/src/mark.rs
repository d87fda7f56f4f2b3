//! What is known of a key from outside, in one atomic word: who was granted it last, how that
//! grant stands, and until when nobody else may be granted it.
//!
//! The mark errs on one side only. It says less than is true while a call is under way, and never
//! more: `until` is lowered before a call that may end something and raised after one that has
//! moved the end. So a grant that meets a mark whose `until` has not come is a violation, however
//! late the threads write their marks.
//!
//! ```text
//! | token, from the first of its key 32 | standing 2 | until, in ms of the round's clock 30 |
//! ```

use std::sync::atomic::{AtomicU64, Ordering};

/// An `until` that never comes: 12 days.
pub(crate) const NEVER: u64 = (1 << UNTIL_BITS) - 1;

const UNTIL_BITS: u32 = 30;
const TOKEN_SHIFT: u32 = UNTIL_BITS + 2;

/// How a grant stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Its lease runs.
    Running,
    /// A commit is under way.
    Settling,
    /// Kept; perhaps an outcome is being attached.
    Bare,
    /// Kept with its outcome.
    Whole,
}

/// One reading of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Zero before the first grant.
    pub(crate) token: u32,
    pub(crate) standing: Standing,
    /// No other grant begins before this. Zero: whenever it likes.
    pub(crate) until: u64,
}

impl Mark {
    pub(crate) fn new(token: u32, standing: Standing, until: u64) -> Self {
        Self { token, standing, until: until.min(NEVER) }
    }

    /// The same grant's mark as it stands now.
    pub(crate) fn with(self, standing: Standing, until: u64) -> Self {
        Self::new(self.token, standing, until)
    }

    /// The same with an `until` that may be earlier, and not later.
    pub(crate) fn at_most(self, standing: Standing, until: u64) -> Self {
        self.with(standing, self.until.min(until))
    }

    pub(crate) fn is_kept(self) -> bool {
        matches!(self.standing, Standing::Bare | Standing::Whole)
    }

    fn to_bits(self) -> u64 {
        let standing = match self.standing {
            Standing::Running => 0,
            Standing::Settling => 1,
            Standing::Bare => 2,
            Standing::Whole => 3,
        };
        u64::from(self.token) << TOKEN_SHIFT | standing << UNTIL_BITS | self.until
    }

    fn from_bits(bits: u64) -> Self {
        let standing = match bits >> UNTIL_BITS & 3 {
            0 => Standing::Running,
            1 => Standing::Settling,
            2 => Standing::Bare,
            _ => Standing::Whole,
        };
        Self { token: (bits >> TOKEN_SHIFT) as u32, standing, until: bits & NEVER }
    }
}

/// The mark of one key.
#[derive(Debug)]
pub(crate) struct KeyMark(AtomicU64);

impl KeyMark {
    pub(crate) fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    pub(crate) fn read(&self) -> Mark {
        Mark::from_bits(self.0.load(Ordering::SeqCst))
    }

    /// Replaces a grant's own mark; false if a later grant has left its own.
    pub(crate) fn replace(&self, seen: Mark, new: Mark) -> bool {
        let (seen, new) = (seen.to_bits(), new.to_bits());
        self.0.compare_exchange(seen, new, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    /// Leaves a new grant's mark, unless a later grant's is there; gives the mark that it met.
    pub(crate) fn leave(&self, new: Mark) -> Mark {
        // Ends: each turn means that another thread moved the mark.
        loop {
            let met = self.read();
            if met.token >= new.token || self.replace(met, new) {
                return met;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_read_as_it_was_left() {
        for standing in [Standing::Running, Standing::Settling, Standing::Bare, Standing::Whole] {
            for (token, until) in [(0, NEVER), (u32::MAX, 0), (7, 9)] {
                let mark = Mark::new(token, standing, until);
                assert_eq!(Mark::from_bits(mark.to_bits()), mark);
            }
        }
        assert_eq!(Mark::new(1, Standing::Bare, u64::MAX).until, NEVER);
    }

    #[test]
    fn a_later_grants_mark_stays() {
        let mark = KeyMark::new();
        let [first, second] = [1, 2].map(|token| Mark::new(token, Standing::Running, 5));
        assert_eq!(mark.leave(second).token, 0);
        assert_eq!(mark.leave(first), second);
        assert_eq!(mark.read(), second);
        assert!(!mark.replace(first, first.with(Standing::Bare, 9)));
        assert!(mark.replace(second, second.at_most(Standing::Settling, 9)));
        assert_eq!(mark.read().until, 5);
    }
}
