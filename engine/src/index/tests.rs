//! The protocol's steps, one thread at a time: overflow, reach, filter, stash and designation.

use super::*;
use crate::clock::{Deadline, Tick};
use crate::config::Pages;
use crate::identity::Identity;
use crate::index::sequence::OFFSETS;
use crate::word::Phase;

const SOON: Deadline = Deadline(7);

fn table(max_entries: usize) -> Table {
    Table::new(max_entries, Pages::default()).expect("the memory is there")
}

/// The number-th identity that has its home at the table's first bucket.
fn at_home(number: u64) -> Identity {
    Identity::from_bits(u128::from(number) * 0x9e37_79b9 + 1)
}

fn claim(table: &Table, identity: Identity) -> Found {
    let sought = table.sought(identity);
    // Ends: each turn changes the header at most twice.
    for _ in 0..3 {
        let Look::Vacant(vacancy) = table.look(&sought) else { panic!("it has a slot") };
        match table.claim(&sought, &vacancy) {
            Claim::Claimed { pending, .. } => return pending,
            Claim::Lost => {}
            Claim::NoSlot => panic!("its sequence is full"),
        }
    }
    panic!("nobody else is there")
}

fn granted(table: &Table, identity: Identity) -> Found {
    let pending = claim(table, identity);
    let cell = table.word(pending.slot).expect("a slot of this table");
    Found { word: cell.publish(pending.word, SOON), ..pending }
}

fn kill(table: &Table, found: Found) {
    let cell = table.word(found.slot).expect("a slot of this table");
    cell.kill(found.word, || Tick(1)).expect("nobody else moves it");
}

fn find(table: &Table, identity: Identity) -> Option<Found> {
    match table.look(&table.sought(identity)) {
        Look::Found(found) => Some(found),
        Look::Vacant(_) => None,
    }
}

/// Fills the first bucket's whole sequence with identities of that home.
fn fill(table: &Table) -> Vec<(Identity, Found)> {
    let mut filled = Vec::new();
    for number in 0.. {
        let identity = at_home(number);
        let sought = table.sought(identity);
        let Look::Vacant(vacancy) = table.look(&sought) else { panic!("it has a slot") };
        if matches!(table.claim(&sought, &vacancy), Claim::NoSlot) {
            return filled;
        }
        // The claim may have been made, or may have changed the header alone.
        let found = match find(table, identity) {
            Some(pending) => {
                let cell = table.word(pending.slot).expect("a slot of this table");
                Found { word: cell.publish(pending.word, SOON), ..pending }
            }
            None => granted(table, identity),
        };
        filled.push((identity, found));
    }
    filled
}

#[test]
fn a_claimed_slot_is_found_pending_and_then_as_what_was_published() {
    let table = table(100);
    assert!(find(&table, at_home(1)).is_none());
    let pending = claim(&table, at_home(1));
    let met = find(&table, at_home(1)).expect("its stamp is shown");
    assert_eq!((met.slot, met.word.phase()), (pending.slot, Phase::Pending));
    assert!(find(&table, at_home(2)).is_none(), "another stamp");
    assert!(table.glance(&table.sought(at_home(1))).is_none(), "a glance sees no pending slot");
    let lease = table.word(pending.slot).expect("a slot").publish(pending.word, SOON);
    let glanced = table.glance(&table.sought(at_home(1))).expect("it is at home");
    assert_eq!((glanced.slot, glanced.word), (pending.slot, lease));
}

#[test]
fn a_dead_slot_keeps_its_identity_until_another_claims_it() {
    let table = table(1);
    let filled = fill(&table);
    let (identity, found) = filled[3];
    kill(&table, found);
    let dead = find(&table, identity).expect("it keeps its slot");
    assert_eq!((dead.slot, dead.word.phase()), (found.slot, Phase::Dead));
    let other = granted(&table, at_home(1_000));
    assert_eq!(other.slot, found.slot);
    assert!(find(&table, identity).is_none());
    assert!(
        filled.iter().filter(|(id, _)| *id != identity).all(|(id, _)| find(&table, *id).is_some())
    );
}

#[test]
fn a_home_overflows_to_the_end_of_its_sequence_and_every_key_is_found() {
    let table = table(100);
    let filled = fill(&table);
    assert!(filled.len() > 2 * SLOTS && filled.len() <= OFFSETS * SLOTS);
    for (identity, found) in &filled {
        assert_eq!(find(&table, *identity).map(|found| found.slot), Some(found.slot));
    }
    let farthest = filled.iter().map(|(_, found)| found.word.offset()).max();
    assert!(farthest.is_some_and(|offset| offset >= 12), "the stash was used");
    assert!(find(&table, at_home(9_999)).is_none());
}

#[test]
fn a_dead_key_far_away_is_found_there_and_never_inserted_at_home() {
    let table = table(100);
    let filled = fill(&table);
    let (far, found) = *filled.last().expect("it was filled");
    assert!(found.word.offset() > 1);
    kill(&table, found);
    // Room at home, and a claim there, so that the header's reach and filter are made anew.
    for (_, home) in &filled[..2] {
        kill(&table, *home);
    }
    granted(&table, at_home(2_000));
    let dead = find(&table, far).expect("dead ones count for reach and filter");
    assert_eq!((dead.slot, dead.word.phase()), (found.slot, Phase::Dead));
}

#[test]
fn a_claim_that_was_planned_before_another_claim_fails() {
    let table = table(100);
    let (one, two) = (table.sought(at_home(1)), table.sought(at_home(2)));
    let (Look::Vacant(first), Look::Vacant(second)) = (table.look(&one), table.look(&two)) else {
        panic!("nothing was claimed")
    };
    assert!(matches!(table.claim(&one, &first), Claim::Claimed { .. }));
    assert!(matches!(table.claim(&two, &second), Claim::Lost));
    assert!(matches!(table.claim(&one, &first), Claim::Lost), "the same key twice");
    claim(&table, at_home(2));
}

#[test]
fn a_plan_is_void_once_its_slot_was_used_and_died_again() {
    let table = table(100);
    let (one, two) = (table.sought(at_home(1)), table.sought(at_home(2)));
    let Look::Vacant(early) = table.look(&two) else { panic!("nothing was claimed") };
    let Look::Vacant(vacancy) = table.look(&one) else { panic!("nothing was claimed") };
    assert!(matches!(table.claim(&one, &vacancy), Claim::Claimed { .. }));
    let met = find(&table, at_home(1)).expect("it was claimed");
    let cell = table.word(met.slot).expect("a slot of this table");
    let lease = cell.publish(met.word, SOON);
    cell.kill(lease, || Tick(1)).expect("nobody else moves it");
    // Dead again, but of another generation: what was seen of the home is out of date.
    assert!(matches!(table.claim(&two, &early), Claim::Lost));
}

#[test]
fn a_filter_forgets_keys_that_are_gone_and_never_those_that_are_there() {
    let table = table(100);
    let filled = fill(&table);
    for (_, found) in &filled {
        kill(&table, *found);
    }
    // Other keys of the home take all its slots, again and again, while some stray.
    for round in 1..20_u64 {
        let keys: Vec<_> =
            (0..SLOTS as u64 + 3).map(|number| at_home(round * 1_000 + number)).collect();
        let found: Vec<_> = keys.iter().map(|key| granted(&table, *key)).collect();
        for (key, found) in keys.iter().zip(&found) {
            assert_eq!(find(&table, *key).map(|met| met.slot), Some(found.slot), "round {round}");
        }
        found.iter().for_each(|found| kill(&table, *found));
    }
}

#[test]
fn a_table_takes_its_bound_whatever_the_keys() {
    for bound in [1, 2, 3, 5, 8, 13, 40, 100, 333, 2_000, 30_000] {
        for seed in 0..(20_000 / bound).clamp(1, 40) {
            let table = table(bound);
            let mut random = fastrand::Rng::with_seed(seed as u64);
            for _ in 0..bound {
                granted(&table, Identity::from_bits(random.u128(..)));
            }
        }
    }
}
