//! One round's store, its keys, and what is known of them from outside.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Duration;

use bytes::Bytes;
use leasehold::{
    Admission, Fingerprint, Identity, Lease, MemoryConfig, MemoryStore, Outcome, Terms, Ttl,
};

use crate::claim::{Checked, Claim, Violation, check};
use crate::mark::KeyMark;
use crate::room::Room;
use crate::shape::Shape;
use crate::time::Time;

/// TTL of what is never let expire: a day, which no round's clock reaches.
pub(crate) const LONG_MS: u64 = 24 * 60 * 60 * 1000;

/// How much later than its end an entry may still hold its place, in milliseconds, and its end be
/// seen: rounding to ticks, twice.
pub(crate) const LATENESS_MS: u64 = 100;

/// What the players share.
pub(crate) struct Arena {
    pub(crate) shape: Shape,
    pub(crate) store: Arc<MemoryStore>,
    pub(crate) time: Time,
    pub(crate) keys: Vec<Key>,
    pub(crate) room: Room,
    /// Acquires that the players may still make.
    pub(crate) left: AtomicU64,
    /// Set once something was found.
    pub(crate) stop: AtomicBool,
}

/// One key.
pub(crate) struct Key {
    pub(crate) number: usize,
    pub(crate) identity: Identity,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) mark: KeyMark,
    /// Its first token, from which the mark's tokens count.
    first: u64,
}

impl Arena {
    /// A new store, each key of which was granted and released once.
    pub(crate) fn new(shape: Shape, acquires: u64) -> Checked<Self> {
        let (time, clock) = Time::new(shape.manual);
        let config = MemoryConfig::default()
            .max_entries(shape.bound)
            .late_grace(Duration::from_millis(shape.late_grace_ms));
        let store = MemoryStore::with_clock(config, clock).map_err(|error| {
            Violation::new(Claim::NothingElseIsAnswered, format!("a new store: {error}"))
        })?;
        let keys =
            (0..shape.keys).map(|number| Key::new(&store, number)).collect::<Checked<_>>()?;
        Ok(Self {
            shape,
            store: Arc::new(store),
            time,
            keys,
            room: Room::new(shape.bound, shape.keys),
            left: AtomicU64::new(acquires),
            stop: AtomicBool::new(false),
        })
    }

    /// Looks at all keys: those that are marked before and after a moment, with an end that had not
    /// come at that moment, were live at once.
    pub(crate) fn survey(&self) -> Checked {
        let read = || self.keys.iter().map(|key| key.mark.read());
        let before: Vec<_> = read().collect();
        let now = self.time.at_most();
        let pairs = before.iter().zip(read());
        let live = pairs.filter(|(before, after)| *before == after && after.until > now).count();
        check(live <= self.shape.bound, Claim::BoundHolds, || format!("{live} keys are live"))
    }
}

impl Key {
    fn new(store: &MemoryStore, number: usize) -> Checked<Self> {
        let identity = store.identify(&[b"key", &number.to_le_bytes()]);
        let terms = Terms::new(ttl(LONG_MS));
        let Ok(Admission::Granted(mut lease)) = store.acquire(identity, &terms) else {
            let seen = format!("key {number} was not granted in an empty store");
            return Err(Violation::new(Claim::KeysComeFree, seen));
        };
        store.release(&mut lease).map_err(|error| {
            Violation::new(Claim::HolderSettles, format!("a release in an empty store: {error}"))
        })?;
        let byte = u8::try_from(number % 256).unwrap_or_default();
        Ok(Self {
            number,
            identity,
            fingerprint: Fingerprint::from_bytes([byte; 32]),
            mark: KeyMark::new(),
            first: lease.token().get(),
        })
    }

    /// A lease's token as the key's marks count it.
    pub(crate) fn token(&self, lease: &Lease) -> Checked<u32> {
        let since = lease.token().get().checked_sub(self.first).filter(|since| *since > 0);
        since.and_then(|since| u32::try_from(since).ok()).ok_or_else(|| {
            let seen = format!("key {}: {} after {}", self.number, lease.token(), self.first);
            Violation::new(Claim::TokensRise, seen)
        })
    }

    /// What the grant of a token leaves.
    pub(crate) fn outcome_of(&self, token: u32) -> Outcome {
        let bytes = [(self.number as u64).to_le_bytes(), u64::from(token).to_le_bytes()];
        Outcome::new(Bytes::from(bytes.concat()))
    }

    /// The token of the grant that left an outcome.
    pub(crate) fn token_of(&self, outcome: &Outcome) -> Checked<u32> {
        let mut token = [0; 4];
        let bytes = outcome.as_bytes();
        if let Some(kept) = bytes.get(8..12) {
            token.copy_from_slice(kept);
        }
        let token = u32::from_le_bytes(token);
        check(*outcome == self.outcome_of(token), Claim::OutcomesAreTheirGrants, || {
            format!("key {} was answered with the bytes {bytes:?}", self.number)
        })?;
        Ok(token)
    }
}

/// A TTL of milliseconds.
pub(crate) fn ttl(millis: u64) -> Ttl {
    Ttl::new(Duration::from_millis(millis.max(1))).expect("between a millisecond and a day")
}
