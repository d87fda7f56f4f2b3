//! Rule 5.5: duplicates that wait for the end of another's run. Tokio's clock is paused, and moves
//! by itself when all wait.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt;
use leasehold::{LeaseStore, MemoryStore, RecordState, Terms, Ttl};
use leasehold_http::Policy;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::Instant;
use tower::{Service, ServiceExt};

use crate::faulty::{Fault, Faulty};
use crate::support::{Answer, App, Gate, address, answer, order, problem};

const SECOND: Duration = Duration::from_secs(1);

fn policy(wait: Duration) -> Policy {
    Policy::default().wait(wait)
}

/// Sends an order to a handler that waits at a gate and then answers with a status.
fn send<S: LeaseStore + Clone>(
    app: &App<S>,
    key: &str,
    gate: &Gate,
    status: u16,
) -> JoinHandle<Answer> {
    let gate = gate.clone();
    let service = app.service(move |_| {
        let gate = gate.clone();
        async move {
            gate.pass().await;
            Ok(answer(status))
        }
    });
    let request = order(key);
    tokio::spawn(async move { service.oneshot(request).await.expect("no error") })
}

/// Lets everything run that can, without time passing.
async fn idle() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}

async fn status(answer: JoinHandle<Answer>) -> u16 {
    answer.await.expect("no panic").status().as_u16()
}

/// The last part of the type of a refusal.
async fn kind(answer: JoinHandle<Answer>) -> String {
    problem(answer.await.expect("no panic")).await.2
}

/// An application with a run of the key `k` at the gate.
async fn busy(policy: Policy, change: impl FnOnce(&mut App)) -> (App, Gate, JoinHandle<Answer>) {
    let mut app = App::new(policy);
    change(&mut app);
    let gate = Gate::default();
    let first = send(&app, "k", &gate, 500);
    gate.begun().await;
    (app, gate, first)
}

#[tokio::test(start_paused = true)]
async fn a_waiter_runs_when_the_first_has_failed_and_is_a_duplicate_when_it_has_not() {
    let begun = Instant::now();
    let (app, gate, first) = busy(policy(5 * SECOND), |_| {}).await;
    let (second, third) = (send(&app, "k", &gate, 201), send(&app, "k", &gate, 201));
    idle().await;
    assert!(!second.is_finished() && !third.is_finished());
    gate.open(1);
    assert_eq!(status(first).await, 500);
    gate.begun().await;
    idle().await;
    assert!(!second.is_finished() && !third.is_finished());
    gate.open(1);
    let (second, third) = (second.await.expect("no panic"), third.await.expect("no panic"));
    let (ran, waited) = if second.status() == 201 { (second, third) } else { (third, second) };
    assert_eq!(ran.status(), 201);
    assert_eq!(problem(waited).await.2, "duplicate");
    // All of this by events: nothing was waited for by time.
    assert_eq!(begun.elapsed(), Duration::ZERO);
    assert_eq!((app.outcomes("granted"), app.outcomes("duplicate")), (2, 1));
    assert_eq!(app.outcomes("in_flight"), 0);
}

#[tokio::test(start_paused = true)]
async fn of_many_waiters_each_asks_once_more_on_a_release_and_one_runs() {
    const WAITERS: u64 = 50;
    let (app, gate, first) = busy(policy(60 * SECOND), |_| {}).await;
    let waiters: Vec<_> = (0..WAITERS).map(|_| send(&app, "k", &gate, 500)).collect();
    idle().await;
    // Each before it waits, and once more since it joined those who wait.
    let mut acquires = 1 + 2 * WAITERS;
    assert_eq!(app.calls("acquire"), acquires);
    for left in (1..=WAITERS).rev() {
        gate.open(1);
        gate.begun().await;
        idle().await;
        acquires += left;
        assert_eq!(app.calls("acquire"), acquires, "{left} were left");
        assert_eq!(app.sample("leasehold_running"), Some(1));
    }
    gate.open(1);
    for waiter in waiters {
        assert_eq!(status(waiter).await, 500);
    }
    assert_eq!(status(first).await, 500);
    assert_eq!(app.outcomes("granted"), 1 + WAITERS);
}

/// Whether so much time has passed, by tokio's clock, which moves in steps of 1 ms.
fn took(begun: Instant, time: Duration) -> bool {
    (time..time + SECOND / 20).contains(&begun.elapsed())
}

#[tokio::test(start_paused = true)]
async fn a_waiter_is_refused_at_its_own_deadline_which_no_wake_up_moves() {
    let (app, gate, first) = busy(policy(3 * SECOND), |_| {}).await;
    let begun = Instant::now();
    let mut waiters = JoinSet::new();
    for _ in 0..2 {
        let waiter = send(&app, "k", &gate, 201);
        waiters.spawn(async { waiter.await.expect("no panic") });
    }
    tokio::time::sleep(2 * SECOND).await;
    gate.open(1);
    assert_eq!(status(first).await, 500);
    gate.begun().await;
    // Another one's time begins later.
    let late = send(&app, "k", &gate, 201);
    let refused = waiters.join_next().await.expect("two").expect("no panic");
    assert!(took(begun, 3 * SECOND), "{:?}", begun.elapsed());
    assert_eq!(refused.headers()["retry-after"], "1");
    assert_eq!(problem(refused).await, (409, 40910, "in-flight".to_owned()));
    assert_eq!(kind(late).await, "in-flight");
    assert!(took(begun, 5 * SECOND), "{:?}", begun.elapsed());
    gate.open(1);
    let ran = waiters.join_next().await.expect("one").expect("no panic");
    assert_eq!(ran.status(), 201);
    assert_eq!((app.outcomes("granted"), app.outcomes("in_flight")), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn within_the_process_nobody_polls() {
    let (app, gate, first) = busy(policy(25 * SECOND), |_| {}).await;
    let waiter = send(&app, "k", &gate, 201);
    tokio::time::sleep(24 * SECOND).await;
    assert_eq!(app.calls("acquire"), 3);
    gate.open(2);
    assert_eq!((status(first).await, status(waiter).await), (500, 201));
}

#[tokio::test(start_paused = true)]
async fn an_end_between_the_answer_and_the_wait_is_not_missed() {
    // The first run ends while the waiter's answer is on its way: its first one, before it joins
    // those who wait, and its second one, after that.
    for late in 1..=2 {
        let app = Faulty::local(policy(60 * SECOND));
        let (gate, answers) = (Gate::default(), Gate::default());
        let first = send(&app, "k", &gate, 500);
        gate.begun().await;
        let begun = Instant::now();
        for _ in 0..late {
            app.store.fail("acquire", Fault::Late(answers.clone()));
        }
        let waiter = send(&app, "k", &gate, 201);
        for _ in 1..late {
            answers.begun().await;
            answers.open(1);
        }
        answers.begun().await;
        gate.open(1);
        assert_eq!(status(first).await, 500);
        answers.open(1);
        gate.begun().await;
        gate.open(1);
        assert_eq!(status(waiter).await, 201);
        assert_eq!(begun.elapsed(), Duration::ZERO, "{late}");
    }
}

#[tokio::test(start_paused = true)]
async fn beyond_the_bound_duplicates_are_refused_at_once() {
    let narrow = |app: &mut App| app.layer = app.layer.clone().max_waiters(1);
    let (app, gate, first) = busy(policy(60 * SECOND), narrow).await;
    let begun = Instant::now();
    let waiter = send(&app, "k", &gate, 201);
    idle().await;
    let refused = app.send(order("k"), 201).await;
    assert_eq!(problem(refused).await, (409, 40910, "in-flight".to_owned()));
    gate.open(2);
    assert_eq!((status(first).await, status(waiter).await), (500, 201));
    // Its place is free again.
    let second = send(&app, "l", &gate, 201);
    gate.begun().await;
    let waiter = send(&app, "l", &gate, 201);
    gate.open(1);
    assert_eq!(status(second).await, 201);
    assert_eq!(kind(waiter).await, "duplicate");
    assert_eq!(begun.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn waiters_take_no_place_from_handlers() {
    let narrow = |app: &mut App| app.layer = app.layer.clone().max_running(2);
    let (app, gate, first) = busy(policy(60 * SECOND), narrow).await;
    let waiters = [(); 5].map(|()| send(&app, "k", &gate, 201));
    idle().await;
    assert_eq!((app.layer.running().count(), app.sample("leasehold_running")), (1, Some(1)));
    let other = Gate::default();
    let beside = send(&app, "l", &other, 201);
    other.begun().await;
    assert_eq!(app.sample("leasehold_running"), Some(2));
    gate.open(2);
    assert_eq!(status(first).await, 500);
    let mut statuses = Vec::new();
    for waiter in waiters {
        statuses.push(status(waiter).await);
    }
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 409, 409, 409, 409]);
    other.open(1);
    assert_eq!(status(beside).await, 201);
    assert_eq!(app.sample("leasehold_running"), Some(0));
}

#[tokio::test(start_paused = true)]
async fn a_waiter_that_may_run_and_finds_no_place_frees_the_key() {
    let policy = policy(60 * SECOND).renew(false);
    let narrow = |app: &mut App| app.layer = app.layer.clone().max_running(2);
    let (app, gate, first) = busy(policy, narrow).await;
    let waiter = send(&app, "k", &gate, 201);
    idle().await;
    let beside = send(&app, "l", &gate, 201);
    gate.begun().await;
    // The lease of the first run ends; the run itself does not, and keeps its place.
    app.clock.advance(31 * SECOND);
    assert_eq!(kind(waiter).await, "overloaded");
    assert_eq!(app.state("k").await, RecordState::Free);
    assert_eq!(app.outcomes("granted"), 2);
    gate.open(2);
    assert_eq!((status(first).await, status(beside).await), (500, 201));
}

#[tokio::test(start_paused = true)]
async fn a_waiter_whose_client_goes_leaves_nothing_behind() {
    let narrow = |app: &mut App| app.layer = app.layer.clone().max_waiters(1);
    let (app, gate, first) = busy(policy(60 * SECOND), narrow).await;
    let mut gone = app.gated(&gate).call(order("k"));
    assert!((&mut gone).now_or_never().is_none());
    drop(gone);
    idle().await;
    // Its place among the waiters is free, and it does not run when the first has failed.
    let waiter = send(&app, "k", &gate, 500);
    idle().await;
    assert!(!waiter.is_finished());
    gate.open(2);
    assert_eq!((status(first).await, status(waiter).await), (500, 500));
    idle().await;
    assert_eq!(app.state("k").await, RecordState::Free);
    assert_eq!((app.outcomes("granted"), app.sample("leasehold_running")), (2, Some(0)));
}

#[tokio::test(start_paused = true)]
async fn a_waiter_whose_client_goes_while_it_is_granted_gives_the_lease_back() {
    let app = Faulty::local(policy(60 * SECOND));
    let (gate, answers) = (Gate::default(), Gate::default());
    let first = send(&app, "k", &gate, 500);
    gate.begun().await;
    let mut gone = app.gated(&gate).call(order("k"));
    assert!((&mut gone).now_or_never().is_none());
    app.store.fail("acquire", Fault::Late(answers.clone()));
    gate.open(1);
    assert_eq!(status(first).await, 500);
    // It was woken, and asks.
    assert!((&mut gone).now_or_never().is_none());
    answers.begun().await;
    let other = send(&app, "k", &gate, 201);
    drop(gone);
    idle().await;
    assert!(matches!(app.state("k").await, RecordState::InFlight { .. }));
    answers.open(1);
    gate.begun().await;
    gate.open(1);
    // Who waited for that lease has heard of its end.
    assert_eq!(status(other).await, 201);
    assert_eq!(app.outcomes("granted"), 2);
}

#[tokio::test(start_paused = true)]
async fn waiters_end_at_once_when_the_server_drains_or_cuts() {
    for cut in [false, true] {
        let (app, gate, first) = busy(policy(60 * SECOND), |_| {}).await;
        let begun = Instant::now();
        let waiter = send(&app, "k", &gate, 201);
        idle().await;
        let running = app.layer.running();
        if cut {
            running.cut()
        } else {
            running.drain()
        }
        assert_eq!(kind(waiter).await, "in-flight");
        if !cut {
            // What comes now does not wait, and what runs goes on.
            assert_eq!(kind(send(&app, "k", &gate, 201)).await, "in-flight");
            gate.open(1);
        }
        assert_eq!(status(first).await, if cut { 504 } else { 500 });
        running.idle().await;
        assert_eq!(begun.elapsed(), Duration::ZERO);
    }
}

/// Acquires the order's key beside the layer, for 30 s.
async fn held_elsewhere(store: &MemoryStore) -> leasehold::Lease {
    let ttl = Ttl::new(30 * SECOND).expect("a valid ttl");
    let answer =
        store.acquire(store.identify_address(&address("POST", "/orders", "k")), &Terms::new(ttl));
    match answer {
        Ok(leasehold::Admission::Granted(lease)) => lease,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_runs_out_is_noticed_without_being_told() {
    let app = App::new(policy(60 * SECOND));
    let _lease = held_elsewhere(&app.memory).await;
    let begun = Instant::now();
    let gate = Gate::default();
    let waiter = send(&app, "k", &gate, 201);
    idle().await;
    app.clock.advance(31 * SECOND);
    gate.begun().await;
    assert!(took(begun, 30 * SECOND), "{:?}", begun.elapsed());
    gate.open(1);
    assert_eq!(status(waiter).await, 201);
}

#[tokio::test(start_paused = true)]
async fn a_shared_store_is_asked_again_with_growing_pauses() {
    let app = Faulty::app(policy(60 * SECOND));
    let mut lease = held_elsewhere(&app.memory).await;
    let gate = Gate::default();
    let waiter = send(&app, "k", &gate, 201);
    tokio::time::sleep(SECOND).await;
    let first_second = app.store.calls.take().len();
    assert!((4..=8).contains(&first_second), "{first_second} calls in the first second");
    tokio::time::sleep(10 * SECOND).await;
    let later = app.store.calls.take().len();
    assert!((10..=21).contains(&later), "{later} calls in 10 s");
    // Another process releases: nobody tells.
    app.memory.release(&mut lease).await.expect("it is current");
    let begun = Instant::now();
    gate.begun().await;
    assert!(begun.elapsed() <= SECOND);
    gate.open(1);
    assert_eq!(status(waiter).await, 201);
}

#[tokio::test(start_paused = true)]
async fn a_waiter_whose_store_falls_silent_is_503() {
    let app = Faulty::local(policy(60 * SECOND));
    let gate = Gate::default();
    let first = send(&app, "k", &gate, 500);
    gate.begun().await;
    let waiter = send(&app, "k", &gate, 201);
    idle().await;
    app.store.fail("acquire", Fault::LostBefore);
    gate.open(1);
    assert_eq!(status(first).await, 500);
    assert_eq!(kind(waiter).await, "store-unavailable");
    idle().await;
    let calls = app.store.calls.take();
    assert_eq!(calls, ["acquire", "acquire", "acquire", "release", "acquire", "abandon"]);
}

#[tokio::test(start_paused = true)]
async fn a_release_that_fails_lets_waiters_wait_for_the_lease_to_run_out() {
    let app = Faulty::local(policy(60 * SECOND));
    let gate = Gate::default();
    let begun = Instant::now();
    let first = send(&app, "k", &gate, 500);
    gate.begun().await;
    let waiter = send(&app, "k", &gate, 201);
    idle().await;
    app.store.fail("release", Fault::LostBefore);
    gate.open(1);
    assert_eq!(status(first).await, 500);
    idle().await;
    assert!(!waiter.is_finished());
    app.clock.advance(31 * SECOND);
    gate.begun().await;
    assert!(took(begun, 30 * SECOND), "{:?}", begun.elapsed());
    gate.open(1);
    assert_eq!(status(waiter).await, 201);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn on_many_threads_no_wake_up_is_lost() {
    const KEYS: usize = 16;
    const EACH: usize = 24;
    const FAILURES: u16 = 5;
    let app = App::new(policy(600 * SECOND));
    let runs = Arc::new(Mutex::new(HashMap::<String, u16>::new()));
    let service = app.service({
        let runs = Arc::clone(&runs);
        move |request| {
            let key = request.headers()["x-order"].to_str().expect("text").to_owned();
            let runs = Arc::clone(&runs);
            async move {
                tokio::task::yield_now().await;
                let mut runs = runs.lock().expect("not poisoned");
                let run = runs.entry(key).or_default();
                *run += 1;
                Ok(answer(if *run <= FAILURES { 500 } else { 201 }))
            }
        }
    });
    let mut requests = JoinSet::new();
    for number in 0..KEYS * EACH {
        let key = format!("k-{}", number % KEYS);
        let mut request = order(&key);
        request.headers_mut().insert("x-order", key.parse().expect("a value"));
        requests.spawn(service.clone().oneshot(request));
    }
    // A lost wake-up would be noticed when its lease's time is over, half a minute later.
    let answers = tokio::time::timeout(20 * SECOND, requests.join_all()).await.expect("in time");
    let count = |status: u16| {
        answers
            .iter()
            .filter(|answer| answer.as_ref().expect("no error").status() == status)
            .count()
    };
    let failures = usize::from(FAILURES) * KEYS;
    assert_eq!((count(500), count(201)), (failures, KEYS));
    assert_eq!(count(409), KEYS * EACH - failures - KEYS);
    assert_eq!(app.outcomes("in_flight"), 0);
    assert!(runs.lock().expect("not poisoned").values().all(|runs| *runs == FAILURES + 1));
}

#[tokio::test(start_paused = true)]
async fn a_mismatch_is_not_waited_for() {
    let app = Faulty::app(policy(60 * SECOND));
    app.store.fingerprint_each();
    let gate = Gate::default();
    let first = send(&app, "k", &gate, 201);
    gate.begun().await;
    let begun = Instant::now();
    assert_eq!(kind(send(&app, "k", &gate, 201)).await, "mismatch");
    assert_eq!(begun.elapsed(), Duration::ZERO);
    gate.open(1);
    assert_eq!(status(first).await, 201);
}

#[tokio::test(start_paused = true)]
async fn a_waiter_that_was_not_heard_asks_in_another_attempt() {
    let app = Faulty::local(policy(60 * SECOND).fail_open(true));
    let gate = Gate::default();
    app.store.fail("acquire", Fault::Hang);
    app.store.fail("acquire", Fault::Hang);
    let first = send(&app, "k", &gate, 500);
    tokio::time::sleep(SECOND / 2).await;
    // It hears nothing either, finds the first one running without a lease, and waits.
    let waiter = send(&app, "k", &gate, 201);
    gate.begun().await;
    tokio::time::sleep(SECOND).await;
    idle().await;
    gate.open(1);
    assert_eq!(status(first).await, 500);
    // The store panics at an attempt that was abandoned: the abandon may be late, and free this.
    gate.open(1);
    assert_eq!(status(waiter).await, 201);
    assert_eq!((app.outcomes("fail_open"), app.outcomes("granted")), (1, 1));
}
