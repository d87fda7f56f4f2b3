//! What must hold once nothing runs any more: nothing is left, and everything can be had again.

use std::thread;

use leasehold::{AcquireError, Admission, Terms};

use crate::arena::{Arena, LATENESS_MS, LONG_MS, ttl};
use crate::claim::{Checked, Claim, check};

/// Checks a store whose players have settled all that does not expire.
pub(crate) fn check_rest(arena: &Arena) -> Checked {
    arena.time.advance(2 * LONG_MS);
    check_empty(arena, Claim::ExpiredIsReclaimed, "everything has expired")?;
    let mut leases = Vec::new();
    let keys = arena.keys.iter().map(|key| key.identity);
    let others = (0..=arena.shape.bound).map(|n| arena.store.identify(&[b"end", &n.to_le_bytes()]));
    let terms = Terms::new(ttl(LONG_MS));
    for (place, identity) in keys.chain(others).take(arena.shape.bound + 1).enumerate() {
        let answer = arena.store.acquire(identity, &terms);
        let (claim, fits) = match (&answer, place < arena.shape.bound) {
            (Ok(Admission::InFlight { .. } | Admission::Completed { .. }), _) => {
                (Claim::KeysComeFree, false)
            }
            (Ok(Admission::Granted(_)), true) | (Err(AcquireError::Full), false) => {
                (Claim::PlacesAreWhole, true)
            }
            _ => (Claim::PlacesAreWhole, false),
        };
        check(fits, claim, || format!("key {place} in an empty store: {answer:?}"))?;
        if let Ok(Admission::Granted(lease)) = answer {
            leases.push(lease);
        }
    }
    let entries = arena.store.usage().entries;
    check(entries == arena.shape.bound, Claim::UsageIsExact, || {
        format!("{entries} entries in a full store")
    })?;
    for lease in &mut leases {
        let answer = arena.store.release(lease);
        check(answer.is_ok(), Claim::HolderSettles, || format!("a last release: {answer:?}"))?;
    }
    check_empty(arena, Claim::UsageIsExact, "everything was released")
}

/// Sweeps until nothing is left, or everything has been due for certain.
fn check_empty(arena: &Arena, claim: Claim, when: &str) -> Checked {
    let shape = &arena.shape;
    let due = arena.time.at_most() + shape.ttl_ms_max + shape.late_grace_ms + LATENESS_MS;
    // Ends: a system's clock moves by itself, and one that is moved by hand has been moved.
    loop {
        // Before the sweep, so that the last one comes when all is due.
        let is_last = arena.time.is_manual() || arena.time.at_least() > due;
        arena.store.sweep_all();
        if is_last || arena.store.usage().entries == 0 {
            break;
        }
        thread::yield_now();
    }
    let entries = arena.store.usage().entries;
    check(entries == 0, claim, || format!("{entries} entries after {when}"))
}
