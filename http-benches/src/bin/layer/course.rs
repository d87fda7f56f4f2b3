//! One scenario for one stack: how many keys it holds before, and what is asked of it then.

use leasehold_http_benches::pass::{Stack, Told, timed};
use leasehold_http_benches::request::drawn;
use leasehold_http_benches::rounds::Entrant;
use leasehold_http_benches::stack::room;
use tokio::runtime::Runtime;

/// Most fresh keys that a stack is asked for over all rounds while it is kept: beyond that it would
/// become fuller than others that are as full in name.
const ROUNDS_MAX: u64 = 20;

/// What is asked of a stack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Course {
    /// Keys that are kept before.
    held: u64,
    /// Requests of one lap.
    asked: u64,
    /// Laps of one round; a small stack is over soon, so a round takes many.
    laps: u32,
    /// Whether a stack is made once for all rounds: to fill a large one takes long.
    is_kept: bool,
    /// Whether the keys are those that are kept, uniformly random, or new ones.
    is_of_duplicates: bool,
}

impl Course {
    /// New keys.
    pub(crate) const fn fresh(held: u64, asked: u64, laps: u32) -> Self {
        Self { held, asked, laps, is_kept: false, is_of_duplicates: false }
    }

    /// Keys that are kept, uniformly random.
    pub(crate) const fn duplicates(held: u64, asked: u64) -> Self {
        Self { held, asked, laps: 1, is_kept: true, is_of_duplicates: true }
    }

    /// The same with one stack for all rounds.
    pub(crate) const fn kept(self) -> Self {
        Self { is_kept: true, ..self }
    }

    /// A stack that takes part. `again` is what its duplicates are told.
    pub(crate) fn entrant<'a, S: Stack + 'a>(
        self,
        runtime: &'a Runtime,
        name: &'static str,
        make: impl Fn(usize) -> Result<S, String> + 'a,
        again: Told,
    ) -> Entrant<'a, f64> {
        let lap = self.asked * if self.is_kept { ROUNDS_MAX } else { 1 };
        let room = room(usize::try_from(self.held + lap).unwrap_or(usize::MAX));
        let draws = drawn(usize::try_from(self.asked).unwrap_or(0), self.held.max(1));
        let told = if self.is_of_duplicates && name != super::BARE { again } else { Told::Ran };
        let mut kept: Option<(S, u64)> = None;
        Entrant::new(name, move || {
            let mut laps = 0.0;
            for _ in 0..self.laps {
                let (mut stack, next) = match kept.take() {
                    Some(kept) => kept,
                    None => (self.filled(runtime, make(room)?)?, self.held),
                };
                let fresh: Vec<_> = (next..next + self.asked).collect();
                let numbers = if self.is_of_duplicates { &draws } else { &fresh };
                laps += timed(runtime, &mut stack, numbers, told)?;
                if self.is_kept {
                    kept = Some((stack, next + self.asked));
                }
            }
            Ok(laps / f64::from(self.laps))
        })
    }

    /// The stack with all the keys that it holds before.
    fn filled<S: Stack>(self, runtime: &Runtime, mut stack: S) -> Result<S, String> {
        let numbers: Vec<_> = (0..self.held).collect();
        timed(runtime, &mut stack, &numbers, Told::Ran)?;
        Ok(stack)
    }
}
