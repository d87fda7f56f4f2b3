//! Rules 4.1 to 4.5: what a handler's end does to its key.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt;
use leasehold::{RecordState, Ttl, Verdict};
use leasehold_http::{OutcomeUnknown, Policy, UnknownOutcome};
use tower::{Service, ServiceExt};

use crate::support::{App, Body, Failure, Gate, Seen, Sent, answer, order, problem};

fn seconds(seconds: u64) -> Ttl {
    Ttl::new(Duration::from_secs(seconds)).expect("a valid ttl")
}

#[tokio::test]
async fn success_and_redirection_keep_the_key() {
    let app = App::new(Policy::default());
    for status in [200, 201, 204, 299, 301, 303, 307] {
        let key = format!("k-{status}");
        assert_eq!(app.order(&key, status).await, status);
        assert_eq!(app.order(&key, status).await, 409);
    }
    assert_eq!((app.verdicts("commit"), app.verdicts("release")), (7, 0));
}

#[tokio::test]
async fn every_other_status_frees_the_key() {
    let app = App::new(Policy::default());
    for status in [400, 401, 404, 409, 422, 429, 500, 502, 503, 504] {
        let key = format!("k-{status}");
        assert_eq!(app.order(&key, status).await, status);
        assert_eq!(app.order(&key, 201).await, 201);
        assert_eq!(app.order(&key, 201).await, 409);
    }
    assert_eq!((app.verdicts("commit"), app.verdicts("release")), (10, 10));
}

#[tokio::test]
async fn the_ttl_counts_from_the_commit_and_then_frees_the_key() {
    let app = App::new(Policy::default().ttl(seconds(10)).lease_ttl(seconds(60)));
    let service = app.service({
        let clock = app.clock.clone();
        move |_| {
            // The handler takes longer than the key is kept.
            clock.advance(Duration::from_secs(20));
            async { Ok(answer(201)) }
        }
    });
    service.oneshot(order("k")).await.expect("the handler does not fail");
    app.clock.advance(Duration::from_secs(9));
    assert_eq!(app.order("k", 201).await, 409);
    app.clock.advance(Duration::from_secs(2));
    assert_eq!(app.order("k", 201).await, 201);
}

#[tokio::test]
async fn the_verdict_is_settled_before_the_response_is_there() {
    // One poll is enough with the memory store, and after it the key is settled.
    let app = App::new(Policy::default());
    for (status, committed) in [(200, true), (500, false)] {
        let mut service = app.service(move |_| async move { Ok(answer(status)) });
        let mut response = service.call(order("k"));
        let first = (&mut response).now_or_never().expect("ready at once").expect("no error");
        assert_eq!(first.status(), status);
        let state = app.state("k").await;
        assert_eq!(matches!(state, RecordState::Completed { .. }), committed, "{state:?}");
        app.clock.advance(Duration::from_secs(25 * 60 * 60));
    }
}

#[tokio::test]
async fn the_handlers_own_verdict_wins() {
    let app = App::new(Policy::default());
    for (status, verdict, then) in [
        (500, Verdict::Commit, "duplicate"),
        (500, Verdict::Hold, "in-flight"),
        (200, Verdict::Hold, "in-flight"),
    ] {
        let key = format!("{status}-{verdict:?}");
        let service = app.service(move |_| async move {
            let mut response = answer(status);
            response.extensions_mut().insert(verdict);
            Ok(response)
        });
        let first = service.oneshot(order(&key)).await.expect("the handler does not fail");
        assert_eq!(first.status(), status);
        assert_eq!(problem(app.send(order(&key), 201).await).await.2, then);
    }
    let service = app.service(|_| async {
        let mut response = answer(200);
        response.extensions_mut().insert(Verdict::Release);
        Ok(response)
    });
    service.oneshot(order("free")).await.expect("the handler does not fail");
    assert_eq!(app.order("free", 201).await, 201);
}

#[tokio::test]
async fn a_hold_ends_after_its_own_time_and_not_before() {
    let policy = Policy::default().hold_ttl(seconds(100)).lease_ttl(seconds(10));
    let app = App::new(policy);
    let service = app.service(|_| async {
        let mut response = answer(504);
        response.extensions_mut().insert(OutcomeUnknown);
        Ok(response)
    });
    service.oneshot(order("k")).await.expect("the handler does not fail");
    app.clock.advance(Duration::from_secs(99));
    assert_eq!(problem(app.send(order("k"), 201).await).await.2, "in-flight");
    app.clock.advance(Duration::from_secs(2));
    assert_eq!(app.order("k", 201).await, 201);
    assert_eq!((app.verdicts("hold"), app.verdicts("commit")), (1, 1));
    assert_eq!(app.sample("leasehold_renewals_total"), Some(0));
}

#[tokio::test]
async fn an_unknown_outcome_frees_the_key_where_the_policy_says_so() {
    let app = App::new(Policy::default().on_unknown_outcome(UnknownOutcome::Release));
    let service = app.service(|_| async {
        let mut response = answer(504);
        response.extensions_mut().insert(OutcomeUnknown);
        Ok(response)
    });
    service.oneshot(order("k")).await.expect("the handler does not fail");
    assert_eq!(app.order("k", 201).await, 201);
}

#[tokio::test]
async fn an_error_frees_the_key_and_passes_unchanged() {
    let app = App::new(Policy::default());
    let service = app.service(|_| async { Err(Failure("broken")) });
    assert_eq!(service.oneshot(order("k")).await.expect_err("an error"), Failure("broken"));
    assert_eq!(app.state("k").await, RecordState::Free);
    assert_eq!(app.verdicts("release"), 1);
}

#[tokio::test]
async fn a_panic_frees_the_key_and_goes_on_unwinding() {
    let app = App::new(Policy::default());
    let early = app.service(|_| -> std::future::Ready<_> { panic!("in the call") });
    let late = app.service(|_| async {
        tokio::task::yield_now().await;
        panic!("in the future")
    });
    for (service, message) in [(early, "in the call"), (late, "in the future")] {
        let response = AssertUnwindSafe(service.oneshot(order("k")));
        let panic = response.catch_unwind().await.expect_err("a panic");
        assert_eq!(panic.downcast_ref::<&str>(), Some(&message));
        assert_eq!(app.state("k").await, RecordState::Free);
    }
    assert_eq!((app.verdicts("release"), app.sample("leasehold_running")), (2, Some(0)));
    assert_eq!(app.order("k", 201).await, 201);
}

#[tokio::test]
async fn a_release_that_comes_too_late_leaves_the_next_runs_key_alone() {
    let app = App::new(Policy::default().renew(false));
    let gate = Gate::default();
    let at = gate.clone();
    let service = app.service(move |_| {
        let gate = at.clone();
        async move {
            gate.pass().await;
            Ok(answer(500))
        }
    });
    let first = tokio::spawn(service.oneshot(order("k")));
    gate.begun().await;
    app.clock.advance(Duration::from_secs(31));
    assert_eq!(app.order("k", 201).await, 201);
    gate.open(1);
    assert_eq!(first.await.expect("no panic").expect("no error").status(), 500);
    assert!(matches!(app.state("k").await, RecordState::Completed { .. }));
    assert_eq!(app.sample("leasehold_lease_lost_total"), Some(1));
    assert_eq!(app.sample("leasehold_release_errors_total"), Some(1));
}

/// Usable only by the instance that was made ready: its clones are not.
struct Readied(bool);

impl Clone for Readied {
    fn clone(&self) -> Self {
        Self(false)
    }
}

impl Service<http::Request<Sent>> for Readied {
    type Response = http::Response<Body>;
    type Error = Failure;
    type Future = std::future::Ready<Result<http::Response<Body>, Failure>>;

    fn poll_ready(
        &mut self,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Result<(), Failure>> {
        self.0 = true;
        std::task::Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: http::Request<Sent>) -> Self::Future {
        assert!(std::mem::take(&mut self.0), "called without being ready");
        std::future::ready(Ok(answer(200)))
    }
}

#[tokio::test]
async fn the_instance_that_was_made_ready_is_the_one_that_is_called() {
    let app = App::new(Policy::default());
    let mut service = tower::Layer::layer(&app.layer, Readied(false));
    let statuses = Seen::default();
    for request in [order("a"), order("b"), http::Request::new(Body::default())] {
        let ready = service.ready().await.expect("always ready");
        let response = ready.call(request).await.expect("the handler does not fail");
        statuses.push(response.status().as_u16());
    }
    assert_eq!(statuses.take(), [200, 200, 200]);
}
