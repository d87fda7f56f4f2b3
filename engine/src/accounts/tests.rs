//! Places and figures, by one thread and by many.

use std::cell::RefCell;
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

use super::account::{Account, Writers};
use super::rows::{ACCOUNTS_MOST, ROW_LENGTH};
use super::{Accounts, BATCH, KEPT_MOST, Mine, Place, Verdict};
use crate::stats::{Event, Stats};
use crate::sync::{AtomicU64, Ordering};

/// Takes all that there is, for good.
fn take_all(accounts: &Accounts) -> usize {
    let mine = accounts.mine();
    std::iter::from_fn(|| accounts.take(mine).map(Place::spend)).count()
}

#[test]
fn all_places_can_be_taken_and_no_more() {
    let batch = BATCH as usize;
    for max_entries in [1, 2, batch - 1, batch, batch + 1, 5 * batch + 7] {
        let accounts = Accounts::new(max_entries);
        assert_eq!(accounts.verdict(), Verdict::Free);
        assert_eq!(take_all(&accounts), max_entries);
        assert_eq!(accounts.verdict(), Verdict::Full);
        assert!(accounts.take(accounts.mine()).is_none());
        assert_eq!(accounts.verdict(), Verdict::Full, "to look for a place changes nothing");
    }
}

#[test]
fn the_largest_bound_fits() {
    let accounts = Accounts::new((1 << 31) - 2);
    let place = accounts.take(accounts.mine()).expect("free");
    assert_eq!(accounts.pool.count(), (1 << 31) - 2 - BATCH);
    drop(place);
    assert_eq!(accounts.mine().places().count(), BATCH);
}

#[test]
fn a_place_that_is_not_spent_is_free_again() {
    let accounts = Accounts::new(1);
    let place = accounts.take(accounts.mine()).expect("free");
    assert!(accounts.take(accounts.mine()).is_none());
    drop(place);
    assert_eq!(accounts.verdict(), Verdict::Free);
    assert_eq!(take_all(&accounts), 1);
}

#[test]
fn a_place_in_hand_leaves_it_unsettled_until_it_is_spent() {
    let accounts = Accounts::new(1);
    let place = accounts.take(accounts.mine()).expect("free");
    assert_eq!(accounts.verdict(), Verdict::Unsettled);
    place.spend();
    assert_eq!(accounts.verdict(), Verdict::Full);
}

#[test]
fn an_end_under_way_leaves_it_unsettled() {
    let accounts = Accounts::new(1);
    take_all(&accounts);
    let ending = accounts.mine().begin_end();
    assert_eq!(accounts.verdict(), Verdict::Unsettled);
    drop(ending);
    assert_eq!(accounts.verdict(), Verdict::Full, "nothing was killed");
    accounts.mine().begin_end().ended();
    assert_eq!(accounts.verdict(), Verdict::Free);
    assert_eq!(take_all(&accounts), 1);
}

#[test]
fn a_thread_may_end_entries_with_a_place_in_hand() {
    let accounts = Accounts::new(2);
    let mine = accounts.mine();
    let place = accounts.take(mine).expect("free");
    accounts.take(mine).expect("free").spend();
    mine.begin_end().ended();
    accounts.take(mine).expect("given").spend();
    drop(mine.begin_end());
    assert_eq!(accounts.verdict(), Verdict::Unsettled, "the first place is still in hand");
    place.spend();
    assert_eq!(accounts.verdict(), Verdict::Full);
}

#[test]
fn an_account_keeps_a_bounded_number_of_places() {
    let max_entries = 10 * KEPT_MOST;
    let accounts = Accounts::new(max_entries as usize);
    assert_eq!(take_all(&accounts) as u64, max_entries);
    for given in 1..=max_entries {
        accounts.mine().begin_end().ended();
        let kept = accounts.mine().places().count();
        assert!(kept <= KEPT_MOST);
        assert_eq!(kept + accounts.pool.count(), given, "the rest is in the pool");
    }
    assert_eq!(take_all(&accounts) as u64, max_entries);
}

#[test]
fn places_of_a_thread_that_ended_are_found() {
    let accounts = Accounts::new(10);
    thread::scope(|scope| {
        let other = scope.spawn(|| drop(accounts.take(accounts.mine())));
        other.join().expect("no panic");
        assert_eq!(accounts.pool.count(), 0, "the other thread had them all");
        assert_eq!(take_all(&accounts), 10);
    });
}

#[test]
fn threads_that_come_and_go_keep_their_figures_and_places() {
    const THREADS: u64 = 300;
    let accounts = Accounts::new(1_000);
    for _ in 0..THREADS {
        thread::scope(|scope| {
            scope.spawn(|| {
                accounts.mine().count(Event::Made);
                drop(accounts.take(accounts.mine()));
            });
        });
    }
    assert_eq!(accounts.snapshot(), Stats { granted: THREADS, ..Stats::default() });
    assert_eq!(take_all(&accounts), 1_000);
}

#[test]
fn every_thread_counts_and_the_snapshot_adds_up() {
    let accounts = Accounts::new(1);
    thread::scope(|scope| {
        for _ in 0..2 * ROW_LENGTH + 1 {
            scope.spawn(|| (0..100).for_each(|_| accounts.mine().count(Event::Reclaimed)));
        }
    });
    accounts.mine().count(Event::Made);
    accounts.mine().count(Event::TakenOver);
    let reclaimed = 100 * (2 * ROW_LENGTH as u64 + 1);
    let expected = Stats { granted: 2, taken_over: 1, reclaimed, ..Stats::default() };
    assert_eq!(accounts.snapshot(), expected);
}

#[test]
fn entries_are_those_made_less_those_ended() {
    let accounts = Accounts::new(10);
    (0..3).for_each(|_| accounts.mine().count(Event::Made));
    accounts.mine().count(Event::TakenOver);
    accounts.mine().count(Event::Ended);
    assert_eq!(accounts.entries(), 2);
    (0..4).for_each(|_| accounts.mine().count(Event::Ended));
    assert_eq!(accounts.entries(), 0, "a look that is behind never goes below zero");
}

#[test]
fn threads_at_once_have_accounts_of_their_own() {
    const THREADS: usize = 3 * ROW_LENGTH;
    let accounts = Accounts::new(1);
    let all_here = Barrier::new(THREADS);
    let numbers = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let number = accounts.mine().number();
                assert_eq!(accounts.mine().account().writers(), Writers::One);
                all_here.wait();
                numbers.lock().expect("no panic").push(number);
            });
        }
    });
    let mut numbers = numbers.into_inner().expect("no panic");
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), THREADS);
    let rows = accounts.rows.iter().count() / ROW_LENGTH;
    assert!(rows > 2, "a walk sees the accounts of all rows");
}

#[test]
fn rows_are_made_without_gaps_up_to_the_last() {
    let accounts = Accounts::new(1);
    assert_eq!(accounts.rows.iter().count(), ROW_LENGTH);
    let far = accounts.rows.account(5 * ROW_LENGTH + 3).expect("there may be that many");
    assert_eq!(accounts.rows.iter().count(), 6 * ROW_LENGTH);
    assert_eq!(Mine::new(&accounts, far).number(), 5 * ROW_LENGTH + 3);
    Mine::new(&accounts, far).begin_end().ended();
    assert_eq!(far.places().count(), 1);
    assert_eq!(take_all(&accounts), 2, "the pool's and the far one's");
    let most = ACCOUNTS_MOST as usize;
    assert!(accounts.rows.account(most - 1).is_some());
    assert!(accounts.rows.account(most).is_none());
    assert_eq!(accounts.rows.iter().count(), most);
}

#[test]
fn many_threads_may_write_the_shared_account() {
    const ROUNDS: usize = 20_000;
    let accounts = Accounts::new(4);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let shared = Mine::new(&accounts, &accounts.shared);
                for _ in 0..ROUNDS {
                    // Ends: a place that is missed is moving from the pool to the account, once.
                    let place = loop {
                        if let Some(place) = accounts.take(shared) {
                            break place;
                        }
                        assert_ne!(accounts.verdict(), Verdict::Full, "four threads, four places");
                    };
                    place.spend();
                    shared.count(Event::Ended);
                    shared.begin_end().ended();
                }
            });
        }
    });
    assert_eq!(accounts.sum(Event::Ended), 4 * ROUNDS as u64);
    // Who sees a place and comes too late for it was busy once more.
    let begun = accounts.shared.busy().begun_if_idle().expect("all have ended");
    assert!(begun >= 8 * ROUNDS as u64, "{begun}");
    assert_eq!(take_all(&accounts), 4);
    assert_eq!(accounts.verdict(), Verdict::Full);
}

/// Uses a store when its thread's thread-locals are destroyed.
struct Late(Arc<Accounts>);

impl Drop for Late {
    fn drop(&mut self) {
        let mine = self.0.mine();
        mine.count(Event::Released);
        drop(self.0.take(mine));
    }
}

/// Whether the thread-local is destroyed before or after the thread's number depends on which was
/// there first: both ways are tried, and at least one comes late.
#[test]
fn the_destructor_of_a_thread_local_may_use_a_store() {
    thread_local!(static LATE: RefCell<Option<Late>> = const { RefCell::new(None) });
    let accounts = Arc::new(Accounts::new(3));
    for number_first in [false, true] {
        let accounts = Arc::clone(&accounts);
        let thread = thread::spawn(move || {
            if number_first {
                accounts.mine();
            }
            LATE.with(|late| *late.borrow_mut() = Some(Late(Arc::clone(&accounts))));
            accounts.mine().count(Event::Renewed);
        });
        thread.join().expect("no panic");
    }
    assert_eq!(accounts.snapshot(), Stats { released: 2, renewed: 2, ..Stats::default() });
    assert!(accounts.shared.tally().get(Event::Released) > 0, "one of them had no number");
    assert_eq!(take_all(&accounts), 3);
}

/// The number of entries, as an index would have it.
struct Entries(AtomicU64);

impl Entries {
    fn kill_one(&self) -> bool {
        let mut count = self.0.load(Ordering::Acquire);
        while count > 0 {
            match self.0.compare_exchange(count, count - 1, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return true,
                Err(now) => count = now,
            }
        }
        false
    }
}

/// Threads take and give at random, one only ends entries: the bound holds, and no place is lost.
#[test]
fn the_bound_holds_beside_threads_that_take_and_give() {
    const TURNS: usize = 10_000;
    for max_entries in [1, 3, 100, 1_000] {
        let accounts = Accounts::new(max_entries);
        let entries = Entries(AtomicU64::new(0));
        let working = AtomicU64::new(3);
        let end_one = || {
            let ending = accounts.mine().begin_end();
            if entries.kill_one() {
                ending.ended();
            }
        };
        thread::scope(|scope| {
            for seed in 0..3 {
                let (accounts, entries, end_one) = (&accounts, &entries, &end_one);
                let running = Running(&working);
                scope.spawn(move || {
                    let _running = running;
                    let mut random = fastrand::Rng::with_seed(seed);
                    for _ in 0..TURNS {
                        match random.u8(..8) {
                            0 => drop(accounts.take(accounts.mine())),
                            1..=4 => {
                                if let Some(place) = accounts.take(accounts.mine()) {
                                    let before = entries.0.fetch_add(1, Ordering::AcqRel);
                                    assert!((before as usize) < max_entries, "the bound holds");
                                    place.spend();
                                }
                            }
                            _ => end_one(),
                        }
                    }
                });
            }
            scope.spawn(|| {
                while working.load(Ordering::Acquire) > 0 {
                    end_one();
                    thread::yield_now();
                }
            });
        });
        let left = max_entries - entries.0.load(Ordering::Acquire) as usize;
        assert_eq!(take_all(&accounts), left);
        assert_eq!(accounts.verdict(), Verdict::Full);
    }
}

/// Tells others when the last of some threads has ended, however it ends.
struct Running<'a>(&'a AtomicU64);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// All places but one are with entries for good. The last is passed between the hands and accounts
/// of some threads, and only now and then becomes an entry: for as long as it is none, nobody may
/// be told that the store is full.
#[test]
fn full_is_never_answered_while_a_place_is_passed_around() {
    const LOOKS: u64 = 20_000;
    for max_entries in 1..=3 {
        let accounts = Accounts::new(max_entries);
        let mine = accounts.mine();
        (1..max_entries).for_each(|_| accounts.take(mine).expect("free").spend());
        // Odd while the last place may be an entry's.
        let turn = AtomicU64::new(0);
        let looking = AtomicU64::new(2);
        let is_over = || looking.load(Ordering::Acquire) == 0;
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while !is_over() {
                        (0..10).for_each(|_| drop(accounts.take(accounts.mine())));
                        thread::yield_now();
                    }
                });
            }
            for _ in 0..2 {
                scope.spawn(|| {
                    let _running = Running(&looking);
                    let mut looks = 0;
                    while looks < LOOKS {
                        let before = turn.load(Ordering::Acquire);
                        let verdict = accounts.verdict();
                        let stayed = turn.load(Ordering::Acquire) == before;
                        if before.is_multiple_of(2) && stayed {
                            assert_ne!(verdict, Verdict::Full);
                            looks += 1;
                        }
                    }
                });
            }
            while !is_over() {
                turn.fetch_add(1, Ordering::AcqRel);
                if let Some(place) = accounts.take(mine) {
                    place.spend();
                    mine.begin_end().ended();
                }
                turn.fetch_add(1, Ordering::AcqRel);
                thread::yield_now();
            }
        });
        assert_eq!(take_all(&accounts), 1);
    }
}

/// Any number of callers at a full store are told so by their first question.
#[test]
fn callers_at_a_full_store_do_not_unsettle_each_other() {
    let accounts = Accounts::new(2);
    take_all(&accounts);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..10_000 {
                    assert!(accounts.take(accounts.mine()).is_none());
                    assert_eq!(accounts.verdict(), Verdict::Full);
                }
            });
        }
    });
}

#[test]
fn what_its_thread_counts_is_apart_from_what_others_look_at() {
    assert_eq!(size_of::<Account>() % 128, 0);
    assert_eq!(size_of::<Account>(), 256, "a row is 4 KiB");
}

/// Does not compile if a type is `Send`: then two implementations of the trait fit.
trait StaysOnItsThread<Marker> {
    fn check() {}
}

impl<T: ?Sized> StaysOnItsThread<()> for T {}
impl<T: ?Sized + Send> StaysOnItsThread<u8> for T {}

const _: fn() = || {
    <Mine<'_> as StaysOnItsThread<_>>::check();
    <Place<'_> as StaysOnItsThread<_>>::check();
    <super::hand::Ending<'_> as StaysOnItsThread<_>>::check();
};
