//! Rule 4.6, `finish`: a handler whose client has gone runs to its end, and its verdict counts.

use futures_util::FutureExt;
use leasehold::RecordState;
use leasehold_http::Policy;
use tower::{Service, ServiceExt};

use crate::faulty::{Fault, Faulty};
use crate::support::{App, Failure, Gate, answer, order, problem};

#[tokio::test]
async fn a_handler_whose_client_has_gone_finishes_and_commits() {
    let app = App::new(Policy::default());
    let gate = Gate::default();
    let mut response = app.gated(&gate).call(order("k"));
    assert!((&mut response).now_or_never().is_none());
    gate.begun().await;
    drop(response);
    assert_eq!(problem(app.send(order("k"), 201).await).await.2, "in-flight");
    assert_eq!((app.layer.running().count(), app.sample("leasehold_running")), (1, Some(1)));
    gate.open(1);
    app.layer.running().idle().await;
    assert_eq!(problem(app.send(order("k"), 201).await).await.2, "duplicate");
    assert_eq!((app.verdicts("commit"), app.outcomes("granted")), (1, 1));
}

#[tokio::test]
async fn a_failure_after_the_client_has_gone_frees_the_key() {
    let app = App::new(Policy::default());
    let gate = Gate::default();
    for end in ["status", "error", "panic"] {
        let at = gate.clone();
        let mut service = app.service(move |_| {
            let gate = at.clone();
            async move {
                gate.pass().await;
                match end {
                    "status" => Ok(answer(500)),
                    "error" => Err(Failure("broken")),
                    _ => panic!("broken"),
                }
            }
        });
        let mut response = service.call(order("k"));
        assert!((&mut response).now_or_never().is_none());
        drop(response);
        gate.begun().await;
        gate.open(1);
        app.layer.running().idle().await;
        assert_eq!(app.state("k").await, RecordState::Free, "{end}");
    }
    assert_eq!((app.verdicts("release"), app.verdicts("commit")), (3, 0));
}

#[tokio::test]
async fn a_request_dropped_before_its_acquire_is_answered_leaves_no_lease() {
    let app = Faulty::app(Policy::default());
    let gate = Gate::default();
    app.store.fail("acquire", Fault::Late(gate.clone()));
    let mut service = app.service(|_| async { Ok(answer(500)) });
    let mut response = service.call(order("k"));
    assert!((&mut response).now_or_never().is_none());
    gate.begun().await;
    drop(response);
    assert!(matches!(app.state("k").await, RecordState::InFlight { .. }));
    gate.open(1);
    app.layer.running().idle().await;
    assert_eq!(app.state("k").await, RecordState::Free);
    assert_eq!(app.store.calls.take(), ["acquire", "release"]);
}

#[tokio::test]
async fn a_response_that_was_never_polled_has_done_nothing() {
    let app = App::new(Policy::default());
    drop(app.gated(&Gate::default()).call(order("k")));
    app.layer.running().idle().await;
    assert_eq!((app.state("k").await, app.calls("acquire")), (RecordState::Free, 0));
}

#[test]
fn without_a_runtime_at_the_drop_the_lease_ends_by_itself() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build();
    let app = App::new(Policy::default());
    let gate = Gate::default();
    let mut response = app.gated(&gate).call(order("k"));
    runtime().expect("a runtime").block_on(async {
        assert!((&mut response).now_or_never().is_none());
    });
    drop(response);
    assert_eq!(app.layer.running().count(), 0);
    runtime().expect("a runtime").block_on(async {
        assert_eq!(problem(app.send(order("k"), 201).await).await.2, "in-flight");
        app.clock.advance(std::time::Duration::from_secs(31));
        assert_eq!(app.order("k", 201).await, 201);
    });
}

#[tokio::test]
async fn a_finished_response_stays_pending_when_it_is_polled_again() {
    let app = App::new(Policy::default());
    let mut service = app.service(|_| async { Ok(answer(201)) });
    for request in [order("k"), order("")] {
        let mut response = service.ready().await.expect("always ready").call(request);
        assert!((&mut response).now_or_never().is_some());
        assert!((&mut response).now_or_never().is_none());
    }
}
