//! Every interleaving of callers that take, give, move and look.
//!
//! The model has two accounts of one writer; a third thread shares one. A batch is two places, and
//! an account keeps up to four.

use super::rows::ACCOUNTS_MOST;
use super::{Accounts, Verdict};
use crate::sync::scenario::{Arc, JoinHandle, explore, spawn};
use crate::sync::{AtomicU64, Ordering};

/// A store's bound, and as much of its entries as matters here: how many there are.
struct Store {
    accounts: Accounts,
    entries: AtomicU64,
    max_entries: u64,
}

/// A store in which `entries` of `max_entries` places are held by entries. The pool has the others.
fn store(max_entries: u64, entries: u64) -> Arc<Store> {
    let accounts = Accounts::new(max_entries as usize);
    if entries > 0 {
        accounts.pool.take(entries);
    }
    Arc::new(Store { accounts, entries: AtomicU64::new(entries), max_entries })
}

fn beside<T: 'static>(
    store: &Arc<Store>,
    run: impl FnOnce(&Store) -> T + 'static,
) -> JoinHandle<T> {
    let store = Arc::clone(store);
    spawn(move || run(&store))
}

impl Store {
    /// Takes a place and puts it back: it never becomes an entry.
    fn move_a_place(&self) {
        drop(self.accounts.take(self.accounts.mine()));
    }

    /// Makes an entry, if there is a place for it. Says whether it filled the store.
    fn claim(&self) -> Option<bool> {
        let place = self.accounts.take(self.accounts.mine())?;
        // [W2] `AcqRel`: stands for the take of an entry's word.
        let before = self.entries.fetch_add(1, Ordering::AcqRel);
        assert!(before < self.max_entries, "the bound holds");
        place.spend();
        Some(before + 1 == self.max_entries)
    }

    /// Ends an entry, of which there is one.
    fn kill(&self) {
        let ending = self.accounts.mine().begin_end();
        // [W2] `AcqRel`: stands for the kill of an entry's word.
        assert!(self.entries.fetch_sub(1, Ordering::AcqRel) > 0, "there is an entry");
        ending.ended();
    }

    fn verdict(&self) -> String {
        format!("{:?}", self.accounts.verdict())
    }

    /// Once nothing runs: every place is with an entry, or can be taken.
    fn assert_no_place_is_lost(&self) {
        let mine = self.accounts.mine();
        // [W1] `Acquire`: stands for a look at the words.
        let mut left = self.max_entries - self.entries.load(Ordering::Acquire);
        let expected = if left == 0 { Verdict::Full } else { Verdict::Free };
        assert_eq!(self.accounts.verdict(), expected);
        while let Some(place) = self.accounts.take(mine) {
            place.spend();
            left -= 1;
        }
        assert_eq!(left, 0, "all places are found");
        assert_eq!(self.accounts.verdict(), Verdict::Full);
    }
}

#[test]
fn a_given_place_is_taken_or_not_there_yet() {
    explore(3, 6, &["none", "taken"], || {
        let store = store(1, 1);
        let giver = beside(&store, Store::kill);
        let taken = store.claim().is_some();
        giver.join().expect("no panic");
        store.assert_no_place_is_lost();
        if taken { "taken" } else { "none" }.to_owned()
    });
}

/// The looks at the slot order nothing by themselves.
#[test]
fn who_takes_a_place_sees_the_slot_that_was_killed() {
    explore(3, 6, &["none", "taken"], || {
        let store = store(1, 1);
        let is_live = Arc::new(AtomicU64::new(1));
        let slot = Arc::clone(&is_live);
        let giver = beside(&store, move |store| {
            let ending = store.accounts.mine().begin_end();
            // [N4] `Relaxed`: the give publishes it.
            slot.store(0, Ordering::Relaxed);
            ending.ended();
        });
        let place = store.accounts.take(store.accounts.mine());
        if place.is_some() {
            // [N4] `Relaxed`: the take has acquired it.
            assert_eq!(is_live.load(Ordering::Relaxed), 0);
        }
        let outcome = if place.is_some() { "taken" } else { "none" };
        drop(place);
        giver.join().expect("no panic");
        outcome.to_owned()
    });
}

/// The same where the count is what it was: 1. A thread peeks; another takes that place with its
/// dead slot, kills another slot and gives; and the first takes the new place by the old count.
#[test]
fn who_takes_a_place_that_was_changed_sees_its_slot() {
    explore(3, 130, &["none", "taken"], || {
        let store = store(2, 1);
        let slots = Arc::new([0, 1].map(AtomicU64::new));
        let theirs = Arc::clone(&slots);
        let other = beside(&store, move |store| {
            // So that the place is in this thread's account.
            store.move_a_place();
            let Some(place) = store.accounts.take(store.accounts.mine()) else { return };
            let is_claimed = claim_slot(&theirs);
            place.spend();
            assert!(is_claimed, "there is a dead slot");
            let ending = store.accounts.mine().begin_end();
            // [N4] `Relaxed`: the give publishes it.
            theirs[1].store(0, Ordering::Relaxed);
            ending.ended();
        });
        let place = store.accounts.take(store.accounts.mine());
        let taken = place.is_some();
        if let Some(place) = place {
            assert!(claim_slot(&slots), "there is a dead slot, and it is seen");
            place.spend();
        }
        other.join().expect("no panic");
        if taken { "taken" } else { "none" }.to_owned()
    });
}

/// Claims a slot that is seen dead.
fn claim_slot(slots: &[AtomicU64; 2]) -> bool {
    slots.iter().any(|slot| {
        // [N4] `Relaxed`, both: the take has acquired what the slot's killer wrote.
        slot.load(Ordering::Relaxed) == 0
            && slot.compare_exchange(0, 1, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    })
}

#[test]
fn the_last_place_is_taken_once() {
    explore(3, 24, &["none, taken", "taken, none"], || {
        let store = store(1, 0);
        let word = |claimed: Option<bool>| if claimed.is_some() { "taken" } else { "none" };
        let other = beside(&store, Store::claim);
        let one = store.claim();
        let other = other.join().expect("no panic");
        store.assert_no_place_is_lost();
        format!("{}, {}", word(one), word(other))
    });
}

/// The places that a refill moves from the pool are out of it, and not in the account yet.
#[test]
fn a_refill_never_looks_full() {
    explore(3, 55, &["Free", "Unsettled"], || {
        let store = store(2, 0);
        let mover = beside(&store, Store::move_a_place);
        let verdict = store.verdict();
        mover.join().expect("no panic");
        store.assert_no_place_is_lost();
        verdict
    });
}

/// What an account has too many of is out of it, and not in the pool yet.
#[test]
fn a_returned_surplus_never_looks_full() {
    explore(3, 110, &["Free"], || {
        let store = store(5, 5);
        let giver = beside(&store, |store| (0..5).for_each(|_| store.kill()));
        let verdict = if store.entries.load(Ordering::Acquire) == 0 {
            store.verdict()
        } else {
            "Free".to_owned()
        };
        giver.join().expect("no panic");
        assert!(store.accounts.pool.count() > 0, "there was a surplus");
        store.assert_no_place_is_lost();
        verdict
    });
}

/// One place wanders through two hands, and is never an entry's.
#[test]
fn a_place_that_wanders_never_looks_full() {
    explore(3, 7_200, &["Free", "Unsettled"], || {
        let store = store(1, 0);
        let movers = [(); 2].map(|()| beside(&store, Store::move_a_place));
        let verdict = store.verdict();
        movers.into_iter().for_each(|mover| mover.join().expect("no panic"));
        store.assert_no_place_is_lost();
        verdict
    });
}

#[test]
fn a_kill_beside_a_verdict_leaves_it_exact() {
    explore(3, 50, &["Free", "Full", "Unsettled"], || {
        let store = store(1, 1);
        let killer = beside(&store, Store::kill);
        let verdict = store.verdict();
        killer.join().expect("no panic");
        store.assert_no_place_is_lost();
        verdict
    });
}

/// Of two places one is an entry's. One thread makes an entry, the other ends one: if the end comes
/// first, the store is never full, though each of its places is out of sight at some time.
fn claim_beside_kill(store: &Arc<Store>) -> String {
    let killer = beside(store, |store| {
        store.kill();
        store.accounts.mine().number()
    });
    let claimer = beside(store, |store| (store.claim(), store.accounts.mine().number()));
    let verdict = store.verdict();
    let killers_number = killer.join().expect("no panic");
    let (claimed, number) = claimer.join().expect("no panic");
    let are_shared = [killers_number, number].map(|number| number == ACCOUNTS_MOST as usize);
    store.assert_no_place_is_lost();
    let was = if claimed == Some(true) { "was full" } else { "was never full" };
    format!("{was}, {verdict}, {}", if are_shared == [true; 2] { "shared" } else { "own" })
}

#[test]
fn full_is_answered_only_if_the_store_was_full() {
    let expected = [
        "was full, Free, own",
        "was full, Full, own",
        "was full, Unsettled, own",
        "was never full, Free, own",
        "was never full, Unsettled, own",
    ];
    explore(3, 900, &expected, || {
        let store = store(2, 1);
        // So that the claim finds its place without a refill.
        store.move_a_place();
        claim_beside_kill(&store)
    });
}

#[test]
fn threads_that_share_an_account_keep_full_exact() {
    let expected = [
        "was full, Free, shared",
        "was full, Full, shared",
        "was full, Unsettled, shared",
        "was never full, Free, shared",
        "was never full, Unsettled, shared",
    ];
    explore(3, 990, &expected, || {
        let store = store(2, 1);
        // Use the numbers up.
        store.move_a_place();
        beside(&store, Store::move_a_place).join().expect("no panic");
        claim_beside_kill(&store)
    });
}

/// A caller who was told of an end finds the place.
#[test]
fn a_place_whose_end_was_told_is_never_missed() {
    explore(3, 100, &["not told", "told, Free"], || {
        let store = store(1, 1);
        let told = Arc::new(AtomicU64::new(0));
        let teller = Arc::clone(&told);
        let giver = beside(&store, move |store| {
            store.kill();
            teller.store(1, Ordering::Release);
        });
        let was_told = told.load(Ordering::Acquire) == 1;
        let verdict = store.verdict();
        giver.join().expect("no panic");
        store.assert_no_place_is_lost();
        if was_told { format!("told, {verdict}") } else { "not told".to_owned() }
    });
}

#[test]
fn two_callers_at_a_full_store_are_both_told_at_once() {
    explore(3, 100, &["none, Full; none, Full"], || {
        let store = store(2, 2);
        let ask = |store: &Store| {
            let claimed = if store.claim().is_some() { "taken" } else { "none" };
            format!("{claimed}, {}", store.verdict())
        };
        let other = beside(&store, ask);
        let one = ask(&store);
        format!("{one}; {}", other.join().expect("no panic"))
    });
}
