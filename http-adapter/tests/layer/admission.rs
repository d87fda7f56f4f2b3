//! Section 3: what each answer of the store's means for the client.

use std::time::Duration;

use http::Method;
use leasehold::{LeaseStore, MemoryConfig, RecordState, Ttl};
use leasehold_http::{HeldLease, Policy, Routes};
use tower::ServiceExt;

use crate::faulty::Faulty;
use crate::support::{App, Gate, Seen, address, answer, order, problem, request, text};

#[tokio::test]
async fn the_first_request_runs_and_its_response_passes_unchanged() {
    let app = App::new(Policy::default());
    let service = app.service(|_| async {
        let mut response = answer(201);
        for value in ["1", "2"] {
            response.headers_mut().append("x-a", value.parse().expect("a valid value"));
        }
        Ok(response)
    });
    let answer = service.oneshot(order("k")).await.expect("the handler does not fail");
    assert_eq!(answer.status(), 201);
    assert_eq!(answer.headers().get_all("x-a").iter().collect::<Vec<_>>(), ["1", "2"]);
    assert_eq!(text(answer).await, "handled");
    assert_eq!((app.outcomes("granted"), app.calls("acquire"), app.calls("commit")), (1, 1, 1));
}

#[tokio::test]
async fn a_duplicate_of_a_success_is_409_with_retry_hints() {
    let app = App::new(Policy::default());
    assert_eq!(app.order("k", 201).await, 201);
    for _ in 0..3 {
        let answer = app.send(order("k"), 201).await;
        for hint in ["stripe-should-retry", "x-should-retry"] {
            assert_eq!(answer.headers()[hint], "false");
        }
        assert!(!answer.headers().contains_key("retry-after"));
        assert_eq!(problem(answer).await, (409, 40910, "duplicate".to_owned()));
    }
    assert_eq!((app.outcomes("granted"), app.outcomes("duplicate")), (1, 3));
}

#[tokio::test]
async fn retry_hints_can_be_turned_off() {
    let app = App::new(Policy::default().retry_hints(false));
    app.order("k", 201).await;
    let answer = app.send(order("k"), 201).await;
    assert_eq!(answer.status(), 409);
    assert!(!answer.headers().contains_key("stripe-should-retry"));
    assert!(!answer.headers().contains_key("x-should-retry"));
}

#[tokio::test]
async fn a_duplicate_of_a_running_request_is_409_with_a_fixed_retry_after() {
    let app = App::new(Policy::default());
    let gate = Gate::default();
    let first = tokio::spawn(app.gated(&gate).oneshot(order("k")));
    gate.begun().await;
    let second = app.send(order("k"), 201).await;
    assert_eq!(second.headers()["retry-after"], "1");
    assert!(!second.headers().contains_key("stripe-should-retry"));
    assert_eq!(problem(second).await, (409, 40910, "in-flight".to_owned()));
    gate.open(1);
    assert_eq!(first.await.expect("no panic").expect("no error").status(), 201);
    assert_eq!(problem(app.send(order("k"), 201).await).await.2, "duplicate");
    assert_eq!((app.outcomes("in_flight"), app.outcomes("duplicate")), (1, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_at_once_run_once() {
    let app = App::new(Policy::default());
    let seen = Seen::default();
    let service = app.service({
        let seen = seen.clone();
        move |_| {
            seen.push(());
            async {
                tokio::task::yield_now().await;
                Ok(answer(201))
            }
        }
    });
    let mut requests = tokio::task::JoinSet::new();
    for _ in 0..200 {
        requests.spawn(service.clone().oneshot(order("k")));
    }
    let answers = requests.join_all().await;
    let statuses = answers.into_iter().map(|answer| answer.expect("no error").status().as_u16());
    assert_eq!(statuses.filter(|status| *status == 201).count(), 1);
    assert_eq!(seen.len(), 1);
    assert_eq!(app.outcomes("in_flight") + app.outcomes("duplicate"), 199);
}

#[tokio::test]
async fn a_mismatch_is_422_in_flight_and_completed() {
    let app = Faulty::app(Policy::default());
    app.store.fingerprint_each();
    let gate = Gate::default();
    let first = tokio::spawn(app.gated(&gate).oneshot(order("k")));
    gate.begun().await;
    for expected in 1..=2 {
        let answer = app.send(order("k"), 201).await;
        assert_eq!(problem(answer).await, (422, 42210, "mismatch".to_owned()));
        assert_eq!(app.outcomes("mismatch"), expected);
        gate.open(1);
        app.layer.running().idle().await;
    }
    assert_eq!(first.await.expect("no panic").expect("no error").status(), 201);
}

#[tokio::test]
async fn a_full_store_refuses_and_keeps_what_it_has() {
    let config = MemoryConfig::default().max_entries(2).late_grace(Duration::ZERO);
    let ttl = Ttl::new(Duration::from_secs(10)).expect("a valid ttl");
    let app = App::with_config(config, Routes::new(Policy::default().ttl(ttl)));
    for key in ["a", "b"] {
        assert_eq!(app.order(key, 201).await, 201);
    }
    let refused = app.send(order("c"), 201).await;
    assert_eq!(refused.headers()["retry-after"], "1");
    assert_eq!(problem(refused).await, (503, 50310, "full".to_owned()));
    for key in ["a", "b"] {
        assert_eq!(app.order(key, 201).await, 409);
    }
    assert_eq!(app.outcomes("full"), 1);
    app.clock.advance(Duration::from_secs(12));
    assert_eq!(app.order("c", 201).await, 201);
}

#[tokio::test]
async fn a_closed_store_is_503_and_the_handler_does_not_run() {
    let app = App::new(Policy::default());
    app.memory.close();
    let answer = app.send(order("k"), 201).await;
    assert_eq!(problem(answer).await, (503, 50310, "store-unavailable".to_owned()));
    assert_eq!((app.outcomes("store_unavailable"), app.outcomes("granted")), (1, 0));
}

#[tokio::test]
async fn a_refusal_of_a_head_request_has_no_body() {
    let app = App::new(Policy::default().allowed_methods([Method::HEAD]));
    let head = || request(Method::HEAD, "/orders", "k");
    assert_eq!(app.send(head(), 200).await.status(), 200);
    for (request, status) in [(head(), 409), (request(Method::HEAD, "/orders", ""), 400)] {
        let answer = app.send(request, 200).await;
        assert_eq!(answer.status(), status);
        assert_eq!(text(answer).await, "");
    }
}

#[tokio::test]
async fn the_handler_sees_its_lease_and_tokens_rise() {
    let app = App::new(Policy::default());
    let seen = Seen::default();
    let service = app.service({
        let seen = seen.clone();
        move |request| {
            let lease = request.extensions().get::<HeldLease>().expect("a lease").clone();
            assert!(!lease.is_lost());
            seen.push(lease.token());
            async { Ok(answer(500)) }
        }
    });
    for _ in 0..2 {
        service.clone().oneshot(order("k")).await.expect("the handler does not fail");
    }
    let tokens = seen.take();
    assert!(tokens[0] < tokens[1], "{tokens:?}");
}

#[tokio::test]
async fn the_address_is_that_of_namespace_method_path_and_key() {
    let app = App::new(Policy::default());
    app.send(request(Method::PUT, "/a%20b?c=d", "\"k\""), 200).await;
    let state = app.memory.peek(address("PUT", "/a%20b", "k")).await.expect("memory answers");
    assert!(matches!(state, RecordState::Completed { .. }), "{state:?}");
}

#[tokio::test]
async fn a_digester_with_a_secret_moves_every_address() {
    let app = App::new(Policy::default());
    let digester = leasehold::Digester::with_secret(b"secret");
    let layer = app.layer.clone().digester(digester.clone());
    let service = tower::Layer::layer(
        &layer,
        tower::service_fn(|_| async { Ok::<_, std::convert::Infallible>(answer(200)) }),
    );
    service.oneshot(order("k")).await.expect("the handler does not fail");
    assert_eq!(app.state("k").await, RecordState::Free);
    let moved = digester.address(&[b"default", b"POST", b"/orders", b"k"]);
    let state = app.memory.peek(moved).await.expect("memory answers");
    assert!(matches!(state, RecordState::Completed { .. }), "{state:?}");
}
