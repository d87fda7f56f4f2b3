//! Rule 4.7: commits that failed are repeated, and their duplicates answered as completed. Tokio's
//! clock is paused; the store's is turned along where it matters.

use std::time::Duration;

use leasehold::{LeaseStore, RecordState, Ttl};
use leasehold_http::Policy;
use tower::ServiceExt;

use crate::faulty::{Fault, Faulty};
use crate::support::{App, Gate, address, order, problem};

const SECOND: Duration = Duration::from_secs(1);

/// Lets both clocks run for so many seconds, one by one.
async fn pass(app: &App<Faulty>, seconds: u32) {
    for _ in 0..seconds {
        app.clock.advance(SECOND);
        tokio::time::sleep(SECOND).await;
    }
}

async fn kind(app: &App<Faulty>, key: &str) -> String {
    problem(app.send(order(key), 201).await).await.2
}

fn errors(app: &App<Faulty>) -> Option<u64> {
    app.sample("leasehold_commit_errors_total")
}

#[tokio::test(start_paused = true)]
async fn a_failed_commit_is_repeated_until_it_lands() {
    for fault in [Fault::LostBefore, Fault::LostAfter, Fault::Hang, Fault::HangAfter] {
        let app = Faulty::app(Policy::default());
        for _ in 0..3 {
            app.store.fail("commit", fault.clone());
        }
        assert_eq!(app.order("k", 201).await, 201, "{fault:?}");
        let pending = app.layer.pending_commits();
        assert_eq!(pending.count(), 1, "{fault:?}");
        pending.settled().await;
        assert_eq!(pending.count(), 0, "{fault:?}");
        assert_eq!(app.store.calls.take(), ["acquire", "commit", "commit", "commit", "commit"]);
        let state = app.state("k").await;
        assert!(matches!(state, RecordState::Completed { .. }), "{fault:?}: {state:?}");
        // One request's commit has failed, however often it was repeated.
        assert_eq!(errors(&app), Some(1));
        assert_eq!(app.sample("leasehold_lease_lost_total"), Some(0));
        assert_eq!(kind(&app, "k").await, "duplicate");
    }
}

#[tokio::test(start_paused = true)]
async fn meanwhile_duplicates_are_completed_and_the_store_is_not_asked() {
    let app = Faulty::app(Policy::default().wait(60 * SECOND));
    for _ in 0..3 {
        app.store.fail("commit", Fault::LostBefore);
    }
    assert_eq!(app.order("k", 201).await, 201);
    assert_eq!(app.store.calls.take(), ["acquire", "commit"]);
    assert_eq!(kind(&app, "k").await, "duplicate");
    assert_eq!(app.outcomes("duplicate"), 1);
    assert!(app.store.calls.take().is_empty());
    // In the store it is still in flight.
    assert!(matches!(app.state("k").await, RecordState::InFlight { .. }));
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_a_run_whose_commit_fails_is_a_duplicate() {
    let app = Faulty::local(Policy::default().wait(60 * SECOND));
    let gate = Gate::default();
    let first = tokio::spawn(app.gated(&gate).oneshot(order("k")));
    gate.begun().await;
    let waiter = tokio::spawn(app.gated(&gate).oneshot(order("k")));
    app.store.fail("commit", Fault::LostBefore);
    gate.open(1);
    assert_eq!(first.await.expect("no panic").expect("no error").status(), 201);
    let answer = waiter.await.expect("no panic").expect("no error");
    assert_eq!(problem(answer).await.2, "duplicate");
}

#[tokio::test(start_paused = true)]
async fn pauses_grow_and_a_late_commit_lands_after_the_lease_has_ended() {
    let app = Faulty::app(Policy::default());
    // Until some 50 s have passed: the lease has ended after 30 s, its late grace ends after 60 s.
    for _ in 0..16 {
        app.store.fail("commit", Fault::LostBefore);
    }
    assert_eq!(app.order("k", 201).await, 201);
    pass(&app, 10).await;
    let early = app.store.calls.take().len();
    assert!((6..=10).contains(&early), "{early} calls in 10 s");
    pass(&app, 10).await;
    let later = app.store.calls.take().len();
    assert!((2..=5).contains(&later), "{later} calls in the next 10 s");
    assert_eq!(kind(&app, "k").await, "duplicate");
    pass(&app, 20).await;
    // The lease is over in the store, and still nobody runs it again here.
    assert_eq!(kind(&app, "k").await, "duplicate");
    pass(&app, 40).await;
    assert_eq!(app.layer.pending_commits().count(), 0);
    let state = app.state("k").await;
    assert!(matches!(state, RecordState::Completed { .. }), "{state:?}");
}

#[tokio::test(start_paused = true)]
async fn a_commit_that_can_land_no_more_is_given_up() {
    let app = Faulty::app(Policy::default());
    for _ in 0..100 {
        app.store.fail("commit", Fault::Hang);
    }
    assert_eq!(app.order("k", 201).await, 201);
    tokio::time::sleep(55 * SECOND).await;
    assert_eq!(app.layer.pending_commits().count(), 1);
    tokio::time::sleep(15 * SECOND).await;
    assert_eq!(app.layer.pending_commits().count(), 0);
    app.store.calls.take();
    tokio::time::sleep(60 * SECOND).await;
    assert!(app.store.calls.take().is_empty());
    assert_eq!(errors(&app), Some(1));
}

#[tokio::test(start_paused = true)]
async fn a_superseded_commit_is_final_and_the_loss_is_counted() {
    let app = Faulty::app(Policy::default());
    app.store.fail("commit", Fault::LostBefore);
    assert_eq!(app.order("k", 201).await, 201);
    assert!(app.memory.forget(address("POST", "/orders", "k")).await.expect("memory answers"));
    app.layer.pending_commits().settled().await;
    assert_eq!(app.store.calls.take(), ["acquire", "commit", "commit"]);
    assert_eq!((errors(&app), app.sample("leasehold_lease_lost_total")), (Some(1), Some(1)));
    tokio::time::sleep(60 * SECOND).await;
    assert!(app.store.calls.take().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_pending_commit_whose_key_another_process_has_taken_over_is_counted_once() {
    let app = Faulty::app(Policy::default());
    app.store.fail("commit", Fault::LostBefore);
    assert_eq!(app.order("k", 201).await, 201);
    // The lease has ended before the commit is repeated.
    app.clock.advance(31 * SECOND);
    let terms = leasehold::Terms::new(Ttl::new(60 * SECOND).expect("a valid ttl"));
    let other = app.memory.acquire(address("POST", "/orders", "k"), terms).await;
    assert!(matches!(other, Ok(leasehold::Admission::Granted(_))), "{other:?}");
    app.layer.pending_commits().settled().await;
    assert_eq!((errors(&app), app.sample("leasehold_lease_lost_total")), (Some(1), Some(1)));
    // From here on it is the other's.
    assert_eq!(kind(&app, "k").await, "in-flight");
}

/// A duplicate takes over from a run whose commit is about to fail, and hears of its grant only
/// when that has been answered as a success.
#[tokio::test(start_paused = true)]
async fn a_lease_that_a_duplicate_was_granted_records_the_success_that_is_pending() {
    // The commit is found to be superseded before the duplicate hears of its grant, or after.
    for (fail_open, superseded) in [(false, false), (false, true), (true, false), (true, true)] {
        let app = Faulty::app(Policy::default().fail_open(fail_open));
        let (gate, answers) = (Gate::default(), Gate::default());
        let first = tokio::spawn(app.gated(&gate).oneshot(order("k")));
        gate.begun().await;
        app.clock.advance(31 * SECOND);
        app.store.fail("acquire", Fault::Late(answers.clone()));
        app.store.fail("commit", Fault::LostBefore);
        let second = tokio::spawn(app.gated(&gate).oneshot(order("k")));
        answers.begun().await;
        gate.open(2);
        assert_eq!(first.await.expect("no panic").expect("no error").status(), 201);
        if superseded {
            tokio::time::sleep(SECOND / 2).await;
        }
        answers.open(1);
        let second = second.await.expect("no panic").expect("no error");
        assert_eq!(problem(second).await.2, "duplicate", "{fail_open} {superseded}");
        app.layer.pending_commits().settled().await;
        let state = app.state("k").await;
        assert!(matches!(state, RecordState::Completed { .. }), "{fail_open} {superseded}");
        assert_eq!(kind(&app, "k").await, "duplicate");
        assert_eq!((errors(&app), app.outcomes("granted")), (Some(1), 1));
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_forgotten_is_neither_answered_as_completed_nor_brought_back() {
    let key = address("POST", "/orders", "k");
    // Forgotten before the commit is repeated, and while its answer is on its way.
    for fault in [Fault::LostBefore, Fault::HangAfter] {
        let app = Faulty::app(Policy::default());
        for _ in 0..2 {
            app.store.fail("commit", fault.clone());
        }
        assert_eq!(app.order("k", 201).await, 201);
        assert_eq!(kind(&app, "k").await, "duplicate");
        let pending = app.layer.pending_commits();
        assert!(pending.forget(&key));
        assert!(app.memory.forget(key).await.expect("memory answers"));
        assert!(!pending.forget(&key));
        assert_eq!(app.order("k", 500).await, 500, "{fault:?}");
        pending.settled().await;
        tokio::time::sleep(60 * SECOND).await;
        assert_eq!(app.state("k").await, RecordState::Free, "{fault:?}");
        assert_eq!(app.sample("leasehold_lease_lost_total"), Some(0));
    }
}

#[tokio::test(start_paused = true)]
async fn beyond_the_bound_a_failed_commit_is_given_up_at_once() {
    let mut app = Faulty::app(Policy::default());
    app.layer = app.layer.max_pending_commits(2);
    for _ in 0..3 {
        app.store.fail("commit", Fault::LostBefore);
    }
    for key in ["a", "b", "c"] {
        assert_eq!(app.order(key, 201).await, 201);
    }
    let pending = app.layer.pending_commits();
    assert_eq!((pending.count(), errors(&app)), (2, Some(3)));
    let kinds = [kind(&app, "a").await, kind(&app, "b").await, kind(&app, "c").await];
    assert_eq!(kinds, ["duplicate", "duplicate", "in-flight"]);
    pending.settled().await;
    for key in ["a", "b"] {
        assert!(matches!(app.state(key).await, RecordState::Completed { .. }), "{key}");
    }
    app.clock.advance(31 * SECOND);
    assert_eq!(app.order("c", 201).await, 201);
}

#[tokio::test(start_paused = true)]
async fn many_pending_commits_are_repeated_together() {
    let app = Faulty::app(Policy::default());
    for _ in 0..200 {
        app.store.fail("commit", Fault::Hang);
    }
    let begun = tokio::time::Instant::now();
    let mut requests = tokio::task::JoinSet::new();
    for number in 0..200 {
        let service = app.service(|_| async { Ok(crate::support::answer(201)) });
        requests.spawn(service.oneshot(order(&format!("k-{number}"))));
    }
    for answer in requests.join_all().await {
        assert_eq!(answer.expect("no error").status(), 201);
    }
    let pending = app.layer.pending_commits();
    assert_eq!(pending.count(), 200);
    pending.settled().await;
    assert!(begun.elapsed() < 5 * SECOND, "{:?}", begun.elapsed());
    assert_eq!(app.calls("commit"), 400);
}

#[test]
fn what_is_pending_ends_with_its_runtime_and_the_next_ones_begin_anew() {
    let runtime = || {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_all().start_paused(true).build().expect("a runtime")
    };
    let app = Faulty::app(Policy::default());
    let pending = app.layer.pending_commits();
    runtime().block_on(async {
        app.store.fail("commit", Fault::LostBefore);
        assert_eq!(app.order("a", 201).await, 201);
        assert_eq!(pending.count(), 1);
    });
    assert_eq!(pending.count(), 0);
    runtime().block_on(async {
        app.store.fail("commit", Fault::LostBefore);
        assert_eq!(app.order("b", 201).await, 201);
        assert_eq!(pending.count(), 1);
        pending.settled().await;
        assert!(matches!(app.state("b").await, RecordState::Completed { .. }));
        // The first one's lease ends by itself.
        assert_eq!(kind(&app, "a").await, "in-flight");
    });
}

#[test]
fn what_is_pending_in_a_runtime_that_is_not_driven_holds_up_no_other() {
    let runtime = || {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_all().start_paused(true).build().expect("a runtime")
    };
    let (stalled, driven) = (runtime(), runtime());
    let app = Faulty::app(Policy::default());
    let pending = app.layer.pending_commits();
    for (runtime, key) in [(&stalled, "a"), (&driven, "b")] {
        app.store.fail("commit", Fault::LostBefore);
        assert_eq!(runtime.block_on(app.order(key, 201)), 201);
    }
    assert_eq!(pending.count(), 2);
    driven.block_on(async {
        for _ in 0..10 {
            tokio::time::sleep(SECOND).await;
        }
        assert!(matches!(app.state("b").await, RecordState::Completed { .. }));
    });
    assert_eq!(pending.count(), 1);
    stalled.block_on(pending.settled());
}

#[tokio::test(start_paused = true)]
async fn a_commit_that_stays_slow_is_heard_in_the_end() {
    let ttl = Ttl::new(3600 * SECOND).expect("a valid ttl");
    let app = Faulty::app(Policy::default().ttl(ttl).store_timeout(SECOND));
    let gate = Gate::default();
    for _ in 0..2 {
        app.store.fail("commit", Fault::Late(gate.clone()));
    }
    assert_eq!(app.order("k", 201).await, 201);
    gate.begun().await;
    gate.begun().await;
    // Longer than a request would wait.
    tokio::time::sleep(3 * SECOND).await;
    assert_eq!(app.layer.pending_commits().count(), 1);
    gate.open(1);
    app.layer.pending_commits().settled().await;
    assert_eq!(app.store.calls.take(), ["acquire", "commit", "commit"]);
}
