//! Rule 4.8: a running handler keeps its key. Tokio's clock is paused and moves by itself when all
//! wait; the store's clock is turned along.

use std::time::Duration;

use leasehold::{LeaseStore, RecordState, Ttl};
use leasehold_http::{HeldLease, Policy};
use tower::ServiceExt;

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
