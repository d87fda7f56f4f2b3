//! The state of one lease in one atomic word: phase, generation and deadline.
//!
//! One compare and swap on the exact word decides every race about an entry: were the deadline in a
//! second word, a sweep could kill a lease that was renewed in between. This is the only file that
//! knows the bits, and the only one that moves them.
//!
//! ```text
//!               take                    publish                 commit
//!   Dead  ------------------> Pending ------------> InFlight -------------> Committed
//!    ^  ^                      |   ^                 |  ^ |                     |
//!    |  +------ abandon -------+   +---- take -------+  +-+ renew               |
//!    |                             (deadline passed)                            |
//!    +---- kill (release, forget, sweep) <-----------+--------------------------+
//! ```
//!
//! `take` raises the generation, so (slot, generation) names one grant until 2^28 grants of the
//! same slot later. `Pending` belongs to the thread that took it: nobody else moves the word on.
//! Its deadline is the one that the grant will have, or none while the slot *changes hands*, that
//! is, while it is being taken from the identity that it held.

use crate::clock::{Deadline, LAST_TICK, Tick};
use crate::sync::{AtomicU64, Ordering};

const DEADLINE_BITS: u32 = 34;
const GENERATION_BITS: u32 = 28;
const DEADLINE_MASK: u64 = (1 << DEADLINE_BITS) - 1;
const GENERATION_MASK: u64 = (1 << GENERATION_BITS) - 1;
const PHASE_SHIFT: u32 = DEADLINE_BITS + GENERATION_BITS;

const _: () = assert!(PHASE_SHIFT + 2 == u64::BITS);
const _: () = assert!(DEADLINE_MASK == LAST_TICK);

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Nobody's: free to take. A word of zeros is dead.
    Dead,
    /// One thread is granting it, and will publish it.
    Pending,
    /// A lease runs, or ran out.
    InFlight,
    /// The key is kept, or was until its deadline.
    Committed,
}

/// Which grant of a slot: 28 bits that wrap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Generation(u32);

impl Generation {
    pub(crate) const fn from_bits(bits: u32) -> Self {
        Self(bits & GENERATION_MASK as u32)
    }

    pub(crate) const fn to_bits(self) -> u32 {
        self.0
    }
}

/// One reading of a lease word.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Word(u64);

impl Word {
    fn new(phase: Phase, generation: Generation, deadline: Deadline) -> Self {
        debug_assert!(deadline.0 <= DEADLINE_MASK, "a deadline beyond the word's range");
        let phase = match phase {
            Phase::Dead => 0,
            Phase::Pending => 1,
            Phase::InFlight => 2,
            Phase::Committed => 3,
        };
        Self(phase << PHASE_SHIFT | u64::from(generation.0) << DEADLINE_BITS | deadline.0)
    }

    pub(crate) const fn phase(self) -> Phase {
        match self.0 >> PHASE_SHIFT {
            0 => Phase::Dead,
            1 => Phase::Pending,
            2 => Phase::InFlight,
            _ => Phase::Committed,
        }
    }

    pub(crate) const fn generation(self) -> Generation {
        Generation(((self.0 >> DEADLINE_BITS) & GENERATION_MASK) as u32)
    }

    pub(crate) const fn deadline(self) -> Deadline {
        Deadline(self.0 & DEADLINE_MASK)
    }

    /// Whether the slot is being taken from the identity that it held.
    pub(crate) fn changes_hands(self) -> bool {
        self.phase() == Phase::Pending && self.deadline() == CHANGES_HANDS
    }

    /// Whether this is a lease or a kept key, be it past its deadline or not.
    pub(crate) fn is_kept(self) -> bool {
        matches!(self.phase(), Phase::InFlight | Phase::Committed)
    }

    /// Whether this is a lease or a kept key before its deadline.
    pub(crate) fn is_live(self, now: Tick) -> bool {
        self.is_kept() && !self.deadline().is_past(now)
    }
}

impl std::fmt::Debug for Word {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}(generation {}, {:?})", self.phase(), self.generation().0, self.deadline())
    }
}

/// The deadline of a pending word whose slot changes hands. No grant has it: a TTL is above zero,
/// so every deadline is at least one.
const CHANGES_HANDS: Deadline = Deadline(0);

/// The atomic word of one slot.
#[derive(Debug)]
pub(crate) struct LeaseWord(AtomicU64);

impl LeaseWord {
    /// Dead, and never granted.
    pub(crate) fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Reads the word.
    pub(crate) fn read(&self) -> Word {
        // [W1] `Acquire`: what the mover wrote before its move (identity, fingerprint, outcome) is
        // visible. Pairs with the `Release` side of every move below.
        Word(self.0.load(Ordering::Acquire))
    }

    /// Reads the word after a write elsewhere that its next mover must see if this reading does not
    /// see the move: both go through the word, so one of them comes first.
    pub(crate) fn read_after_own_write(&self) -> Word {
        // [W4] `AcqRel`, and a read-modify-write although nothing changes: in one order with [W2].
        // If this comes first, the mover sees the write; if the mover's does, this sees the move.
        Word(self.0.fetch_or(0, Ordering::AcqRel))
    }

    /// Whether the word is still what it was, after reads of what it guards. A guarded field
    /// changes only while the word does, and its readers load it with `Acquire`.
    pub(crate) fn is_still(&self, seen: Word) -> bool {
        self.read() == seen
    }

    /// Takes a dead word, or one past its deadline, for a grant that ends at `deadline`. The
    /// linearization point of a grant in place. Gives the pending word.
    pub(crate) fn take(&self, seen: Word, deadline: Deadline) -> Option<Word> {
        debug_assert!(seen.phase() != Phase::Pending, "only its own thread moves a pending word");
        debug_assert!(deadline != CHANGES_HANDS, "every grant's deadline is above zero");
        self.swap(seen, pending_after(seen, deadline))
    }

    /// Takes a dead word from the identity that it held. Gives the pending word.
    pub(crate) fn take_from_its_identity(&self, seen: Word) -> Option<Word> {
        debug_assert!(seen.phase() == Phase::Dead, "only a dead slot changes hands");
        self.swap(seen, pending_after(seen, CHANGES_HANDS))
    }

    /// Ends the change of hands: the slot now holds the identity of a grant until `deadline`.
    pub(crate) fn settle_in(&self, pending: Word, deadline: Deadline) -> Word {
        debug_assert!(pending.changes_hands(), "the slot was taken from its identity");
        self.put(Word::new(Phase::Pending, pending.generation(), deadline))
    }

    /// Publishes a grant.
    pub(crate) fn publish(&self, pending: Word) -> Word {
        debug_assert!(pending.phase() == Phase::Pending, "only a pending word is published");
        self.put(Word::new(Phase::InFlight, pending.generation(), pending.deadline()))
    }

    /// Gives up a grant that was not published.
    pub(crate) fn abandon(&self, pending: Word) -> Word {
        debug_assert!(pending.phase() == Phase::Pending, "only a pending word is abandoned");
        self.put(Word::new(Phase::Dead, pending.generation(), pending.deadline()))
    }

    /// Commits a lease: the linearization point of a commit.
    pub(crate) fn commit(&self, seen: Word, deadline: Deadline) -> Option<Word> {
        debug_assert!(seen.phase() == Phase::InFlight, "only a lease is committed");
        self.swap(seen, Word::new(Phase::Committed, seen.generation(), deadline))
    }

    /// Moves a lease's deadline: the linearization point of a renewal.
    pub(crate) fn renew(&self, seen: Word, deadline: Deadline) -> Option<Word> {
        debug_assert!(seen.phase() == Phase::InFlight, "only a lease is renewed");
        self.swap(seen, Word::new(Phase::InFlight, seen.generation(), deadline))
    }

    /// Ends a lease or a kept key: the linearization point of release, forget and reclaim.
    pub(crate) fn kill(&self, seen: Word) -> Option<Word> {
        debug_assert!(seen.is_kept(), "only what is kept is killed");
        self.swap(seen, Word::new(Phase::Dead, seen.generation(), seen.deadline()))
    }

    /// Every contended move. No retry here: the caller looks again at what beat it.
    fn swap(&self, seen: Word, new: Word) -> Option<Word> {
        // [W2] `AcqRel`: `Acquire` orders the mover's writes to guarded fields after the move,
        // `Release` publishes those before it. Pairs with [W1] and itself. On failure `Relaxed`: we
        // report, and follow nothing.
        self.0
            .compare_exchange(seen.0, new.0, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
            .then_some(new)
    }

    /// Every move of a pending word by the thread that owns it.
    fn put(&self, new: Word) -> Word {
        // [W3] `Release`: identity and fingerprint are complete before the word says so. Pairs with
        // [W1]. A store, since nobody else moves a pending word.
        self.0.store(new.0, Ordering::Release);
        new
    }
}

fn pending_after(seen: Word, deadline: Deadline) -> Word {
    let next = Generation((seen.generation().0 + 1) & GENERATION_MASK as u32);
    Word::new(Phase::Pending, next, deadline)
}

#[cfg(all(test, not(lease_loom)))]
mod tests {
    use super::*;

    const SOON: Deadline = Deadline(7);
    const LATER: Deadline = Deadline(LAST_TICK);

    #[test]
    fn a_grant_goes_through_pending_and_ends_dead() {
        let word = LeaseWord::new();
        let dead = word.read();
        assert_eq!((dead.phase(), dead.generation()), (Phase::Dead, Generation(0)));
        let pending = word.take(dead, SOON).expect("nobody else moves it");
        assert_eq!((pending.phase(), pending.deadline()), (Phase::Pending, SOON));
        assert!(!pending.is_kept());
        let lease = word.publish(pending);
        assert!(lease.is_live(Tick(6)));
        assert!(!lease.is_live(Tick(7)));
        let lease = word.renew(lease, LATER).expect("nobody else moves it");
        let kept = word.commit(lease, SOON).expect("nobody else moves it");
        assert_eq!((kept.phase(), kept.generation()), (Phase::Committed, Generation(1)));
        let dead = word.kill(kept).expect("nobody else moves it");
        assert_eq!(
            (dead.phase(), dead.generation(), dead.deadline()),
            (Phase::Dead, Generation(1), SOON)
        );
    }

    #[test]
    fn a_move_from_a_word_that_has_changed_fails() {
        let word = LeaseWord::new();
        let dead = word.read();
        let lease = word.publish(word.take(dead, SOON).expect("nobody else moves it"));
        assert_eq!(word.take(dead, SOON), None);
        let renewed = word.renew(lease, LATER).expect("nobody else moves it");
        assert_eq!(word.kill(lease), None);
        assert_eq!(word.commit(lease, SOON), None);
        assert!(word.is_still(renewed));
    }

    #[test]
    fn a_slot_changes_hands_without_a_deadline() {
        let word = LeaseWord::new();
        let pending = word.take_from_its_identity(word.read()).expect("nobody else moves it");
        assert!(pending.changes_hands());
        let pending = word.settle_in(pending, SOON);
        assert!(!pending.changes_hands());
        let dead = word.abandon(pending);
        assert_eq!((dead.phase(), dead.generation()), (Phase::Dead, Generation(1)));
    }

    #[test]
    fn generations_wrap_and_leave_their_neighbours_alone() {
        let last = Generation(GENERATION_MASK as u32);
        let word = Word::new(Phase::Committed, last, LATER);
        assert_eq!(
            (word.phase(), word.generation(), word.deadline()),
            (Phase::Committed, last, LATER)
        );
        let next = pending_after(word, SOON);
        assert_eq!(
            (next.phase(), next.generation(), next.deadline()),
            (Phase::Pending, Generation(0), SOON)
        );
    }
}
