//! Faults that the other tests have found, each told in steps.

use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use leasehold::Ttl;
use proptests::{Answer, Hands, Limits, Rig, Verb};

/// Rounds of a race. Few of them meet in the right place.
const ROUNDS: usize = 2_000;

const LIMITS: Limits =
    Limits { bound: 1, late_grace: Duration::from_secs(30), outcome_bytes: 1 << 20 };

fn ttl(duration: Duration) -> Ttl {
    Ttl::new(duration).expect("a ttl")
}

fn acquire(secs: u64) -> Verb<usize> {
    Verb::Acquire { address: 0, ttl: ttl(Duration::from_secs(secs)), fingerprint: None }
}

fn rig() -> Rig {
    Rig::new(LIMITS).expect("the limits are legal")
}

/// 1. A key is leased for a day, and released: its slot is still on record for tomorrow.
/// 2. It is leased for an hour, and committed for a second: its end moved to before both.
/// 3. When the second is over, a sweep has to find it, and to keep to its budget meanwhile.
#[test]
fn an_end_moved_before_all_records_is_found_by_a_sweep() {
    let mut rig = rig();
    let second = ttl(Duration::from_secs(1));
    let commit = Verb::Commit { lease: 0, outcome: None, ttl: second };
    for verb in [acquire(86_400), Verb::Release { lease: 0 }, acquire(3_600), commit] {
        rig.act(&verb).expect("the model agrees");
    }
    rig.advance(Duration::from_secs(2));
    rig.act(&Verb::Sweep { budget: 0 }).expect("the model agrees");
    rig.sweep_out(1).expect("one entry is due");
}

/// Both callers' answers, begun at the same time.
fn race(rig: &mut Rig, mine: &Verb<usize>, theirs: &Verb<usize>) -> (Answer, Answer) {
    let barrier = Barrier::new(2);
    let (store, hands, barrier) = (&*rig.store, &mut rig.hands, &barrier);
    thread::scope(|scope| {
        let other = scope.spawn(|| {
            barrier.wait();
            Hands::default().call(store, theirs)
        });
        barrier.wait();
        let mine = hands.call(store, mine).expect("the lease is there").1;
        (mine, other.join().expect("no panic").expect("no lease is needed").1)
    })
}

/// 1. One caller reserves the last place for a key, and is not seen yet.
/// 2. Another wants the same key. Nothing else is kept: it may be told *in flight*, not *full*.
#[test]
fn rivals_for_one_key_are_never_told_full() {
    for _ in 0..ROUNDS {
        match race(&mut rig(), &acquire(10), &acquire(10)) {
            (Answer::Granted { .. }, Answer::InFlight { .. })
            | (Answer::InFlight { .. }, Answer::Granted { .. }) => {}
            answers => panic!("{answers:?}"),
        }
    }
}

/// 1. The holder of the only place ends its lease; its place is not refunded yet.
/// 2. Another wants the same key. It is still held or it is free, and not *full* in between.
#[test]
fn a_key_that_is_being_released_is_never_full_for_itself() {
    for _ in 0..ROUNDS {
        let mut rig = rig();
        rig.act(&acquire(10)).expect("the model agrees");
        match race(&mut rig, &Verb::Release { lease: 0 }, &acquire(10)) {
            (Answer::Done, Answer::Granted { .. } | Answer::InFlight { .. }) => {}
            answers => panic!("{answers:?}"),
        }
    }
}
