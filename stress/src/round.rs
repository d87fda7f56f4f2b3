//! One round: a store, its players' threads, somebody who watches that they go on, and the end.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use leasehold::Sweeper;

use crate::aftermath;
use crate::arena::Arena;
use crate::claim::{Checked, Claim, Violation};
use crate::log::Log;
use crate::player::Player;
use crate::shape::Shape;
use crate::tally::Tally;

/// How many looks in a row may find that no player has made an acquire before one of them counts as
/// stuck. Looks and not time: a process that was stopped as a whole has looked once meanwhile.
const LOOKS: u32 = 60;

/// From one look to the next. All looks together are far longer than any player is held up.
const PERIOD: Duration = Duration::from_millis(500);

/// Between two sweeps of the background: so short that one is nearly always under way.
const SWEEP_INTERVAL: Duration = Duration::from_millis(1);

/// What a player has counted, and was granted.
type Played = (Tally, Log);

/// What a round found, and after how many acquires.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) violation: Violation,
    pub(crate) acquires: u64,
}

/// Plays one round; gives its figures.
pub(crate) fn play(seed: u64, shape: Shape, acquires: u64) -> Result<Tally, Found> {
    let early = |violation| Found { violation, acquires: 0 };
    let arena = Arc::new(Arena::new(shape, acquires).map_err(early)?);
    watch(&arena, seed).map_err(|violation| {
        arena.stop.store(true, Ordering::Relaxed);
        Found { violation, acquires: acquires - arena.left.load(Ordering::Relaxed) }
    })
}

/// Starts the players, and waits for their ends.
fn watch(arena: &Arc<Arena>, seed: u64) -> Checked<Tally> {
    let shape = &arena.shape;
    let upkeep = shape.upkeep.then(|| Sweeper::upkeep(&arena.store));
    let sweeper = shape.sweeps.then(|| Sweeper::start(&arena.store, SWEEP_INTERVAL));
    let (sender, ends) = channel();
    for number in 0..shape.threads {
        let (arena, sender) = (Arc::clone(arena), sender.clone());
        thread::spawn(move || run(&arena, seed, number, &sender));
    }
    drop(sender);
    let (mut tally, mut log) = (Tally::default(), Log::default());
    let (mut idle, mut left) = (0, u64::MAX);
    // Ends: every player sends once, or panics and drops its sender, or is stuck.
    loop {
        match ends.recv_timeout(PERIOD) {
            Ok(end) => {
                let (more, lines) = end?;
                tally += more;
                log.join(lines)?;
            }
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                let now = arena.left.load(Ordering::Relaxed);
                idle = if now == left { idle + 1 } else { 0 };
                left = now;
                if idle == LOOKS {
                    let seen = format!("a thread is stuck, with {left} acquires to go");
                    return Err(Violation::new(Claim::VerbsEnd, seen));
                }
            }
        }
    }
    drop((upkeep, sweeper));
    log.check()?;
    tally.settle(&arena.store.stats(), shape.keys)?;
    aftermath::check_rest(arena)?;
    Ok(tally)
}

/// One player's thread.
fn run(arena: &Arena, seed: u64, number: usize, end: &Sender<Checked<Played>>) {
    let mut player = Player::new(arena, seed, number);
    let played = catch_unwind(AssertUnwindSafe(|| player.play()))
        .unwrap_or_else(|_| Err(Violation::new(Claim::NothingPanics, "a player has panicked")));
    // Nobody listens any more once something was found.
    let _ = end.send(played.map(|()| (player.tally, player.log)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_rounds_of_many_shapes_find_nothing() {
        for seed in 0..24 {
            let shape = Shape::drawn(seed, 4);
            let tally =
                play(seed, shape, 4_000).unwrap_or_else(|found| panic!("{shape}: {found:?}"));
            assert!(tally.acquires >= 4_000 && tally.granted > 0, "{shape}: {tally}");
        }
    }
}
