//! Rule 4.8: a running handler keeps its key. Tokio's clock is paused and moves by itself when all
//! wait; the store's clock is turned along.

use std::time::Duration;

use futures_util::FutureExt;
use leasehold::{LeaseStore, RecordState, Ttl};
use leasehold_http::{HeldLease, Policy};
use tower::{Service, ServiceExt};

use crate::faulty::{Fault, Faulty};
use crate::support::{App, Gate, Seen, address, answer, order, problem};

fn policy() -> Policy {
    Policy::default().lease_ttl(Ttl::new(Duration::from_secs(30)).expect("a valid ttl"))
}

/// Lets both clocks run for so many seconds, one by one.
async fn pass<S: LeaseStore + Clone>(app: &App<S>, seconds: u32) {
    for _ in 0..seconds {
        app.clock.advance(Duration::from_secs(1));
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

/// The service around a handler that shows its lease, waits at a gate and then answers 201.
fn showing<S: LeaseStore + Clone>(
    app: &App<S>,
    gate: &Gate,
    leases: &Seen<HeldLease>,
) -> impl Future<Output = u16> + Send + 'static {
    let (gate, leases) = (gate.clone(), leases.clone());
    let service = app.service(move |request| {
        leases.push(request.extensions().get::<HeldLease>().expect("a lease").clone());
        let gate = gate.clone();
        async move {
            gate.pass().await;
            Ok(answer(201))
        }
    });
    async move { service.oneshot(order("k")).await.expect("no error").status().as_u16() }
}

#[tokio::test(start_paused = true)]
async fn a_long_handler_keeps_its_key_by_renewals_at_a_third() {
    let app = App::new(policy());
    let (gate, leases) = (Gate::default(), Seen::default());
    let first = tokio::spawn(showing(&app, &gate, &leases));
    gate.begun().await;
    let lease = leases.take().remove(0);
    let deadline = lease.deadline();
    for minute in 1..=10 {
        pass(&app, 60).await;
        assert_eq!(problem(app.send(order("k"), 201).await).await.2, "in-flight", "{minute}");
    }
    let renewals = app.sample("leasehold_renewals_total").expect("exported");
    assert!((59..=60).contains(&renewals), "{renewals} renewals in 600 s");
    assert!(lease.deadline() >= deadline + Duration::from_secs(580));
    gate.open(1);
    assert_eq!(first.await.expect("no panic"), 201);
    assert_eq!(problem(app.send(order("k"), 201).await).await.2, "duplicate");
    assert_eq!(app.sample("leasehold_lease_lost_total"), Some(0));
    assert!(!lease.is_lost());
}

#[tokio::test(start_paused = true)]
async fn renewals_go_on_after_the_client_has_gone() {
    let app = App::new(policy());
    let (gate, leases) = (Gate::default(), Seen::default());
    let first = tokio::spawn(showing(&app, &gate, &leases));
    gate.begun().await;
    first.abort();
    assert!(first.await.expect_err("aborted").is_cancelled());
    pass(&app, 100).await;
    assert_eq!(problem(app.send(order("k"), 201).await).await.2, "in-flight");
    gate.open(1);
    app.layer.running().idle().await;
    assert_eq!(problem(app.send(order("k"), 201).await).await.2, "duplicate");
}

#[tokio::test(start_paused = true)]
async fn the_heartbeat_stops_with_the_handler() {
    let app = Faulty::app(policy());
    let (gate, leases) = (Gate::default(), Seen::default());
    let first = tokio::spawn(showing(&app, &gate, &leases));
    gate.begun().await;
    pass(&app, 11).await;
    gate.open(1);
    assert_eq!(first.await.expect("no panic"), 201);
    pass(&app, 100).await;
    assert_eq!(app.store.calls.take(), ["acquire", "renew", "commit"]);
}

#[tokio::test(start_paused = true)]
async fn without_renewal_the_key_is_free_when_the_lease_ends() {
    let app = App::new(policy().renew(false));
    let (gate, leases) = (Gate::default(), Seen::default());
    let first = tokio::spawn(showing(&app, &gate, &leases));
    gate.begun().await;
    pass(&app, 31).await;
    assert_eq!(app.order("k", 201).await, 201);
    gate.open(1);
    assert_eq!(first.await.expect("no panic"), 201);
    assert_eq!(app.calls("renew"), 0);
    // The second run's commit stands; the first one's came too late, and its lease was lost.
    assert_eq!(problem(app.send(order("k"), 201).await).await.2, "duplicate");
    assert_eq!(app.sample("leasehold_lease_lost_total"), Some(1));
    assert_eq!(app.sample("leasehold_commit_errors_total"), Some(1));
    assert!(leases.take().remove(0).is_lost());
}

#[tokio::test(start_paused = true)]
async fn a_lost_lease_is_visible_and_counted_once() {
    let app = Faulty::app(policy());
    let (gate, leases) = (Gate::default(), Seen::default());
    let first = tokio::spawn(showing(&app, &gate, &leases));
    gate.begun().await;
    let lease = leases.take().remove(0);
    assert!(app.memory.forget(address("POST", "/orders", "k")).await.expect("memory answers"));
    pass(&app, 9).await;
    assert!(!lease.is_lost());
    pass(&app, 2).await;
    assert!(lease.is_lost());
    pass(&app, 100).await;
    gate.open(1);
    assert_eq!(first.await.expect("no panic"), 201);
    assert_eq!(app.sample("leasehold_lease_lost_total"), Some(1));
    // One renewal found out; then there were no more. The commit was tried all the same.
    assert_eq!(app.store.calls.take(), ["acquire", "renew", "commit"]);
}

#[tokio::test(start_paused = true)]
async fn a_renewal_that_fails_is_repeated_before_the_lease_ends() {
    let app = Faulty::app(policy());
    for fault in [Fault::LostBefore, Fault::Hang, Fault::LostBefore] {
        app.store.fail("renew", fault);
    }
    let (gate, leases) = (Gate::default(), Seen::default());
    let first = tokio::spawn(showing(&app, &gate, &leases));
    gate.begun().await;
    // Without the fourth renewal, the first to be heard, the lease would end at 30 s.
    pass(&app, 29).await;
    assert_eq!(app.sample("leasehold_renewals_total"), Some(1));
    pass(&app, 20).await;
    assert!(matches!(app.state("k").await, RecordState::InFlight { .. }));
    gate.open(1);
    assert_eq!(first.await.expect("no panic"), 201);
    assert_eq!(app.sample("leasehold_lease_lost_total"), Some(0));
    assert_eq!(app.verdicts("commit"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_handler_may_wait_for_the_loss_of_its_lease() {
    let app = App::new(policy());
    let service = app.service(|request| async move {
        let lease = request.extensions().get::<HeldLease>().expect("a lease").clone();
        // Dropped and made again, as in a loop.
        assert!(tokio::time::timeout(Duration::from_secs(1), lease.lost()).await.is_err());
        lease.lost().await;
        Ok(answer(500))
    });
    let first = tokio::spawn(service.oneshot(order("k")));
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(app.memory.forget(address("POST", "/orders", "k")).await.expect("memory answers"));
    assert_eq!(first.await.expect("no panic").expect("no error").status(), 500);
    assert_eq!(app.sample("leasehold_lease_lost_total"), Some(1));
}

#[tokio::test(start_paused = true)]
async fn a_renewal_that_hangs_delays_no_other() {
    let app = Faulty::app(policy().store_timeout(Duration::from_secs(600)));
    app.store.fail("renew", Fault::Hang);
    let gate = Gate::default();
    let calls = |key: String| tokio::spawn(app.gated(&gate).oneshot(order(&key)));
    let runs: Vec<_> = (0..50).map(|number| calls(format!("k-{number}"))).collect();
    for _ in 0..50 {
        gate.begun().await;
    }
    pass(&app, 35).await;
    // One of them hangs, and its lease has ended by now. The others were renewed three times.
    assert_eq!(app.sample("leasehold_renewals_total"), Some(49 * 3));
    let mut free = 0;
    for number in 0..50 {
        free += usize::from(app.state(&format!("k-{number}")).await == RecordState::Free);
    }
    assert_eq!(free, 1);
    gate.open(50);
    for run in runs {
        assert_eq!(run.await.expect("no panic").expect("no error").status(), 201);
    }
}

#[tokio::test(start_paused = true)]
async fn a_verdict_does_not_wait_for_a_renewal_that_hangs() {
    for fault in [Fault::Hang, Fault::HangAfter] {
        let app = Faulty::app(policy().store_timeout(Duration::from_secs(600)));
        app.store.fail("renew", fault);
        let gate = Gate::default();
        let run = tokio::spawn(app.gated(&gate).oneshot(order("k")));
        gate.begun().await;
        pass(&app, 12).await;
        let begun = tokio::time::Instant::now();
        gate.open(1);
        assert_eq!(run.await.expect("no panic").expect("no error").status(), 201);
        assert!(begun.elapsed() < Duration::from_millis(10), "{:?}", begun.elapsed());
        assert_eq!(app.store.calls.take(), ["acquire", "renew", "commit"]);
        assert!(matches!(app.state("k").await, RecordState::Completed { .. }));
    }
}

#[tokio::test(start_paused = true)]
async fn a_hold_waits_for_the_renewal_that_is_under_way_so_that_its_end_is_the_last_word() {
    let app = Faulty::app(policy());
    let (gate, late) = (Gate::default(), Gate::default());
    app.store.fail("renew", Fault::Late(late.clone()));
    let at = gate.clone();
    let service = app.service(move |_| {
        let gate = at.clone();
        async move {
            gate.pass().await;
            let mut response = answer(500);
            response.extensions_mut().insert(leasehold::Verdict::Hold);
            Ok(response)
        }
    });
    let mut run = tokio::spawn(service.oneshot(order("k")));
    gate.begun().await;
    app.clock.advance(Duration::from_secs(10));
    tokio::time::sleep(Duration::from_secs(10)).await;
    late.begun().await;
    gate.open(1);
    assert!(tokio::time::timeout(Duration::from_millis(500), &mut run).await.is_err());
    late.open(1);
    assert_eq!(run.await.expect("no panic").expect("no error").status(), 500);
    assert_eq!(app.store.calls.take(), ["acquire", "renew", "renew"]);
}

#[tokio::test(start_paused = true)]
async fn leases_of_several_lengths_are_each_renewed_at_their_third() {
    let long = Policy::default().lease_ttl(Ttl::new(Duration::from_secs(300)).expect("valid"));
    let pattern = leasehold_http::Pattern::parse("/long").expect("valid");
    let app = App::with_routes(leasehold_http::Routes::new(policy()).route(pattern, long));
    let gate = Gate::default();
    let long = crate::support::request(http::Method::POST, "/long", "k");
    let runs = [long, order("k")].map(|request| tokio::spawn(app.gated(&gate).oneshot(request)));
    gate.begun().await;
    gate.begun().await;
    pass(&app, 95).await;
    assert_eq!(app.sample("leasehold_renewals_total"), Some(9));
    pass(&app, 10).await;
    assert_eq!(app.sample("leasehold_renewals_total"), Some(11));
    gate.open(2);
    for run in runs {
        assert_eq!(run.await.expect("no panic").expect("no error").status(), 201);
    }
}

/// A runtime with one thread, which is this one.
fn single() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().start_paused(true).build().expect("a runtime")
}

#[test]
fn a_layer_keeps_its_heartbeat_when_a_runtime_is_gone_or_stands_still() {
    let app = App::new(policy());
    let gate = Gate::default();
    let run = |runtime: &tokio::runtime::Runtime, key: &str, renewals: u64| {
        runtime.block_on(async {
            let before = app.sample("leasehold_renewals_total").expect("exported");
            let run = tokio::spawn(app.gated(&gate).oneshot(order(key)));
            gate.begun().await;
            pass(&app, 61).await;
            let after = app.sample("leasehold_renewals_total").expect("exported");
            assert_eq!(after - before, renewals, "{key}");
            gate.open(1);
            assert_eq!(run.await.expect("no panic").expect("no error").status(), 201);
        });
    };
    let gone = single();
    run(&gone, "a", 6);
    drop(gone);
    let still = single();
    run(&still, "b", 6);
    // Neither dropped nor driven, with its task asleep.
    run(&single(), "c", 6);
    run(&still, "d", 6);
}

#[test]
fn what_runs_elsewhere_is_renewed_when_the_runtime_that_renewed_it_has_gone() {
    let app = App::new(policy());
    let gate = Gate::default();
    let (first, second) = (single(), single());
    let mut response = app.gated(&gate).call(order("a"));
    first.block_on(async { assert!((&mut response).now_or_never().is_none()) });
    second.block_on(async {
        let other = tokio::spawn(app.gated(&gate).oneshot(order("b")));
        let response = tokio::spawn(response);
        gate.begun().await;
        gate.begun().await;
        tokio::task::spawn_blocking(move || drop(first)).await.expect("no panic");
        pass(&app, 61).await;
        assert_eq!(app.sample("leasehold_renewals_total"), Some(12));
        gate.open(2);
        assert_eq!(other.await.expect("no panic").expect("no error").status(), 201);
        assert_eq!(response.await.expect("no panic").expect("no error").status(), 201);
    });
}

#[test]
fn a_handler_that_blocks_its_thread_is_renewed_by_another() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let ttl = Ttl::new(Duration::from_millis(60)).expect("valid");
        let app = App::new(Policy::default().lease_ttl(ttl));
        let metrics = app.metrics.clone();
        let service = app.service(move |_| {
            let metrics = metrics.clone();
            async move {
                let mut registry = prometheus_client::registry::Registry::default();
                metrics.register(&mut registry);
                let begun = tokio::time::Instant::now();
                // In its first poll, without a pause in which its worker could do something else.
                loop {
                    let mut text = String::new();
                    prometheus_client::encoding::text::encode(&mut text, &registry).expect("text");
                    if text.contains("leasehold_renewals_total 3\n") {
                        return Ok(answer(201));
                    }
                    assert!(begun.elapsed() < Duration::from_secs(20), "never renewed");
                    std::thread::yield_now();
                }
            }
        });
        let run = tokio::spawn(service.oneshot(order("k")));
        assert_eq!(run.await.expect("no panic").expect("no error").status(), 201);
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn under_renewals_all_the_time_every_lease_is_settled_once() {
    // Shorter than any timer: each is renewed as often as the runtime can.
    let app = Faulty::app(
        Policy::default().lease_ttl(Ttl::new(Duration::from_millis(1)).expect("valid")),
    );
    let mut runs = tokio::task::JoinSet::new();
    for number in 0..200 {
        let service = app.service(move |_| async move {
            tokio::time::sleep(Duration::from_millis(number % 7)).await;
            Ok(answer(if number % 2 == 0 { 201 } else { 500 }))
        });
        runs.spawn(service.oneshot(order(&format!("k-{number}"))));
    }
    while let Some(run) = runs.join_next().await {
        run.expect("no panic").expect("no error");
    }
    let calls = app.store.calls.take();
    let count = |verb| calls.iter().filter(|call| **call == verb).count();
    assert_eq!((count("acquire"), count("commit"), count("release")), (200, 100, 100));
    assert!(count("renew") > 0);
    assert_eq!(app.sample("leasehold_lease_lost_total"), Some(0));
}

#[test]
fn a_runtime_that_is_not_driven_in_mid_renewal_holds_up_no_response() {
    let runtime = || {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_all().build().expect("a runtime")
    };
    let (stalled, driven) = (runtime(), runtime());
    let short = Ttl::new(Duration::from_millis(30)).expect("a valid ttl");
    let policy = Policy::default().lease_ttl(short).store_timeout(Duration::from_millis(10));
    let app = Faulty::app(policy);
    let (gate, renewals) = (Gate::default(), Gate::default());
    let mut first = app.gated(&gate).call(order("k"));
    stalled.block_on(async {
        app.store.fail("renew", Fault::Late(renewals.clone()));
        assert!((&mut first).now_or_never().is_none());
        renewals.begun().await;
    });
    // The lease is out for a renewal that nobody drives any more.
    driven.block_on(async {
        gate.open(1);
        let first = tokio::time::timeout(Duration::from_secs(20), first).await;
        assert_eq!(first.expect("not held up").expect("no error").status(), 201);
        // Its success is recorded under another lease, and nobody runs meanwhile.
        assert_eq!(app.layer.pending_commits().count(), 1);
        let again = app.send(order("k"), 201).await;
        assert_eq!(problem(again).await.2, "duplicate");
    });
}
