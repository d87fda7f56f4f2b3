//! The table under loom: one home of one slot and a stash of three, so that two keys overflow.

use super::*;
use crate::clock::{Deadline, Tick};
use crate::config::Pages;
use crate::identity::Identity;
use crate::index::sequence::Shape;
use crate::sync::scenario::{Arc, JoinHandle, explore, spawn};
use crate::word::Phase;

const SOON: Deadline = Deadline(7);

/// Two keys that share their bit of the filter, one that does not.
const ONE: u64 = 1 << 40 | 5;
const TWO: u64 = 2 << 40 | 5;
const THREE: u64 = 3 << 40 | 6;

fn table() -> Arc<Table> {
    Arc::new(Table::new(3, Pages::default()).expect("no memory is mapped in a model"))
}

fn sought(table: &Table, key: u64) -> Sought {
    let other_home = u128::from(key >= FOUR) << 127;
    table.sought(Identity::from_bits(u128::from(key) | other_home))
}

/// Grants the key if nobody else has it; says whether.
fn grant(table: &Table, key: u64) -> bool {
    let sought = sought(table, key);
    // Ends: each turn means that the other thread moved something, or that the header was changed.
    loop {
        let pending = match table.look(&sought) {
            Look::Found(found) if found.word.phase() != Phase::Dead => return false,
            Look::Found(Found { slot, word }) => {
                let cell = table.word(slot).expect("a slot of this table");
                match cell.take(word, word.offset(), sought.stamp()) {
                    Some(word) => Found { slot, word },
                    None => continue,
                }
            }
            Look::Vacant(vacancy) => match table.claim(&sought, &vacancy) {
                Claim::Claimed { pending, .. } => pending,
                Claim::Lost => continue,
                Claim::NoSlot => panic!("the sequence has four slots"),
            },
        };
        table.word(pending.slot).expect("a slot of this table").publish(pending.word, SOON);
        return true;
    }
}

/// Ends whatever the key has.
fn end(table: &Table, key: u64) {
    if let Look::Found(found) = table.look(&sought(table, key)) {
        table.word(found.slot).expect("a slot of this table").kill(found.word, || Tick(1));
    }
}

fn beside<T: 'static>(
    table: &Arc<Table>,
    part: impl FnOnce(&Table) -> T + 'static,
) -> JoinHandle<T> {
    let table = Arc::clone(table);
    spawn(move || part(&table))
}

/// Slots in which the key lives, wherever they are.
fn lives(table: &Table, key: u64) -> usize {
    let sought = sought(table, key);
    let slots = table.slots(0, usize::MAX).filter(|(_, cell)| cell.read().is_kept());
    slots.filter(|(slot, _)| table.holds(*slot, &sought)).count()
}

fn winner(own: bool, other: bool) -> &'static str {
    match (own, other) {
        (true, false) => "the first",
        (false, true) => "the second",
        (true, true) => "both",
        (false, false) => "neither",
    }
}

/// Both ask for `key` in a table that `prepare` has left.
fn one_wins(key: u64, prepare: fn(&Table)) {
    explore(3, 420, &["the first", "the second"], move || {
        let table = table();
        prepare(&table);
        let other = beside(&table, move |table| grant(table, key));
        let own = grant(&table, key);
        let winner = winner(own, other.join().expect("no panic"));
        assert_eq!(lives(&table, key), 1);
        assert!(!grant(&table, key), "it is found where it is");
        winner
    });
}

#[test]
fn one_key_is_granted_once_at_home() {
    one_wins(ONE, |_| {});
}

#[test]
fn one_key_is_granted_once_away_from_home() {
    one_wins(ONE, |table| assert!(grant(table, THREE)));
}

#[test]
fn one_key_is_granted_once_behind_a_key_of_its_bit() {
    one_wins(TWO, |table| assert!(grant(table, THREE) && grant(table, ONE)));
}

#[test]
fn a_dead_key_far_away_is_granted_once_though_its_home_is_free() {
    one_wins(ONE, |table| {
        assert!(grant(table, THREE) && grant(table, ONE));
        end(table, ONE);
        end(table, THREE);
    });
}

/// The home's slot dies while both ask, so that one may see it dead and the other alive.
#[test]
fn one_key_is_granted_once_while_its_home_becomes_free() {
    explore(3, 7_200, &["the first", "the second"], || {
        let table = table();
        assert!(grant(&table, THREE));
        let other = beside(&table, |table| grant(table, ONE));
        end(&table, THREE);
        let own = grant(&table, ONE);
        let winner = winner(own, other.join().expect("no panic"));
        assert_eq!(lives(&table, ONE), 1);
        winner
    });
}

/// The other thread's claim is of another key, which takes the designated slot.
#[test]
fn two_keys_of_one_home_are_both_granted_and_both_found() {
    for keys in [[ONE, TWO], [ONE, THREE]] {
        explore(3, 480, &["both"], move || {
            let table = table();
            let other = beside(&table, move |table| grant(table, keys[1]));
            let own = grant(&table, keys[0]);
            let winner = winner(own, other.join().expect("no panic"));
            assert_eq!(keys.map(|key| lives(&table, key)), [1, 1]);
            assert!(keys.iter().all(|key| !grant(&table, *key)));
            winner
        });
    }
}

/// A dead slot changes hands while its old key is granted again: one of them has it.
#[test]
fn a_dead_slot_goes_to_its_own_key_or_to_another_never_to_both() {
    explore(3, 960, &["both"], || {
        let table = table();
        assert!(grant(&table, ONE));
        end(&table, ONE);
        let other = beside(&table, |table| grant(table, THREE));
        let own = grant(&table, ONE);
        let winner = winner(own, other.join().expect("no panic"));
        assert_eq!([lives(&table, ONE), lives(&table, THREE)], [1, 1]);
        winner
    });
}

/// The same with two seekers of the old key: one of them wins, in the old slot or in a new one.
#[test]
fn a_slot_that_changes_hands_leaves_one_winner_of_its_old_key() {
    explore(1, 510_000, &["the first", "the second"], || {
        let table = table();
        assert!(grant(&table, ONE));
        end(&table, ONE);
        let claimer = beside(&table, |table| grant(table, THREE));
        let other = beside(&table, |table| grant(table, ONE));
        let own = grant(&table, ONE);
        assert!(claimer.join().expect("no panic"));
        let winner = winner(own, other.join().expect("no panic"));
        assert_eq!([lives(&table, ONE), lives(&table, THREE)], [1, 1]);
        winner
    });
}

/// Beside two claims of one key a third thread's claim makes the header anew.
#[test]
fn one_key_is_granted_once_beside_a_claim_of_another() {
    explore(1, 12_000, &["the first", "the second"], || {
        let table = table();
        let stranger = beside(&table, |table| grant(table, THREE));
        let other = beside(&table, |table| grant(table, ONE));
        let own = grant(&table, ONE);
        assert!(stranger.join().expect("no panic"));
        let winner = winner(own, other.join().expect("no panic"));
        assert_eq!([lives(&table, ONE), lives(&table, THREE)], [1, 1]);
        winner
    });
}

/// Two homes of one slot each, which share the stash.
fn two_homes() -> Arc<Table> {
    let table = Table::shaped(Shape::with_homes(2), Pages::default());
    Arc::new(table.expect("no memory is mapped in a model"))
}

/// Two keys of the other home.
const FOUR: u64 = 4 << 40 | 1;
const FIVE: u64 = 5 << 40 | 5;

/// Another home's key takes the slot far away that the key's home has designated, and ends.
#[test]
fn one_key_is_granted_once_while_its_designated_slot_is_another_homes() {
    explore(1, 33_000, &["the first", "the second"], || {
        let table = two_homes();
        assert!(grant(&table, THREE) && grant(&table, FOUR));
        let other = beside(&table, |table| grant(table, ONE));
        let stranger = beside(&table, |table| {
            let granted = grant(table, FIVE);
            end(table, FIVE);
            granted
        });
        let own = grant(&table, ONE);
        let winner = winner(own, other.join().expect("no panic"));
        assert!(stranger.join().expect("no panic"));
        assert_eq!(lives(&table, ONE), 1);
        winner
    });
}

/// A dead key far away is granted again beside inserts of both homes, which want its slot.
#[test]
fn a_dead_key_far_away_is_granted_beside_inserts_of_two_homes() {
    explore(1, 200_000, &["both"], || {
        let table = two_homes();
        assert!(grant(&table, THREE) && grant(&table, ONE) && grant(&table, FOUR));
        end(&table, ONE);
        let other = beside(&table, |table| grant(table, TWO));
        let stranger = beside(&table, |table| grant(table, FIVE));
        let own = grant(&table, ONE);
        let winner = winner(own, other.join().expect("no panic"));
        assert!(stranger.join().expect("no panic"));
        assert_eq!([ONE, TWO, FIVE].map(|key| lives(&table, key)), [1; 3]);
        winner
    });
}
