//! Who is called when.

use std::sync::Arc;

use leasehold::{Address, Lease, Place as StorePlace, Token};
use tokio::time::Instant;

use super::*;
use crate::layer::Prepared;
use crate::policy::Policy;

const SECOND: u64 = 1_000_000;
const TTL: Duration = Duration::from_secs(30);
const THIRD: Duration = Duration::from_secs(10);

/// A lease in the shard of this number.
fn held(shard: u8) -> HeldLease {
    let now = Instant::now().into_std();
    let lease = Lease::new(Token::new(1), now, StorePlace([0; 32]));
    let prepared = Arc::new(Prepared::alone(Policy::default()));
    HeldLease::new(&lease, Address::from_bytes([shard; 32]), prepared)
}

fn roster() -> Roster {
    Roster::new(Instant::now())
}

/// Looks at this time; gives how many were called, and the outlook.
fn look(roster: &Roster, now: u64, room: usize) -> (usize, Outlook) {
    let mut called = Vec::new();
    let outlook = roster.look(now, room, &mut called);
    (called.len(), outlook)
}

fn outlook(next: u64, any: bool, more: bool) -> Outlook {
    Outlook { next, any, more }
}

#[test]
fn a_lease_is_called_at_its_time_and_again_after_the_same_time() {
    let roster = roster();
    assert_eq!(look(&roster, 0, 9), (0, outlook(SECOND, false, false)));
    let place = roster.enter(held(3), 0, Pace::new(THIRD, TTL), None).place;
    assert_eq!(look(&roster, SECOND, 9), (0, outlook(2 * SECOND, true, false)));
    assert_eq!(look(&roster, 9 * SECOND + 5, 9), (0, outlook(10 * SECOND, true, false)));
    assert_eq!(look(&roster, 10 * SECOND, 9), (1, outlook(11 * SECOND, true, false)));
    assert_eq!(look(&roster, 10 * SECOND, 9), (0, outlook(11 * SECOND, true, false)));
    assert_eq!(look(&roster, 20 * SECOND, 9), (1, outlook(21 * SECOND, true, false)));
    roster.leave(place);
    assert_eq!(look(&roster, 30 * SECOND, 9), (0, outlook(31 * SECOND, false, false)));
}

#[test]
fn one_look_serves_what_is_due_at_about_the_same_time() {
    let roster = roster();
    for (shard, millis) in [(1, 0), (1, 400), (2, 100), (3, 900)] {
        roster.enter(held(shard), millis * 1000, Pace::new(THIRD, TTL), None);
    }
    // 30 s / 64 = 0.47 s ahead.
    assert_eq!(look(&roster, 10 * SECOND, 9), (3, outlook(10_900_000, true, false)));
}

#[test]
fn more_than_there_is_room_for_stay_due() {
    let roster = roster();
    for shard in 0..5 {
        roster.enter(held(shard), 0, Pace::new(THIRD, TTL), None);
    }
    let (called, first) = look(&roster, 10 * SECOND, 3);
    assert_eq!((called, first.more, first.next), (3, true, 10 * SECOND));
    assert_eq!(look(&roster, 10 * SECOND, 0).1, first);
    let (called, second) = look(&roster, 10 * SECOND, 3);
    assert_eq!((called, second.more, second.next), (2, false, 11 * SECOND));
}

#[test]
fn only_what_is_due_before_the_planned_look_is_sooner() {
    let roster = roster();
    let enter = |shard, seconds| {
        let pace = Pace::new(Duration::from_secs(seconds), TTL);
        roster.enter(held(shard), 0, pace, None)
    };
    let first = enter(1, 10);
    assert!(first.is_sooner);
    assert!(!enter(1, 11).is_sooner && enter(1, 9).is_sooner && enter(2, 20).is_sooner);
    // What has left leaves its plan behind: one look too many, instead of one for each request.
    roster.leave(first.place);
    assert!(!enter(1, 10).is_sooner);
}

#[test]
fn leases_that_come_and_go_between_two_looks_tell_nobody() {
    for (pause, told) in [(Duration::from_millis(100), 1), (THIRD, 0)] {
        let roster = roster();
        let mut count = 0;
        look(&roster, 0, 9);
        for millis in 0..1000 {
            let entered = roster.enter(held(1), millis * 1000, Pace::new(pause, TTL), None);
            count += usize::from(entered.is_sooner);
            roster.leave(entered.place);
            if millis % 50 == 0 {
                look(&roster, millis * 1000, 9);
            }
        }
        assert_eq!(count, told);
    }
}

#[test]
fn a_slot_that_changed_hands_is_not_put_off() {
    let roster = roster();
    let often = || Pace::new(Duration::from_micros(5), TTL);
    let mut called = Vec::new();
    let place = roster.enter(held(1), 0, often(), None).place;
    roster.look(5, 1, &mut called);
    let called = called.remove(0);
    assert_eq!((roster.put_off(&called, Due::at(8)), look(&roster, 6, 9).1.next), (8, 8));
    roster.leave(place);
    roster.enter(held(1), 7, often(), None);
    roster.put_off(&called, Due::at(7));
    assert_eq!(look(&roster, 8, 0).1.next, 12);
}

#[tokio::test]
async fn a_runtime_is_attended_from_its_tasks_begin_to_its_end() {
    let roster = roster();
    let id = tokio::runtime::Handle::current().id();
    let enter = || roster.enter(held(1), 0, Pace::new(THIRD, TTL), Some(id));
    let first = enter();
    assert!(!first.is_attended);
    roster.attended(first.place, id);
    let second = enter();
    assert!(second.is_attended);
    assert!(!roster.unattended(id));
    roster.leave(first.place);
    roster.leave(second.place);
    assert!(roster.unattended(id));
    assert!(!enter().is_attended);
}

#[test]
fn times_beyond_all_clocks_are_waited_for_in_days() {
    let roster = roster();
    let now = Instant::now();
    assert!(roster.moment(NEVER, now) <= now + Duration::from_secs(24 * 60 * 60));
    assert_eq!(roster.moment(0, now), now);
    assert_eq!(Pace::new(THIRD, TTL).due_after(NEVER).at, NEVER);
}
