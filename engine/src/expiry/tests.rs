//! The skiplist of buckets: order, coverage, and that nothing is left behind.

use super::*;

/// Takes every record that has begun; gives the slots in the order in which they came.
fn drain(expiry: &Expiry, now: u64) -> Vec<u32> {
    let mut slots = Vec::new();
    while let Some(due) = expiry.due(Tick(now)) {
        slots.push(due.slot());
        assert!(expiry.take(&due));
    }
    slots
}

#[test]
fn records_come_in_the_order_of_their_deadlines() {
    let expiry = Expiry::new(4);
    for (slot, due) in [(0, 40), (1, 10), (2, 30), (3, 20)] {
        expiry.arm(slot, Deadline(due), Tick(0));
    }
    assert_eq!(drain(&expiry, 9), []);
    assert_eq!(drain(&expiry, 30), [1, 3, 2]);
    assert_eq!(drain(&expiry, 40), [0]);
    assert_eq!(expiry.buckets(), 0);
}

#[test]
fn a_deadline_that_moves_earlier_fires_early_and_later_ones_file_nothing() {
    let expiry = Expiry::new(1);
    expiry.arm(0, Deadline(60), Tick(0));
    expiry.arm(0, Deadline(64), Tick(0));
    assert_eq!(expiry.buckets(), 1);
    expiry.arm(0, Deadline(20), Tick(0));
    assert_eq!(drain(&expiry, 20), [0]);
    assert_eq!(drain(&expiry, 60), [0]);
    assert_eq!(expiry.buckets(), 0);
}

#[test]
fn a_third_deadline_before_both_records_asks_for_a_look_through() {
    let expiry = Expiry::new(1);
    for due in [60, 40, 20] {
        expiry.arm(0, Deadline(due), Tick(0));
    }
    assert!(!expiry.must_look_through(Tick(19)));
    assert!(expiry.must_look_through(Tick(20)));
    expiry.forget_look_through();
    assert!(!expiry.must_look_through(Tick(u64::MAX - 1)));
}

#[test]
fn a_record_that_another_thread_took_is_not_taken_twice() {
    let expiry = Expiry::new(1);
    expiry.arm(0, Deadline(1), Tick(0));
    let (one, two) = (expiry.due(Tick(1)), expiry.due(Tick(1)));
    assert!(one.is_some_and(|due| expiry.take(&due)));
    assert!(two.is_some_and(|due| !expiry.take(&due)));
}

#[test]
fn a_bucket_can_be_filed_again_after_it_was_closed() {
    let expiry = Expiry::new(1);
    for _ in 0..3 {
        expiry.arm(0, Deadline(5), Tick(0));
        assert_eq!(drain(&expiry, 5), [0]);
    }
}

#[test]
fn a_reading_older_than_the_filing_is_not_taken_for_a_year_later() {
    let expiry = Expiry::new(1);
    expiry.arm(0, Deadline(1 + (1 << 33)), Tick(1));
    expiry.arm(0, Deadline(1_000), Tick(0));
    assert_eq!(drain(&expiry, 1_000), [0]);
}
