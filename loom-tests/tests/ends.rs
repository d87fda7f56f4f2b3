//! Commit, takeover, forget and sweep beside each other: who ends an entry, and what is left.

#![cfg(lease_loom)]

use bytes::Bytes;
use leasehold::{Admission, Lease, MemoryStore, Outcome};
use loom_tests::{
    GRACE, LEASE, TICK, beside, done, explore, granted, key, store, terms, ttl, word,
};

/// A year: after it everything has expired.
const FAR: std::time::Duration = std::time::Duration::from_secs(365 * 24 * 60 * 60);

/// The same lease once more, as a store that keeps leases by their parts would have it.
fn twin(lease: &Lease) -> Lease {
    Lease::new(lease.token(), lease.deadline(), *lease.place())
}

/// Everything that a store keeps is found by a sweep once it is due.
fn assert_swept_empty(store: &MemoryStore, hand: &leasehold::ManualClock) {
    hand.advance(FAR);
    store.sweep_all();
    assert_eq!(store.usage().entries, 0);
    assert_eq!(store.validate(), Ok(()));
}

#[test]
fn sweep_and_commit_and_takeover_never_all_win() {
    let expected = ["committed, completed", "superseded, granted"];
    explore(55, &expected, || {
        let (store, hand) = store(1);
        let k = key(&store, "k");
        let mut lease = granted(&store, k);
        hand.advance(LEASE);
        let other = beside(&store, move |store| word(&store.acquire(k, &terms())));
        let sweeper = beside(&store, move |store| store.sweep(8));
        let commit = store.commit(&mut lease, None, ttl(10 * LEASE));
        let committed = if commit.is_ok() { "committed" } else { "superseded" };
        assert_eq!(sweeper.join().expect("no panic"), 0);
        let outcome = format!("{committed}, {}", other.join().expect("no panic"));
        assert_eq!(store.usage().entries, 1);
        assert_swept_empty(&store, &hand);
        outcome
    });
}

#[test]
fn past_its_grace_a_lease_is_swept_or_taken_over_once() {
    explore(6_800, &["granted, 0", "granted, 1"], || {
        let (store, hand) = store(1);
        let k = key(&store, "k");
        let mut lease = granted(&store, k);
        hand.advance(LEASE + GRACE);
        let other = beside(&store, move |store| store.sweep(8));
        let answer = word(&store.acquire(k, &terms()));
        let outcome = format!("{answer}, {}", other.join().expect("no panic"));
        assert_eq!(store.usage().entries, 1);
        assert_eq!(done(&store.commit(&mut lease, None, ttl(LEASE))), "refused");
        assert_swept_empty(&store, &hand);
        outcome
    });
}

/// The sweep ends the entry and has not listed its slot yet when another key needs it.
#[test]
fn a_due_place_is_found_beside_a_sweep() {
    explore(4_900, &["granted"], || {
        let (store, hand) = store(1);
        drop(granted(&store, key(&store, "k")));
        hand.advance(LEASE + GRACE);
        let sweeper = beside(&store, |store| store.sweep(8));
        let outcome = word(&store.acquire(key(&store, "l"), &terms())).to_owned();
        sweeper.join().expect("no panic");
        outcome
    });
}

/// The same where the entry has no record in time and is found by a look through the slots.
#[test]
fn a_due_place_without_a_record_is_found_beside_a_sweep() {
    explore(4_900, &["granted"], || {
        let (store, hand) = store(1);
        let mut lease = granted(&store, key(&store, "k"));
        for leases in [100, 50, 20] {
            store.renew(&mut lease, ttl(leases * LEASE)).expect("the lease is current");
        }
        hand.advance(20 * LEASE + GRACE);
        let sweeper = beside(&store, |store| store.sweep(8));
        let outcome = word(&store.acquire(key(&store, "l"), &terms())).to_owned();
        sweeper.join().expect("no panic");
        outcome
    });
}

/// Attached beside a forget, the outcome is gone with the entry, or was refused.
#[test]
fn an_attached_outcome_never_outlives_its_entry() {
    explore(140, &["attached", "too late"], || {
        let (store, _) = store(1);
        let k = key(&store, "k");
        let mut lease = granted(&store, k);
        store.commit(&mut lease, None, ttl(LEASE)).expect("the lease is current");
        let other = beside(&store, move |store| store.forget(k));
        let outcome = Outcome::new(Bytes::from_static(b"made"));
        let attached = store.attach(&lease, outcome).is_ok();
        assert!(other.join().expect("no panic"));
        assert_eq!(store.validate(), Ok(()));
        let mut lease = granted(&store, k);
        store.commit(&mut lease, None, ttl(LEASE)).expect("the lease is current");
        assert_eq!(word(&store.acquire(k, &terms())), "completed");
        (if attached { "attached" } else { "too late" }).to_owned()
    });
}

#[test]
fn a_stale_holder_never_touches_the_new_lease() {
    explore(110, &["release refused"], || {
        let (store, hand) = store(1);
        let k = key(&store, "k");
        let mut stale = granted(&store, k);
        hand.advance(LEASE);
        let mut lease = granted(&store, k);
        let other = beside(&store, move |store| {
            let commit = store.commit(&mut stale, None, ttl(LEASE));
            assert_eq!(done(&commit), "refused");
            assert_eq!(done(&store.renew(&mut stale, ttl(LEASE))), "refused");
            done(&store.release(&mut stale))
        });
        assert_eq!(done(&store.renew(&mut lease, ttl(LEASE))), "done");
        assert_eq!(done(&store.commit(&mut lease, None, ttl(LEASE))), "done");
        let outcome = format!("release {}", other.join().expect("no panic"));
        assert_eq!(word(&store.acquire(k, &terms())), "completed");
        outcome
    });
}

/// First the lease's record fires, before the renewed lease is due. The sweep takes it out and
/// files it again, while the holder moves the deadline to before that, and files the other record.
#[test]
fn renewal_and_sweep_never_lose_a_lease() {
    explore(80, &["done"], || {
        let (store, hand) = store(1);
        let mut lease = granted(&store, key(&store, "k"));
        assert_eq!(done(&store.renew(&mut lease, ttl(30 * LEASE))), "done");
        hand.advance(LEASE + GRACE);
        let other = beside(&store, move |store| store.sweep(8));
        let outcome = done(&store.renew(&mut lease, ttl(LEASE))).to_owned();
        assert_eq!(other.join().expect("no panic"), 0);
        hand.advance(LEASE + GRACE + TICK);
        store.sweep_all();
        assert_eq!(store.usage().entries, 0, "the shorter lease had no record in time");
        outcome
    });
}

/// Past its deadline and within its grace a lease is still its holder's, until somebody asks.
#[test]
fn past_its_deadline_a_lease_is_renewed_or_taken_over() {
    let expected = ["done, in flight", "refused, granted"];
    explore(14, &expected, || {
        let (store, hand) = store(1);
        let k = key(&store, "k");
        let mut lease = granted(&store, k);
        hand.advance(LEASE);
        let other = beside(&store, move |store| word(&store.acquire(k, &terms())));
        let renewal = done(&store.renew(&mut lease, ttl(LEASE)));
        let outcome = format!("{renewal}, {}", other.join().expect("no panic"));
        assert_eq!(store.usage().entries, 1);
        assert_eq!(word(&store.acquire(k, &terms())), "in flight");
        assert_swept_empty(&store, &hand);
        outcome
    });
}

/// Two threads hand one lease on: its commit came first, or its release did.
#[test]
fn commit_and_release_of_one_lease_never_both_win() {
    explore(4, &["done, refused", "refused, done"], || {
        let (store, hand) = store(1);
        let k = key(&store, "k");
        let mut lease = granted(&store, k);
        let mut twin = twin(&lease);
        let other = beside(&store, move |store| done(&store.release(&mut twin)));
        let commit = done(&store.commit(&mut lease, None, ttl(LEASE)));
        let outcome = format!("{commit}, {}", other.join().expect("no panic"));
        assert_eq!(store.usage().entries, usize::from(commit == "done"));
        assert_swept_empty(&store, &hand);
        outcome
    });
}

/// A released slot keeps what its holder has filed, and its next grant relies on that; though the
/// time passes and a sweep comes by while the slot is pending.
#[test]
fn a_grant_in_a_released_slot_is_swept_in_time() {
    explore(210, &["granted"], || {
        let (store, hand) = store(1);
        let k = key(&store, "k");
        store.release(&mut granted(&store, k)).expect("the lease is current");
        let clock = hand.clone();
        let other = beside(&store, move |store| {
            clock.advance(LEASE + GRACE);
            store.sweep(8);
        });
        let outcome = word(&store.acquire(k, &terms())).to_owned();
        other.join().expect("no panic");
        assert_swept_empty(&store, &hand);
        outcome
    });
}

#[test]
fn a_commit_that_shortens_is_swept_in_time() {
    explore(80, &["done"], || {
        let (store, hand) = store(1);
        let mut lease = granted(&store, key(&store, "k"));
        assert_eq!(done(&store.renew(&mut lease, ttl(30 * LEASE))), "done");
        hand.advance(LEASE + GRACE);
        let other = beside(&store, move |store| store.sweep(8));
        let outcome = done(&store.commit(&mut lease, None, ttl(2 * TICK))).to_owned();
        assert_eq!(other.join().expect("no panic"), 0);
        hand.advance(3 * TICK);
        store.sweep_all();
        assert_eq!(store.usage().entries, 0, "the shorter entry had no record in time");
        outcome
    });
}

#[test]
fn two_sweepers_reclaim_an_entry_once() {
    explore(10_000, &["0, 2", "1, 1", "2, 0"], || {
        let (store, hand) = store(2);
        let _leases = [granted(&store, key(&store, "k")), granted(&store, key(&store, "l"))];
        hand.advance(LEASE + GRACE);
        let other = beside(&store, move |store| store.sweep(8));
        let one = store.sweep(8);
        let outcome = format!("{one}, {}", other.join().expect("no panic"));
        assert_eq!(store.usage().entries, 0);
        assert_eq!(store.validate(), Ok(()));
        outcome
    });
}

#[test]
fn forget_and_commit_leave_nothing_or_a_refused_holder() {
    explore(27, &["done, forgotten", "refused, forgotten"], || {
        let (store, hand) = store(1);
        let k = key(&store, "k");
        let mut lease = granted(&store, k);
        let other = beside(&store, move |store| store.forget(k));
        let commit = done(&store.commit(&mut lease, None, ttl(LEASE)));
        assert!(other.join().expect("no panic"));
        assert_eq!(store.usage().entries, 0);
        assert_eq!(word(&store.acquire(k, &terms())), "granted");
        assert_swept_empty(&store, &hand);
        format!("{commit}, forgotten")
    });
}

/// A takeover is under way, and another acquire is told *in flight* of it. A forget that comes
/// then must find something to forget.
#[test]
fn a_grant_that_others_have_seen_can_be_forgotten() {
    explore(450, &["granted", "in flight, forgotten"], || {
        let (store, hand) = store(1);
        let k = key(&store, "k");
        drop(granted(&store, k));
        hand.advance(LEASE);
        let other = beside(&store, move |store| word(&store.acquire(k, &terms())));
        let mut outcome = word(&store.acquire(k, &terms())).to_owned();
        if outcome == "in flight" {
            assert!(store.forget(k));
            outcome += ", forgotten";
        }
        other.join().expect("no panic");
        outcome
    });
}

#[test]
fn a_committed_outcome_is_seen_whole() {
    explore(14, &["completed with its outcome", "in flight"], || {
        let (store, _) = store(1);
        let k = key(&store, "k");
        let mut lease = granted(&store, k);
        let other = beside(&store, move |store| {
            let answer = store.acquire(k, &terms());
            if let Ok(Admission::Completed { outcome: Some(outcome), .. }) = &answer {
                assert_eq!(outcome.as_bytes().as_ref(), b"made");
            }
            word(&answer)
        });
        let outcome = Outcome::new(Bytes::from_static(b"made"));
        store.commit(&mut lease, Some(outcome), ttl(LEASE)).expect("the lease is current");
        other.join().expect("no panic").to_owned()
    });
}

/// The outcome that a stale holder puts must never be seen with the new grant, and must not stay.
#[test]
fn an_outcome_never_outlives_its_grant() {
    let expected = ["done, completed with its outcome", "refused, granted"];
    explore(320, &expected, || {
        let (store, hand) = store(1);
        let k = key(&store, "k");
        let mut lease = granted(&store, k);
        hand.advance(LEASE);
        let other = beside(&store, move |store| {
            let answer = store.acquire(k, &terms());
            let seen = word(&answer);
            if let Ok(Admission::Granted(mut lease)) = answer {
                store.commit(&mut lease, None, ttl(LEASE)).expect("the lease is current");
                assert_eq!(word(&store.acquire(k, &terms())), "completed");
            }
            seen
        });
        let outcome = Outcome::new(Bytes::from_static(b"made"));
        let commit = done(&store.commit(&mut lease, Some(outcome), ttl(LEASE)));
        let outcome = format!("{commit}, {}", other.join().expect("no panic"));
        assert_eq!(store.validate(), Ok(()));
        outcome
    });
}
