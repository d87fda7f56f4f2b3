//! Rule 3.8: `fail_open`. What the store cannot say, this process says as far as it can.

use std::time::Duration;

use leasehold::{LeaseStore, MemoryStore, RecordState, Terms, Ttl};
use leasehold_http::{HeldLease, Policy, Unleased};
use tower::ServiceExt;

use crate::faulty::{Fault, Faulty};
use crate::support::{App, Gate, Seen, address, answer, order, problem};

const SECOND: Duration = Duration::from_secs(1);

fn policy() -> Policy {
    Policy::default().fail_open(true)
}

/// Lets this many acquires fail.
fn down(app: &App<Faulty>, acquires: usize) {
    for _ in 0..acquires {
        app.store.fail("acquire", Fault::LostBefore);
    }
}

async fn kind(app: &App<Faulty>, key: &str) -> String {
    problem(app.send(order(key), 201).await).await.2
}

#[tokio::test(start_paused = true)]
async fn without_an_answer_the_handler_runs_without_a_lease_and_its_success_is_recorded() {
    for fault in [Fault::LostBefore, Fault::LostAfter, Fault::Hang, Fault::HangAfter] {
        let app = Faulty::app(policy());
        app.store.fail("acquire", fault.clone());
        let leases = Seen::default();
        let seen = leases.clone();
        let service = app.service(move |request| {
            seen.push(request.extensions().get::<HeldLease>().is_some());
            async { Ok(answer(201)) }
        });
        let first = service.oneshot(order("k")).await.expect("no error");
        assert_eq!(first.status(), 201, "{fault:?}");
        assert_eq!(leases.take(), [false]);
        assert_eq!((app.outcomes("fail_open"), app.outcomes("granted")), (1, 0));
        assert_eq!((app.outcomes("store_unavailable"), app.verdicts("commit")), (0, 1));
        // At once, before the store knows.
        assert_eq!(kind(&app, "k").await, "duplicate");
        assert_eq!(app.layer.pending_commits().count(), 1);
        // A lease that was granted unheard ends after 30 s, where abandoning it does nothing.
        for _ in 0..45 {
            app.clock.advance(SECOND);
            tokio::time::sleep(SECOND).await;
        }
        assert_eq!(app.layer.pending_commits().count(), 0, "{fault:?}");
        assert!(matches!(app.state("k").await, RecordState::Completed { .. }), "{fault:?}");
        assert_eq!(app.sample("leasehold_commit_errors_total"), Some(0));
        assert_eq!(app.sample("leasehold_running"), Some(0));
        assert_eq!(kind(&app, "k").await, "duplicate");
    }
}

#[tokio::test(start_paused = true)]
async fn a_failure_without_a_lease_leaves_nothing() {
    let app = Faulty::app(policy());
    for status in [500, 400] {
        down(&app, 1);
        assert_eq!(app.order("k", status).await, status);
    }
    assert_eq!(app.layer.pending_commits().count(), 0);
    tokio::time::sleep(60 * SECOND).await;
    let mut calls = app.store.calls.take();
    calls.sort_unstable();
    assert_eq!(calls, ["abandon", "abandon", "acquire", "acquire"]);
    assert_eq!(app.order("k", 201).await, 201);
    assert_eq!((app.outcomes("fail_open"), app.outcomes("granted")), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn full_and_closed_never_fail_open() {
    let config = leasehold::MemoryConfig::default().max_entries(1);
    let app = App::with_config(config, leasehold_http::Routes::new(policy()));
    assert_eq!(app.order("a", 201).await, 201);
    assert_eq!(problem(app.send(order("b"), 201).await).await.2, "full");
    app.memory.close();
    assert_eq!(problem(app.send(order("b"), 201).await).await.2, "store-unavailable");
    assert_eq!((app.outcomes("fail_open"), app.outcomes("granted")), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn in_this_process_nothing_runs_beside_a_run_without_a_lease() {
    let app = Faulty::app(policy());
    let gate = Gate::default();
    down(&app, 1);
    let first = tokio::spawn(app.gated(&gate).oneshot(order("k")));
    gate.begun().await;
    // The store is back, and would grant it.
    assert_eq!(kind(&app, "k").await, "in-flight");
    assert_eq!((app.calls("acquire"), app.outcomes("in_flight")), (1, 1));
    gate.open(1);
    assert_eq!(first.await.expect("no panic").expect("no error").status(), 201);
    assert_eq!(kind(&app, "k").await, "duplicate");
    assert_eq!(app.outcomes("fail_open"), 1);
}

#[tokio::test(start_paused = true)]
async fn who_asks_while_another_begins_without_a_lease_gives_his_own_back() {
    let app = Faulty::app(policy());
    let (gate, answers) = (Gate::default(), Gate::default());
    // The second is granted, and hears of it when the first has begun without.
    app.store.fail("acquire", Fault::Hang);
    app.store.fail("acquire", Fault::Late(answers.clone()));
    let first = tokio::spawn(app.gated(&gate).oneshot(order("k")));
    tokio::time::sleep(SECOND / 2).await;
    let second = tokio::spawn(app.gated(&gate).oneshot(order("k")));
    answers.begun().await;
    gate.begun().await;
    answers.open(1);
    let second = second.await.expect("no panic").expect("no error");
    assert_eq!(problem(second).await.2, "in-flight");
    assert_eq!(app.state("k").await, RecordState::Free);
    gate.open(1);
    assert_eq!(first.await.expect("no panic").expect("no error").status(), 201);
    app.layer.pending_commits().settled().await;
    assert!(matches!(app.state("k").await, RecordState::Completed { .. }));
    assert_eq!((app.outcomes("fail_open"), app.outcomes("granted")), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn who_hears_nothing_while_another_runs_under_a_lease_does_not_run() {
    let app = Faulty::app(policy());
    let gate = Gate::default();
    let first = tokio::spawn(app.gated(&gate).oneshot(order("k")));
    gate.begun().await;
    down(&app, 1);
    assert_eq!(kind(&app, "k").await, "in-flight");
    gate.open(1);
    assert_eq!(first.await.expect("no panic").expect("no error").status(), 201);
    assert_eq!(kind(&app, "k").await, "duplicate");
    assert_eq!(app.outcomes("fail_open"), 0);
}

#[tokio::test(start_paused = true)]
async fn who_hears_nothing_until_another_has_succeeded_without_a_lease_is_a_duplicate() {
    let app = Faulty::app(policy());
    app.store.fail("acquire", Fault::Hang);
    down(&app, 20);
    let service = app.service(|_| async { Ok(answer(201)) });
    let slow = tokio::spawn(service.oneshot(order("k")));
    tokio::time::sleep(SECOND / 2).await;
    assert_eq!(app.order("k", 201).await, 201);
    let slow = slow.await.expect("no panic").expect("no error");
    assert_eq!(problem(slow).await.2, "duplicate");
    assert_eq!(app.outcomes("fail_open"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_waiter_runs_without_a_lease_after_one_that_failed_without() {
    let app = Faulty::local(policy().wait(60 * SECOND));
    let gate = Gate::default();
    down(&app, 2);
    let failing = app.service({
        let gate = gate.clone();
        move |_| {
            let gate = gate.clone();
            async move {
                gate.pass().await;
                Ok(answer(500))
            }
        }
    });
    let first = tokio::spawn(failing.oneshot(order("k")));
    gate.begun().await;
    let waiter = tokio::spawn(app.gated(&gate).oneshot(order("k")));
    gate.open(2);
    assert_eq!(first.await.expect("no panic").expect("no error").status(), 500);
    assert_eq!(waiter.await.expect("no panic").expect("no error").status(), 201);
    assert_eq!(app.outcomes("fail_open"), 2);
}

#[tokio::test(start_paused = true)]
async fn a_waiter_does_not_run_without_a_lease_once_the_store_has_said_in_flight() {
    let app = Faulty::app(policy().wait(10 * SECOND));
    let _lease = held_elsewhere(&app.memory).await;
    let begun = tokio::time::Instant::now();
    let service = app.service(|_| async { Ok(answer(201)) });
    let waiter = tokio::spawn(service.oneshot(order("k")));
    tokio::time::sleep(SECOND).await;
    down(&app, 1);
    let waiter = waiter.await.expect("no panic").expect("no error");
    assert_eq!(problem(waiter).await.2, "in-flight");
    assert!(begun.elapsed() < 3 * SECOND);
    assert_eq!((app.outcomes("fail_open"), app.outcomes("in_flight")), (0, 1));
}

/// Acquires the order's key beside the layer.
async fn held_elsewhere(store: &MemoryStore) -> leasehold::Lease {
    let terms = Terms::new(Ttl::new(30 * SECOND).expect("a valid ttl"));
    match LeaseStore::acquire(store, address("POST", "/orders", "k"), terms).await {
        Ok(leasehold::Admission::Granted(lease)) => lease,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_success_is_recorded_after_another_processs_run_has_ended() {
    let app = Faulty::app(policy());
    let mut lease = held_elsewhere(&app.memory).await;
    down(&app, 1);
    assert_eq!(app.order("k", 201).await, 201);
    tokio::time::sleep(20 * SECOND).await;
    assert_eq!(app.layer.pending_commits().count(), 1);
    app.memory.release(&mut lease).await.expect("it is current");
    app.layer.pending_commits().settled().await;
    assert!(matches!(app.state("k").await, RecordState::Completed { .. }));
}

#[tokio::test(start_paused = true)]
async fn a_success_that_finds_no_room_or_a_closed_store_is_counted() {
    let mut app = Faulty::app(policy());
    app.layer = app.layer.max_pending_commits(1);
    down(&app, 2);
    for key in ["a", "b"] {
        assert_eq!(app.order(key, 201).await, 201);
    }
    assert_eq!(app.sample("leasehold_commit_errors_total"), Some(1));
    app.memory.close();
    app.layer.pending_commits().settled().await;
    assert_eq!(app.sample("leasehold_commit_errors_total"), Some(2));
}

#[tokio::test(start_paused = true)]
async fn a_success_that_is_recorded_twice_by_two_processes_is_done() {
    let app = Faulty::app(policy());
    down(&app, 1);
    assert_eq!(app.order("k", 201).await, 201);
    let mut lease = held_elsewhere(&app.memory).await;
    let ttl = Ttl::new(3600 * SECOND).expect("a valid ttl");
    app.memory.commit(&mut lease, None, ttl).await.expect("it is current");
    app.layer.pending_commits().settled().await;
    assert_eq!(app.store.calls.take(), ["acquire", "abandon", "acquire"]);
    assert_eq!(app.sample("leasehold_commit_errors_total"), Some(0));
}

#[tokio::test(start_paused = true)]
async fn the_handler_sees_that_it_runs_without_a_lease() {
    let app = Faulty::app(policy());
    let seen = Seen::default();
    let sees = seen.clone();
    let service = app.service(move |request| {
        let lease = request.extensions().get::<HeldLease>().cloned();
        sees.push((lease.is_some(), request.extensions().get::<Unleased>().is_some()));
        let mut answer = answer(500);
        if let Some(lease) = lease {
            answer.extensions_mut().insert(lease);
        }
        async { Ok(answer) }
    });
    let first = service.clone().oneshot(order("k")).await.expect("no error");
    // The lease of an outer layer, for another key, is none of this request's.
    let mut again = order("k");
    let lease = first.extensions().get::<HeldLease>().cloned().expect("it had a lease");
    again.extensions_mut().insert(lease);
    down(&app, 1);
    service.oneshot(again).await.expect("no error");
    assert_eq!(seen.take(), [(true, false), (false, true)]);
}

#[tokio::test(start_paused = true)]
async fn a_success_outlives_the_leases_that_were_granted_to_record_it() {
    for superseded in [false, true] {
        let app = Faulty::app(policy());
        down(&app, 1);
        // For longer than a commit under the first lease may land.
        let failures = if superseded { 1 } else { 30 };
        for _ in 0..failures {
            app.store.fail("commit", Fault::LostBefore);
        }
        assert_eq!(app.order("k", 201).await, 201);
        let pending = app.layer.pending_commits();
        if superseded {
            tokio::time::sleep(SECOND / 10).await;
            assert!(matches!(app.state("k").await, RecordState::InFlight { .. }));
            app.clock.advance(70 * SECOND);
            let mut lease = held_elsewhere(&app.memory).await;
            tokio::time::sleep(SECOND).await;
            app.memory.release(&mut lease).await.expect("it is current");
        }
        for _ in 0..200 {
            app.clock.advance(SECOND);
            tokio::time::sleep(SECOND).await;
        }
        assert_eq!(pending.count(), 0);
        let state = app.state("k").await;
        assert!(matches!(state, RecordState::Completed { .. }), "{superseded}: {state:?}");
        assert_eq!(app.sample("leasehold_commit_errors_total"), Some(0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_success_whose_key_is_forgotten_is_recorded_under_no_lease() {
    for granted in [false, true] {
        let app = Faulty::app(policy());
        down(&app, 1);
        let gate = Gate::default();
        if granted {
            app.store.fail("acquire", Fault::Late(gate.clone()));
        }
        assert_eq!(app.order("k", 201).await, 201);
        let pending = app.layer.pending_commits();
        if granted {
            // The lease to record it under is granted, and the answer on its way.
            gate.begun().await;
            assert!(matches!(app.state("k").await, RecordState::InFlight { .. }));
        }
        assert!(pending.forget(&address("POST", "/orders", "k")));
        gate.open(1);
        pending.settled().await;
        assert_eq!(app.state("k").await, RecordState::Free, "{granted}");
        tokio::time::sleep(60 * SECOND).await;
        assert_eq!(app.calls("commit"), 0);
        assert_eq!(app.order("k", 500).await, 500);
    }
}
