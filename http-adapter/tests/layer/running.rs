//! Rule 4.6: the bound on running requests; and a server's shutdown (rule 4.3).

use leasehold_http::{IdempotentLayer, Policy, UnknownOutcome};
use tower::{Layer, Service, ServiceExt};

use futures_util::FutureExt;
use http::Method;

use crate::support::{App, Gate, answer, keyless, order, problem};

/// The same application, with at most one request at once.
fn narrow(mut app: App) -> App {
    app.layer = app.layer.max_running(1);
    app
}

#[tokio::test]
async fn beyond_the_bound_requests_are_refused_before_the_store_is_asked() {
    let app = narrow(App::new(Policy::default()));
    let gate = Gate::default();
    let first = tokio::spawn(app.gated(&gate).oneshot(order("a")));
    gate.begun().await;
    let refused = app.send(order("b"), 201).await;
    assert_eq!(refused.headers()["retry-after"], "1");
    assert_eq!(problem(refused).await, (503, 50310, "overloaded".to_owned()));
    assert_eq!((app.calls("acquire"), app.sample("leasehold_running")), (1, Some(1)));
    // What needs no place passes.
    assert_eq!(app.send(keyless(Method::GET, "/orders"), 200).await.status(), 200);
    assert_eq!(app.order("not a key", 201).await, 400);
    gate.open(1);
    assert_eq!(first.await.expect("no panic").expect("no error").status(), 201);
    assert_eq!(app.order("b", 201).await, 201);
    assert_eq!(app.sample("leasehold_running"), Some(0));
}

#[tokio::test]
async fn handlers_whose_client_has_gone_count_against_the_bound() {
    let app = narrow(App::new(Policy::default()));
    let gate = Gate::default();
    let mut response = app.gated(&gate).call(order("a"));
    assert!((&mut response).now_or_never().is_none());
    drop(response);
    assert_eq!(problem(app.send(order("b"), 201).await).await.2, "overloaded");
    gate.begun().await;
    gate.open(1);
    app.layer.running().idle().await;
    assert_eq!(app.order("b", 201).await, 201);
}

#[tokio::test]
async fn services_of_one_layer_share_the_bound() {
    let app = narrow(App::new(Policy::default()));
    let other: IdempotentLayer<_> = app.layer.clone();
    let gate = Gate::default();
    let first = tokio::spawn(app.gated(&gate).oneshot(order("a")));
    gate.begun().await;
    let service = other
        .layer(tower::service_fn(|_| async { Ok::<_, std::convert::Infallible>(answer(200)) }));
    let refused = service.oneshot(order("b")).await.expect("no error");
    assert_eq!(problem(refused).await.2, "overloaded");
    gate.open(1);
    assert!(first.await.expect("no panic").is_ok());
}

#[tokio::test]
async fn a_handler_that_is_cut_is_an_unknown_outcome() {
    for (policy, then) in [
        (Policy::default(), Some("in-flight")),
        (Policy::default().on_unknown_outcome(UnknownOutcome::Release), None),
    ] {
        let app = App::new(policy);
        let gate = Gate::default();
        let here = tokio::spawn(app.gated(&gate).oneshot(order("here")));
        let mut gone = app.gated(&gate).call(order("gone"));
        assert!((&mut gone).now_or_never().is_none());
        drop(gone);
        gate.begun().await;
        gate.begun().await;
        let running = app.layer.running();
        assert_eq!(running.count(), 2);
        running.cut();
        running.idle().await;
        let answer = here.await.expect("no panic").expect("no error");
        assert_eq!(problem(answer).await, (504, 50410, "gateway-timeout".to_owned()));
        assert_eq!(problem(app.send(order("new"), 201).await).await.2, "overloaded");
        let verdict = if then.is_some() { "hold" } else { "release" };
        assert_eq!(app.verdicts(verdict), 2);
        for key in ["here", "gone"] {
            let free = app.state(key).await == leasehold::RecordState::Free;
            assert_eq!(free, then.is_none(), "{key}");
        }
    }
}
