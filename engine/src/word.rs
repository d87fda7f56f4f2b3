//! The state of one lease in one atomic word: phase, offset, generation and deadline.
//!
//! One compare and swap on the exact word decides every race about an entry: were the deadline in a
//! second word, a sweep could kill a lease that was renewed in between. This is the only file that
//! knows the bits, and the only one that moves them.
//!
//! ```text
//! | phase 2 | offset 4 | generation 24 | deadline 34, or the stamp while pending |
//!
//!               take                    publish                 commit
//!   Dead  ------------------> Pending ------------> InFlight -------------> Committed
//!    ^  ^                         ^                  |  ^ |                     |
//!    |  |                         +------ take ------+  +-+ renew               |
//!    |  |                             (deadline passed)                         |
//!    |  +---- kill (by the holder), reclaim (others) <-+-------------------------+
//!    +------- retire (only the deadline goes)
//! ```
//!
//! `take` raises the generation, so (slot, generation) names one grant until 2^24 grants of the
//! same slot later. `Pending` belongs to the thread that took it: nobody else moves the word on,
//! and nothing that may panic, allocate or wait happens until it is published. A thread that is
//! stopped just there keeps this key in flight until it goes on. (No thread of a process can be
//! killed alone but by breaking every other promise of the process too.)
//!
//! A word that its holder has killed keeps the deadline that it had: a grant in its place with a
//! later one is covered by what the holder had filed. Otherwise, and once that is past, a dead word
//! is *retired*: in the deadline's place it has a flag and the tick at which that was, so that no
//! word ever comes back, not even after 2^24 grants.

use crate::clock::{Deadline, LAST_TICK, Tick};
use crate::sync::{AtomicU64, Ordering};

const DEADLINE_BITS: u32 = 34;
const GENERATION_SHIFT: u32 = DEADLINE_BITS;
const OFFSET_SHIFT: u32 = GENERATION_SHIFT + Generation::BITS;
const OFFSET_BITS: u32 = 4;
const PHASE_SHIFT: u32 = OFFSET_SHIFT + OFFSET_BITS;
const DEADLINE_MASK: u64 = (1 << DEADLINE_BITS) - 1;
const GENERATION_MASK: u64 = (1 << Generation::BITS) - 1;
const OFFSET_MASK: u64 = (1 << OFFSET_BITS) - 1;

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

/// Which grant of a slot: 24 bits that wrap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Generation(u32);

impl Generation {
    pub(crate) const BITS: u32 = 24;

    /// The generation of the lower 24 bits.
    pub(crate) const fn from_bits(bits: u32) -> Self {
        Self(bits & GENERATION_MASK as u32)
    }

    pub(crate) const fn to_bits(self) -> u32 {
        self.0
    }
}

/// What a pending word shows of the digest that its slot is being given: 34 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp(u64);

impl Stamp {
    /// The upper bits of a digest's low half.
    pub(crate) const fn of(digest_low: u64) -> Self {
        Self(digest_low >> (u64::BITS - DEADLINE_BITS))
    }
}

/// One reading of a lease word.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Word(u64);

impl Word {
    /// The word of the bits that [`to_bits`](Self::to_bits) gave.
    pub(crate) const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    pub(crate) const fn to_bits(self) -> u64 {
        self.0
    }

    pub(crate) const fn phase(self) -> Phase {
        match self.0 >> PHASE_SHIFT {
            0 => Phase::Dead,
            1 => Phase::Pending,
            2 => Phase::InFlight,
            _ => Phase::Committed,
        }
    }

    /// How far from its home the slot is, on the probe sequence of whatever it holds.
    pub(crate) const fn offset(self) -> u64 {
        (self.0 >> OFFSET_SHIFT) & OFFSET_MASK
    }

    pub(crate) const fn generation(self) -> Generation {
        Generation(((self.0 >> GENERATION_SHIFT) & GENERATION_MASK) as u32)
    }

    /// Of a dead word: the one that it had, unless it is retired. A pending word has none.
    pub(crate) const fn deadline(self) -> Deadline {
        Deadline(self.0 & DEADLINE_MASK)
    }

    /// Of a pending word.
    pub(crate) const fn stamp(self) -> Stamp {
        Stamp(self.0 & DEADLINE_MASK)
    }

    /// Whether the slot never held anything.
    pub(crate) const fn was_never_used(self) -> bool {
        self.0 == 0
    }

    /// Whether this is dead and has no deadline any more, or never had one.
    pub(crate) fn is_retired(self) -> bool {
        self.phase() == Phase::Dead && (self.0 & RETIRED != 0 || self.was_never_used())
    }

    /// Whether this is a lease or a kept key, be it past its deadline or not.
    pub(crate) const fn is_kept(self) -> bool {
        matches!(self.phase(), Phase::InFlight | Phase::Committed)
    }

    /// Whether this is a lease or a kept key before its deadline.
    pub(crate) const fn is_live(self, now: Tick) -> bool {
        self.is_kept() && !self.deadline().is_past(now)
    }

    const fn with_phase(self, phase: Phase) -> Self {
        let phase = match phase {
            Phase::Dead => 0,
            Phase::Pending => 1,
            Phase::InFlight => 2,
            Phase::Committed => 3,
        };
        Self(self.0 & !(3 << PHASE_SHIFT) | phase << PHASE_SHIFT)
    }

    fn with_deadline(self, deadline: Deadline) -> Self {
        debug_assert!(deadline.0 <= DEADLINE_MASK, "a deadline beyond the word's range");
        Self(self.0 & !DEADLINE_MASK | deadline.0)
    }

    const fn retired(self, now: Tick) -> Self {
        Self(self.0 & !DEADLINE_MASK | RETIRED | now.0 & (RETIRED - 1)).with_phase(Phase::Dead)
    }

    const fn pending(self, offset: u64, stamp: Stamp) -> Self {
        let generation = (self.generation().0 as u64 + 1) & GENERATION_MASK;
        Self(offset << OFFSET_SHIFT | generation << GENERATION_SHIFT | stamp.0)
            .with_phase(Phase::Pending)
    }
}

impl std::fmt::Debug for Word {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}(generation {}, {:?})", self.phase(), self.generation().0, self.deadline())
    }
}

/// The flag of a dead word that nothing is filed for: the upper half of the deadlines. A word with
/// such a deadline, some nine years ahead, does not keep it when it dies.
const RETIRED: u64 = 1 << (DEADLINE_BITS - 1);

/// The atomic word of one slot.
#[derive(Debug)]
pub(crate) struct LeaseWord(AtomicU64);

impl LeaseWord {
    /// Dead, and never granted.
    #[cfg(any(test, lease_loom))]
    pub(crate) fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Reads the word.
    pub(crate) fn read(&self) -> Word {
        // [W1] `Acquire`: what the mover wrote before its move (digest, fingerprint, outcome) is
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

    /// Takes a dead word, or one past its deadline, for a grant to an identity that shows this
    /// stamp, `offset` from its home. The linearization point of a grant. Gives the pending word.
    pub(crate) fn take(&self, seen: Word, offset: u64, stamp: Stamp) -> Option<Word> {
        debug_assert!(seen.phase() != Phase::Pending, "only its own thread moves a pending word");
        debug_assert!(offset <= OFFSET_MASK, "an offset has four bits");
        self.swap(seen, seen.pending(offset, stamp))
    }

    /// Publishes a grant.
    pub(crate) fn publish(&self, pending: Word, deadline: Deadline) -> Word {
        debug_assert!(pending.phase() == Phase::Pending, "only a pending word is published");
        debug_assert!(deadline.0 > 0, "every grant's deadline is above zero");
        let lease = pending.with_deadline(deadline).with_phase(Phase::InFlight);
        // [W3] `Release`: digest and fingerprint are complete before the word says so. Pairs with
        // [W1]. A store, since nobody else moves a pending word.
        self.0.store(lease.0, Ordering::Release);
        lease
    }

    /// Commits a lease: the linearization point of a commit.
    pub(crate) fn commit(&self, seen: Word, deadline: Deadline) -> Option<Word> {
        debug_assert!(seen.phase() == Phase::InFlight, "only a lease is committed");
        self.swap(seen, seen.with_phase(Phase::Committed).with_deadline(deadline))
    }

    /// Moves a lease's deadline: the linearization point of a renewal.
    pub(crate) fn renew(&self, seen: Word, deadline: Deadline) -> Option<Word> {
        debug_assert!(seen.phase() == Phase::InFlight, "only a lease is renewed");
        self.swap(seen, seen.with_deadline(deadline))
    }

    /// Ends a lease, by its holder, for whom its deadline is filed: the linearization point of
    /// release.
    pub(crate) fn kill(&self, seen: Word, now: impl FnOnce() -> Tick) -> Option<Word> {
        debug_assert!(seen.phase() == Phase::InFlight, "only a lease has a holder");
        let keeps = seen.deadline().0 & RETIRED == 0;
        self.swap(seen, if keeps { seen.with_phase(Phase::Dead) } else { seen.retired(now()) })
    }

    /// Ends what is kept, by anybody, and retires it: the linearization point of forget and of the
    /// end of what is due.
    pub(crate) fn reclaim(&self, seen: Word, now: Tick) -> Option<Word> {
        debug_assert!(seen.is_kept(), "only what is kept is reclaimed");
        self.swap(seen, seen.retired(now))
    }

    /// Takes the deadline, which is past, from a dead word.
    pub(crate) fn retire(&self, seen: Word, now: Tick) -> Option<Word> {
        debug_assert!(seen.phase() == Phase::Dead, "only what is dead is retired");
        self.swap(seen, seen.retired(now))
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
}

#[cfg(all(test, not(lease_loom)))]
mod tests {
    use super::*;

    const SOON: Deadline = Deadline(7);
    const LATER: Deadline = Deadline(LAST_TICK);
    const STAMP: Stamp = Stamp::of(u64::MAX);

    #[test]
    fn a_grant_goes_through_pending_and_ends_dead_and_retired() {
        let word = LeaseWord::new();
        let unused = word.read();
        assert!(unused.was_never_used() && unused.is_retired());
        let pending = word.take(unused, 9, STAMP).expect("nobody else moves it");
        assert_eq!((pending.phase(), pending.stamp()), (Phase::Pending, STAMP));
        assert!(!pending.is_kept());
        let lease = word.publish(pending, SOON);
        assert_eq!((lease.offset(), lease.deadline()), (9, SOON));
        assert!(lease.is_live(Tick(6)));
        assert!(!lease.is_live(Tick(7)));
        let lease = word.renew(lease, LATER).expect("nobody else moves it");
        let dead = word.kill(lease, || Tick(3)).expect("nobody else moves it");
        assert!(dead.is_retired(), "a deadline so far ahead is not kept");
        let again = word.publish(word.take(dead, 9, STAMP).expect("nobody else moves it"), SOON);
        let kept = word.commit(again, SOON).expect("nobody else moves it");
        assert_eq!((kept.phase(), kept.generation()), (Phase::Committed, Generation(2)));
        let reclaimed = word.reclaim(kept, Tick(8)).expect("nobody else moves it");
        assert!(reclaimed.is_retired() && !reclaimed.was_never_used());
        assert_eq!((reclaimed.generation(), reclaimed.offset()), (Generation(2), 9));
    }

    #[test]
    fn a_word_that_its_holder_killed_keeps_its_deadline_until_it_is_retired() {
        let word = LeaseWord::new();
        let pending = word.take(word.read(), 0, STAMP).expect("nobody else moves it");
        let lease = word.publish(pending, SOON);
        let dead = word.kill(lease, || Tick(3)).expect("nobody else moves it");
        assert_eq!((dead.phase(), dead.deadline()), (Phase::Dead, SOON));
        assert!(!dead.is_retired());
        let [early, late] = [dead.retired(Tick(8)), dead.retired(Tick(9))];
        assert_eq!(word.retire(dead, Tick(8)), Some(early));
        assert!(early.is_retired() && early != late, "the tick tells them apart");
    }

    #[test]
    fn a_move_from_a_word_that_has_changed_fails() {
        let word = LeaseWord::new();
        let dead = word.read();
        let pending = word.take(dead, 0, STAMP).expect("nobody else moves it");
        let lease = word.publish(pending, SOON);
        assert_eq!(word.take(dead, 0, STAMP), None);
        let renewed = word.renew(lease, LATER).expect("nobody else moves it");
        assert_eq!(word.kill(lease, || Tick(1)), None);
        assert_eq!(word.commit(lease, SOON), None);
        assert!(word.is_still(renewed));
    }

    #[test]
    fn generations_wrap_and_leave_their_neighbours_alone() {
        let last = Word(u64::MAX);
        assert_eq!(last.generation(), Generation(GENERATION_MASK as u32));
        let next = last.pending(5, Stamp::of(0));
        assert_eq!(
            (next.phase(), next.offset(), next.generation(), next.stamp()),
            (Phase::Pending, 5, Generation(0), Stamp(0))
        );
        assert_eq!(Word::from_bits(next.to_bits()), next);
    }
}
