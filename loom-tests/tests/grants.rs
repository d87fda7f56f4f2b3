//! Who is granted a key, and where it lives.

#![cfg(lease_loom)]

use leasehold::{Admission, Fingerprint};
use loom_tests::{
    GRACE, LEASE, beside, done, explore, explore_wide, granted, key, store, terms, ttl, word,
};

#[test]
fn two_acquirers_have_one_winner() {
    explore(19_000, &["granted, in flight", "in flight, granted"], || {
        let (store, _) = store(2);
        let k = key(&store, "k");
        let other = beside(&store, move |store| word(&store.acquire(k, &terms())));
        let one = word(&store.acquire(k, &terms()));
        let outcome = format!("{one}, {}", other.join().expect("no panic"));
        assert_eq!(store.usage().entries, 1);
        outcome
    });
}

#[test]
fn three_acquirers_have_one_winner() {
    let expected = [
        "granted, in flight, in flight",
        "in flight, granted, in flight",
        "in flight, in flight, granted",
    ];
    explore_wide(54_000, &expected, || {
        let (store, _) = store(3);
        let k = key(&store, "k");
        let others = [0, 1].map(|_| beside(&store, move |store| word(&store.acquire(k, &terms()))));
        let one = word(&store.acquire(k, &terms()));
        let [two, three] = others.map(|other| other.join().expect("no panic"));
        assert_eq!(store.usage().entries, 1);
        format!("{one}, {two}, {three}")
    });
}

#[test]
fn two_acquirers_of_two_keys_are_both_granted() {
    explore(52_000, &["granted, granted"], || {
        let (store, _) = store(2);
        let (k, l) = (key(&store, "k"), key(&store, "l"));
        let other = beside(&store, move |store| word(&store.acquire(l, &terms())));
        let one = word(&store.acquire(k, &terms()));
        let outcome = format!("{one}, {}", other.join().expect("no panic"));
        assert_eq!(word(&store.acquire(k, &terms())), "in flight");
        assert_eq!(word(&store.acquire(l, &terms())), "in flight");
        outcome
    });
}

#[test]
fn two_keys_with_one_place_never_exceed_it() {
    explore(9_400, &["full, granted", "granted, full"], || {
        let (store, _) = store(1);
        let (k, l) = (key(&store, "k"), key(&store, "l"));
        let other = beside(&store, move |store| {
            let answer = word(&store.acquire(l, &terms()));
            assert!(store.usage().entries <= 1);
            answer
        });
        let one = word(&store.acquire(k, &terms()));
        let outcome = format!("{one}, {}", other.join().expect("no panic"));
        assert_eq!(store.usage().entries, 1);
        outcome
    });
}

/// The winner holds the last slot before its key can be found: still nobody is told *full*.
#[test]
fn one_key_with_one_place_has_one_winner() {
    let expected = ["granted, in flight", "in flight, granted"];
    explore(5_400, &expected, || {
        let (store, _) = store(1);
        let k = key(&store, "k");
        let other = beside(&store, move |store| word(&store.acquire(k, &terms())));
        let one = word(&store.acquire(k, &terms()));
        let outcome = format!("{one}, {}", other.join().expect("no panic"));
        assert_eq!(word(&store.acquire(k, &terms())), "in flight");
        outcome
    });
}

#[test]
fn release_and_acquire_raise_the_token() {
    explore(86, &["granted", "in flight"], || {
        let (store, _) = store(1);
        let k = key(&store, "k");
        let mut lease = granted(&store, k);
        let first = lease.token();
        let other = beside(&store, move |store| store.acquire(k, &terms()));
        store.release(&mut lease).expect("the lease is current");
        let answer = other.join().expect("no panic");
        if let Ok(Admission::Granted(second)) = &answer {
            assert!(second.token() > first);
        }
        word(&answer).to_owned()
    });
}

/// The slot of a released key is another's at once, or its own again; never lost.
#[test]
fn a_freed_slot_serves_any_key() {
    explore(610, &["full", "granted"], || {
        let (store, _) = store(1);
        let (k, l) = (key(&store, "k"), key(&store, "l"));
        let mut lease = granted(&store, k);
        let other = beside(&store, move |store| word(&store.acquire(l, &terms())));
        store.release(&mut lease).expect("the lease is current");
        let outcome = other.join().expect("no panic").to_owned();
        let now = word(&store.acquire(key(&store, "m"), &terms()));
        assert_eq!(now, if outcome == "granted" { "full" } else { "granted" });
        outcome
    });
}

/// Revival of a key in its dead slot, beside another key that wants a slot.
#[test]
fn a_slot_that_changes_hands_never_answers_for_its_old_key() {
    explore(2_700, &["granted, granted"], || {
        let (store, _) = store(2);
        let (k, l) = (key(&store, "k"), key(&store, "l"));
        store.release(&mut granted(&store, k)).expect("the lease is current");
        let other = beside(&store, move |store| word(&store.acquire(l, &terms())));
        let one = word(&store.acquire(k, &terms()));
        let outcome = format!("{one}, {}", other.join().expect("no panic"));
        assert_eq!(word(&store.acquire(k, &terms())), "in flight");
        assert_eq!(word(&store.acquire(l, &terms())), "in flight");
        outcome
    });
}

#[test]
fn a_takeover_never_shows_the_old_fingerprint() {
    explore(370, &["granted, in flight", "in flight, granted"], || {
        let (store, hand) = store(1);
        let k = key(&store, "k");
        let [old, new] =
            [1, 2].map(|byte| terms().fingerprint(Fingerprint::from_bytes([byte; 32])));
        drop(store.acquire(k, &old));
        hand.advance(LEASE + GRACE / 2);
        let other = beside(&store, move |store| word(&store.acquire(k, &new)));
        let one = word(&store.acquire(k, &new));
        format!("{one}, {}", other.join().expect("no panic"))
    });
}

/// The fingerprint may be the next grant's already while the word is still the former one's.
#[test]
fn an_answer_is_never_made_of_two_grants() {
    let expected = ["granted, in flight", "in flight, granted", "mismatch, granted"];
    explore(1_700, &expected, || {
        let (store, _) = store(2);
        let k = key(&store, "k");
        let [old, new] =
            [1, 2].map(|byte| terms().fingerprint(Fingerprint::from_bytes([byte; 32])));
        let Ok(Admission::Granted(mut lease)) = store.acquire(k, &old) else {
            panic!("the key is free")
        };
        store.commit(&mut lease, None, ttl(LEASE)).expect("the lease is current");
        let other = beside(&store, move |store| {
            assert!(store.forget(k), "it is kept, by whomever");
            word(&store.acquire(k, &new))
        });
        let one = word(&store.acquire(k, &new));
        format!("{one}, {}", other.join().expect("no panic"))
    });
}

#[test]
fn close_refuses_and_running_leases_settle() {
    explore(8, &["closed", "granted"], || {
        let (store, _) = store(1);
        let k = key(&store, "k");
        let other = beside(&store, move |store| {
            let answer = store.acquire(k, &terms());
            let outcome = word(&answer);
            if let Ok(Admission::Granted(mut lease)) = answer {
                assert_eq!(done(&store.release(&mut lease)), "done");
            }
            outcome
        });
        store.close();
        assert_eq!(word(&store.acquire(key(&store, "l"), &terms())), "closed");
        other.join().expect("no panic").to_owned()
    });
}
