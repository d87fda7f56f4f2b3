//! Rule 4.6b, `cancel`: a handler whose client has gone is dropped, and its key is free; and that
//! every lease is settled once, whoever goes or fails when.

use std::time::Duration;

use futures_util::FutureExt;
use leasehold::{LeaseStore, RecordState};
use leasehold_http::{Idempotent, OnDisconnect, Policy, UnknownOutcome};
use tower::{Service, ServiceExt};

use crate::faulty::{Fault, Faulty};
use crate::support::{App, Gate, Handler, Seen, answer, order, problem};

fn policy() -> Policy {
    // The rule for unknown outcomes is none of a cancelled handler's business.
    Policy::default().on_disconnect(OnDisconnect::Cancel).on_unknown_outcome(UnknownOutcome::Hold)
}

/// Notes when it is dropped.
struct Ends(Seen<&'static str>);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.push("dropped");
    }
}

/// A handler that waits at a gate, and whose end is noted.
fn watched<S: LeaseStore + Clone>(
    app: &App<S>,
    gate: &Gate,
    ends: &Seen<&'static str>,
) -> Idempotent<Handler, S> {
    let (gate, ends) = (gate.clone(), ends.clone());
    app.service(move |_| {
        let (gate, ends) = (gate.clone(), Ends(ends.clone()));
        async move {
            gate.pass().await;
            drop(ends);
            Ok(answer(201))
        }
    })
}

#[tokio::test]
async fn a_handler_whose_client_has_gone_is_dropped_and_its_key_released_once() {
    let app = Faulty::app(policy());
    let (gate, ends) = (Gate::default(), Seen::default());
    let mut response = watched(&app, &gate, &ends).call(order("k"));
    assert!((&mut response).now_or_never().is_none());
    gate.begun().await;
    assert_eq!(ends.len(), 0);
    drop(response);
    app.layer.running().idle().await;
    assert_eq!(ends.take(), ["dropped"]);
    assert_eq!(app.state("k").await, RecordState::Free);
    assert_eq!(app.store.calls.take(), ["acquire", "release"]);
    assert_eq!((app.verdicts("release"), app.verdicts("hold"), app.verdicts("commit")), (1, 0, 0));
    assert_eq!(app.order("k", 201).await, 201);
}

#[tokio::test]
async fn a_handler_that_could_end_is_not_polled_again_once_its_client_has_gone() {
    let app = Faulty::app(policy());
    let (gate, ends) = (Gate::default(), Seen::default());
    let mut response = watched(&app, &gate, &ends).call(order("k"));
    assert!((&mut response).now_or_never().is_none());
    gate.open(1);
    drop(response);
    app.layer.running().idle().await;
    assert_eq!(app.store.calls.take(), ["acquire", "release"]);
    assert_eq!(app.verdicts("release"), 1);
}

#[tokio::test]
async fn a_client_that_goes_before_its_acquire_is_answered_leaves_no_lease_and_nothing_runs() {
    let app = Faulty::app(policy());
    let gate = Gate::default();
    app.store.fail("acquire", Fault::Late(gate.clone()));
    let ran = Seen::default();
    let mut service = app.service({
        let ran = ran.clone();
        move |_| {
            ran.push(());
            async { Ok(answer(201)) }
        }
    });
    let mut response = service.call(order("k"));
    assert!((&mut response).now_or_never().is_none());
    gate.begun().await;
    assert!(matches!(app.state("k").await, RecordState::InFlight { .. }));
    drop(response);
    gate.open(1);
    app.layer.running().idle().await;
    assert_eq!(app.state("k").await, RecordState::Free);
    assert_eq!(app.store.calls.take(), ["acquire", "release"]);
    assert_eq!((ran.len(), app.verdicts("release"), app.outcomes("granted")), (0, 1, 1));
}

#[tokio::test]
async fn a_client_that_goes_after_the_handlers_end_changes_no_verdict() {
    for (status, verb) in [(201, "commit"), (500, "release")] {
        let app = Faulty::app(policy());
        let gate = Gate::default();
        app.store.fail(verb, Fault::Late(gate.clone()));
        let mut service = app.service(move |_| async move { Ok(answer(status)) });
        let mut response = service.call(order("k"));
        assert!((&mut response).now_or_never().is_none());
        gate.begun().await;
        drop(response);
        gate.open(1);
        app.layer.running().idle().await;
        assert_eq!(app.store.calls.take(), ["acquire", verb]);
        assert_eq!(app.verdicts(verb), 1);
        let kept = matches!(app.state("k").await, RecordState::Completed { .. });
        assert_eq!(kept, status == 201);
    }
}

#[tokio::test]
async fn a_response_that_is_ready_and_never_taken_is_settled_all_the_same() {
    for policy in [Policy::default(), policy()] {
        let app = Faulty::app(policy);
        let response = app.service(|_| async { Ok(answer(201)) }).call(order("k"));
        // Ready, and dropped unread.
        drop(response.now_or_never().expect("ready at once"));
        app.layer.running().idle().await;
        assert_eq!(app.store.calls.take(), ["acquire", "commit"]);
        assert!(matches!(app.state("k").await, RecordState::Completed { .. }));
    }
}

#[tokio::test]
async fn a_handler_that_panics_when_it_is_dropped_is_settled_all_the_same() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            if !std::thread::panicking() {
                std::panic::resume_unwind(Box::new("in the drop"));
            }
        }
    }
    for cancel in [true, false] {
        let app = Faulty::app(policy());
        let gate = Gate::default();
        let at = gate.clone();
        let mut service = app.service(move |_| {
            let gate = at.clone();
            async move {
                let bomb = Bomb;
                gate.pass().await;
                drop(bomb);
                Ok(answer(201))
            }
        });
        let mut response = service.call(order("k"));
        assert!((&mut response).now_or_never().is_none());
        let verb = if cancel {
            drop(response);
            "release"
        } else {
            app.layer.running().cut();
            assert_eq!(response.await.expect("no error").status(), 504);
            "renew"
        };
        app.layer.running().idle().await;
        assert_eq!(app.store.calls.take(), ["acquire", verb]);
        assert_eq!(app.verdicts("release") + app.verdicts("hold"), 1);
    }
}

#[tokio::test]
async fn a_panic_above_the_layer_counts_as_the_clients_going() {
    for (policy, verb) in [(Policy::default(), "commit"), (policy(), "release")] {
        let app = Faulty::app(policy);
        let gate = Gate::default();
        let mut response = app.gated(&gate).call(order("k"));
        let above = tokio::spawn(async move {
            assert!((&mut response).now_or_never().is_none());
            let _dropped_while_unwinding = response;
            std::panic::resume_unwind(Box::new("above"));
        });
        assert!(above.await.expect_err("a panic").is_panic());
        gate.open(1);
        app.layer.running().idle().await;
        assert_eq!(app.store.calls.take(), ["acquire", verb]);
        assert_eq!(app.verdicts(verb), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_release_that_fails_is_made_once_and_the_lease_runs_out() {
    for fault in [Fault::LostBefore, Fault::Hang] {
        let app = Faulty::app(policy());
        app.store.fail("release", fault);
        let gate = Gate::default();
        let mut response = app.gated(&gate).call(order("k"));
        assert!((&mut response).now_or_never().is_none());
        drop(response);
        app.layer.running().idle().await;
        assert_eq!(app.store.calls.take(), ["acquire", "release"]);
        assert_eq!(app.sample("leasehold_release_errors_total"), Some(1));
        app.clock.advance(Duration::from_secs(31));
        assert_eq!(app.state("k").await, RecordState::Free);
    }
}

#[test]
fn a_runtime_that_ends_leaves_leases_that_end_by_themselves() {
    for policy in [Policy::default(), policy()] {
        let app = Faulty::app(policy);
        let (gate, ends) = (Gate::default(), Seen::default());
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let runtime = runtime.expect("a runtime");
        let mut service = watched(&app, &gate, &ends);
        runtime.block_on(async {
            // One is owned by a task of the runtime, one by nobody in it.
            let mut here = service.call(order("here"));
            assert!((&mut here).now_or_never().is_none());
            let mut there = service.call(order("there"));
            tokio::spawn(async move {
                let _pending = (&mut there).await;
            });
            gate.begun().await;
            gate.begun().await;
            tokio::spawn(async move {
                let _pending = here.await;
            });
        });
        drop(runtime);
        assert_eq!(ends.take(), ["dropped", "dropped"]);
        assert_eq!(app.layer.running().count(), 0);
        assert_eq!(app.store.calls.take(), ["acquire", "acquire"]);
        let again = tokio::runtime::Builder::new_current_thread().enable_all().build();
        again.expect("a runtime").block_on(async {
            for key in ["here", "there"] {
                assert_eq!(problem(app.send(order(key), 201).await).await.2, "in-flight");
            }
            app.clock.advance(Duration::from_secs(31));
            for key in ["here", "there"] {
                assert_eq!(app.order(key, 201).await, 201);
            }
        });
    }
}

#[tokio::test]
async fn requests_that_wait_for_nothing_are_the_same_as_ever() {
    let app = App::new(policy());
    assert_eq!(app.order("k", 500).await, 500);
    assert_eq!(app.order("k", 201).await, 201);
    assert_eq!(app.order("k", 201).await, 409);
    let ready = app.service(|_| async { Ok(answer(201)) });
    assert_eq!(ready.oneshot(order("l")).await.expect("no error").status(), 201);
}
