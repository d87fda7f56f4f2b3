//! What a batch promises: the answers of single acquires, each by itself, in the order asked.

use std::time::Duration;

use leasehold::{
    AcquireError, Admission, Clock, Fingerprint, Identity, Lease, ManualClock, MemoryConfig,
    MemoryStore, Terms, Ttl,
};

fn ttl(seconds: u64) -> Ttl {
    Ttl::new(Duration::from_secs(seconds)).expect("a valid ttl")
}

fn terms() -> Terms {
    Terms::new(ttl(30))
}

fn store(max_entries: usize) -> (MemoryStore, ManualClock) {
    let (clock, hand) = Clock::manual();
    let config = MemoryConfig::default().max_entries(max_entries);
    (MemoryStore::with_clock(config, clock).expect("a valid configuration"), hand)
}

fn identities(store: &MemoryStore, names: std::ops::Range<u32>) -> Vec<Identity> {
    names.map(|name| store.identify(&[&name.to_le_bytes()])).collect()
}

/// An answer without the lease's token and place, which differ from store to store.
fn shown(answer: &Result<Admission, AcquireError>) -> String {
    match answer {
        Ok(Admission::Granted(_)) => "granted".to_owned(),
        other => format!("{other:?}"),
    }
}

fn lease(answer: Result<Admission, AcquireError>) -> Lease {
    match answer {
        Ok(Admission::Granted(lease)) => lease,
        other => panic!("{other:?}"),
    }
}

/// Keys in every state: two in flight, one of them with another fingerprint; two kept; one whose
/// lease has expired; one released; three that were never seen.
fn states(store: &MemoryStore, hand: &ManualClock) -> Vec<Identity> {
    let keys = identities(store, 0..9);
    drop(lease(store.acquire(keys[4], &Terms::new(ttl(1)))));
    hand.advance(Duration::from_secs(3));
    drop(lease(store.acquire(keys[0], &terms())));
    let other = terms().fingerprint(Fingerprint::from_bytes([1; 32]));
    drop(lease(store.acquire(keys[1], &other)));
    for kept in [2, 3] {
        let mut lease = lease(store.acquire(keys[kept], &terms()));
        store.commit(&mut lease, None, ttl(60)).expect("the lease is current");
    }
    let mut released = lease(store.acquire(keys[5], &terms()));
    store.release(&mut released).expect("the lease is current");
    keys
}

#[test]
fn a_batch_is_answered_as_one_by_one_and_in_the_order_asked() {
    let asked = terms().fingerprint(Fingerprint::from_bytes([2; 32]));
    let [(one_by_one, first_hand), (at_once, second_hand)] = [store(100), store(100)];
    let singly = states(&one_by_one, &first_hand);
    let singly: Vec<_> =
        singly.iter().rev().map(|key| shown(&one_by_one.acquire(*key, &asked))).collect();
    let batch: Vec<_> = states(&at_once, &second_hand).into_iter().rev().collect();
    let together: Vec<_> = at_once.acquire_many(&batch, &asked).iter().map(shown).collect();
    assert_eq!(together, singly);
    let granted = together.iter().map(|answer| answer == "granted").collect::<Vec<_>>();
    let free = [true, true, true, true, true, false, false, false, false];
    assert_eq!(granted, free, "{together:?}");
    assert_eq!(at_once.stats(), one_by_one.stats());
    assert_eq!(at_once.usage(), one_by_one.usage());
}

#[test]
fn an_identity_that_occurs_twice_is_granted_once() {
    let (store, _) = store(100);
    let [k, l] = [b"k", b"l"].map(|name| store.identify(&[name]));
    let answers = store.acquire_many(&[k, l, k, k], &terms());
    let shown: Vec<_> = answers.iter().map(shown).collect();
    assert_eq!(shown[..2], ["granted", "granted"]);
    assert!(shown[2..].iter().all(|answer| answer.starts_with("Ok(InFlight")), "{shown:?}");
    assert_eq!(store.usage().entries, 2);
}

#[test]
fn a_full_store_refuses_exactly_the_rest_and_still_knows_what_it_holds() {
    let (store, hand) = store(10);
    let mut batch = identities(&store, 0..40);
    batch.push(batch[0]);
    let answers = store.acquire_many(&batch, &terms());
    let count = |wanted: &str| answers.iter().filter(|answer| shown(answer) == wanted).count();
    assert_eq!((count("granted"), count("Err(Full)")), (10, 30));
    let firsts = answers.iter().take(10).all(|answer| shown(answer) == "granted");
    assert!(firsts, "nothing is refused while there is room");
    assert!(shown(&answers[40]).starts_with("Ok(InFlight"), "{:?}", answers[40]);
    assert_eq!(store.stats().full, 30);
    hand.advance(Duration::from_secs(120));
    let later = store.acquire_many(&batch[20..30], &terms());
    assert!(later.iter().all(|answer| shown(answer) == "granted"), "{later:?}");
}

#[test]
fn every_lease_of_a_batch_is_settled_by_itself() {
    let (store, _) = store(100);
    let batch = identities(&store, 0..16);
    let leases = store.acquire_many(&batch, &terms()).into_iter().map(lease);
    for (number, mut lease) in leases.enumerate() {
        if number % 2 == 0 {
            store.commit(&mut lease, None, ttl(60)).expect("the lease is current");
        } else {
            store.release(&mut lease).expect("the lease is current");
        }
    }
    assert_eq!(store.usage().entries, 8);
}

#[test]
fn a_batch_of_none_has_no_answers_and_a_closed_store_refuses_each() {
    let (store, _) = store(100);
    assert!(store.acquire_many(&[], &terms()).is_empty());
    store.close();
    let answers = store.acquire_many(&identities(&store, 0..3), &terms());
    assert_eq!(answers.iter().map(shown).collect::<Vec<_>>(), ["Err(Closed)"; 3]);
}
