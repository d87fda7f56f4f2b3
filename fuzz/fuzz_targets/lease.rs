//! What a lease and an outcome are made of: bytes that come back, and bytes that somebody made up.
//!
//! An outcome and a fingerprint are told again as they were given. A lease of any 32 bytes is
//! refused or is what it says; it never panics, and leaves the store whole.

#![no_main]

use std::time::Duration;

use arbitrary::Arbitrary;
use bytes::Bytes;
use leasehold::{
    Admission, Clock, Fingerprint, Identity, Lease, MemoryConfig, MemoryStore, Outcome, Terms,
    Token, Ttl,
};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Input {
    fingerprint: [u8; 32],
    other: [u8; 32],
    outcome: Vec<u8>,
    /// Which bytes of a true lease are others; all of them if there are 32.
    forged: Vec<(u8, u8)>,
    advance: u16,
    is_committed: bool,
}

fn ttl() -> Ttl {
    Ttl::new(Duration::from_secs(10)).expect("above zero")
}

fn granted(store: &MemoryStore, key: Identity, terms: &Terms) -> Lease {
    match store.acquire(key, terms) {
        Ok(Admission::Granted(lease)) => lease,
        other => panic!("a free key: {other:?}"),
    }
}

/// Settles by a lease that nobody was granted, in every way.
fn settle_forged(store: &MemoryStore, lease: &Lease, input: &Input) {
    let mut place = *lease.place();
    for (at, byte) in &input.forged {
        place.0[usize::from(at % 32)] = *byte;
    }
    if place == *lease.place() {
        return;
    }
    let token = Token::new(lease.token().get());
    let forged = || Lease::new(token, lease.deadline(), place);
    let _ = store.attach(&forged(), Outcome::new(Bytes::new()));
    let _ = store.renew(&mut forged(), ttl());
    let _ = store.commit(&mut forged(), None, ttl());
    let _ = store.release(&mut forged());
    store.validate().expect("the store is whole");
}

fuzz_target!(|input: Input| {
    let (clock, hand) = Clock::manual();
    let config = MemoryConfig::default().max_entries(3);
    let store = MemoryStore::with_clock(config, clock).expect("a valid configuration");
    let key = store.identify(&[b"key"]);
    let terms = Terms::new(ttl()).fingerprint(Fingerprint::from_bytes(input.fingerprint));
    let mut lease = granted(&store, key, &terms);
    if input.is_committed {
        let outcome = Outcome::new(Bytes::from(input.outcome.clone()));
        store.commit(&mut lease, Some(outcome), ttl()).expect("the lease is current");
        match store.acquire(key, &terms) {
            Ok(Admission::Completed { outcome: Some(outcome), .. }) => {
                assert_eq!(outcome.as_bytes().as_ref(), &input.outcome[..]);
            }
            other => panic!("a kept key: {other:?}"),
        }
        if input.other != input.fingerprint {
            let other = Terms::new(ttl()).fingerprint(Fingerprint::from_bytes(input.other));
            assert!(matches!(store.acquire(key, &other), Ok(Admission::Mismatch)));
        }
    }
    hand.advance(Duration::from_millis(input.advance.into()));
    settle_forged(&store, &lease, &input);
});
