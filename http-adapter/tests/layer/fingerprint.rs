//! Rule 5.3: the same key with another request is a mistake, and a body that is compared reaches
//! the handler unchanged.

use std::time::Duration;

use futures_util::FutureExt;
use http::{HeaderValue, Request, Response};
use http_body_util::BodyExt;
use leasehold::{LeaseStore, RecordState};
use leasehold_http::{Duplicate, FingerprintMode, Policy, RequestBody};
use tower::{Layer, ServiceExt, service_fn};

use crate::bodies::{Pipe, Piped, data, pipe, ready, trailers};
use crate::faulty::Faulty;
use crate::support::{Answer, App, Body, Failure, Gate, Seen, answer, order, problem, text};

fn comparing() -> Policy {
    Policy::default().fingerprint(FingerprintMode::Raw)
}

fn order_of(body: &'static str) -> Request<Body> {
    order("k").map(|_| Body::from(body))
}

async fn kind(answer: Answer) -> (u16, String) {
    let (status, _, kind) = problem(answer).await;
    (status, kind)
}

/// What a handler got: the data and whether there were trailers.
type Got = Seen<(String, bool)>;

/// Sends an order with a body that comes bit by bit; the handler notes what it got.
async fn send_piped<S: LeaseStore + Clone>(app: &App<S>, body: Piped, got: &Got) -> Answer {
    let got = got.clone();
    let service = app.layer.layer(service_fn(move |request: Request<RequestBody<Piped>>| {
        let got = got.clone();
        async move {
            let whole = request.into_body().collect().await?;
            let trailers = whole.trailers().is_some_and(|fields| fields.contains_key("x-sum"));
            let data = String::from_utf8(whole.to_bytes().to_vec()).expect("text");
            got.push((data, trailers));
            Ok::<_, Failure>(answer(201))
        }
    }));
    service.oneshot(order("k").map(|_| body)).await.expect("no error")
}

#[tokio::test]
async fn another_request_under_a_used_key_is_422_running_or_done() {
    let app = App::new(comparing());
    let gate = Gate::default();
    let first = tokio::spawn(app.gated(&gate).oneshot(order_of("one")));
    gate.begun().await;
    let again = |body| app.send(order_of(body), 201);
    assert_eq!(kind(again("two").await).await, (422, "mismatch".to_owned()));
    assert_eq!(kind(again("one").await).await, (409, "in-flight".to_owned()));
    gate.open(1);
    assert_eq!(first.await.expect("no panic").expect("no error").status(), 201);
    assert_eq!(kind(again("two").await).await, (422, "mismatch".to_owned()));
    assert_eq!(kind(again("one").await).await, (409, "duplicate".to_owned()));
    assert_eq!(app.outcomes("mismatch"), 2);
}

#[tokio::test]
async fn another_request_gets_no_replay() {
    let app = App::new(comparing().duplicate(Duplicate::Replay));
    assert_eq!(app.send(order_of("one"), 201).await.status(), 201);
    assert_eq!(kind(app.send(order_of("two"), 201).await).await.0, 422);
    assert_eq!(text(app.send(order_of("one"), 500).await).await, "handled");
}

#[tokio::test]
async fn query_and_content_type_count_and_json_counts_by_what_it_says() {
    let app = App::new(Policy::default().fingerprint(FingerprintMode::Json));
    let send = |query: &str, content_type: &'static str, body: &'static str| {
        let mut request = order_of(body);
        *request.uri_mut() = format!("/orders{query}").parse().expect("a URI");
        let value = HeaderValue::from_static(content_type);
        request.headers_mut().insert("content-type", value);
        app.send(request, 201).map(|answer| answer.status().as_u16())
    };
    let json = "application/json";
    assert_eq!(send("?a=1", json, "{\"a\":1,\"b\":[2]}").await, 201);
    assert_eq!(send("?a=1", json, " {\"b\":[2.0], \"a\":1} ").await, 409);
    assert_eq!(send("?a=2", json, "{\"a\":1,\"b\":[2]}").await, 422);
    assert_eq!(send("", json, "{\"a\":1,\"b\":[2]}").await, 422);
    assert_eq!(send("?a=1", "text/plain", "{\"a\":1,\"b\":[2]}").await, 422);
    assert_eq!(send("?a=1", json, "{\"a\":1,\"b\":[3]}").await, 422);
}

#[tokio::test]
async fn the_handler_gets_the_bytes_and_trailers_that_were_compared() {
    let app = App::new(comparing());
    let got = Got::default();
    let body = ready([data("one "), data(""), data("two"), trailers("x-sum")]);
    assert_eq!(send_piped(&app, body, &got).await.status(), 201);
    assert_eq!(got.take(), [("one two".to_owned(), true)]);
}

#[tokio::test]
async fn a_failed_request_may_be_corrected_under_its_key() {
    let app = App::new(comparing());
    assert_eq!(app.send(order_of("one"), 422).await.status(), 422);
    assert_eq!(app.send(order_of("two"), 201).await.status(), 201);
}

#[tokio::test]
async fn a_body_beyond_the_bound_is_413_and_its_key_stays_free() {
    let app = Faulty::app(comparing().max_fingerprint_body(3));
    let got = Got::default();
    let announced = ready([]).of_length(4);
    let sent = ready([data("ab"), data("cd")]);
    for body in [announced, sent] {
        let answer = send_piped(&app, body, &got).await;
        assert_eq!(problem(answer).await, (413, 41310, "body-too-large".to_owned()));
    }
    assert_eq!((app.outcomes("too_large"), app.store.calls.len(), got.len()), (2, 0, 0));
    let exactly = ready([data("ab"), data("c")]);
    assert_eq!(send_piped(&app, exactly, &got).await.status(), 201);
}

#[tokio::test]
async fn an_upload_that_breaks_off_while_it_is_held_back_is_400_and_frees_the_key() {
    let app = Faulty::app(comparing());
    let got = Got::default();
    let body = ready([data("part"), Err(Failure("reset"))]);
    let answer = send_piped(&app, body, &got).await;
    assert_eq!(
        (answer.status().as_u16(), &answer.headers()["connection"]),
        (400, &HeaderValue::from_static("close"),)
    );
    assert_eq!((app.store.calls.len(), got.len()), (0, 0));
    assert_eq!(app.layer.running().count(), 0);
}

#[tokio::test(start_paused = true)]
async fn an_upload_that_stalls_while_it_is_held_back_is_408_and_frees_the_key() {
    let mut app = Faulty::app(comparing());
    app.layer = app.layer.clone().body_read_timeout(Duration::from_secs(7));
    let got = Got::default();
    let (pipe, body) = pipe();
    pipe.send("part");
    let begun = tokio::time::Instant::now();
    let answer = send_piped(&app, body, &got).await;
    assert_eq!(answer.status(), 408);
    assert!(begun.elapsed().as_millis().abs_diff(7000) < 10);
    assert_eq!((app.store.calls.len(), got.len()), (0, 0));
    assert_eq!(app.layer.running().count(), 0);
}

#[tokio::test(start_paused = true)]
async fn an_upload_that_is_always_ready_and_never_ends_is_408_too() {
    struct Endless;

    impl http_body::Body for Endless {
        type Data = bytes::Bytes;
        type Error = Failure;

        fn poll_frame(
            self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
        ) -> std::task::Poll<Option<Result<http_body::Frame<bytes::Bytes>, Failure>>> {
            std::task::Poll::Ready(Some(data("")))
        }
    }

    let mut app = App::new(comparing());
    app.layer = app.layer.clone().body_read_timeout(Duration::from_millis(1));
    let service = app.layer.layer(service_fn(|_: Request<RequestBody<Endless>>| async {
        Ok::<_, Failure>(answer(201))
    }));
    let request = tokio::spawn(service.oneshot(order("k").map(|_| Endless)));
    // Its timer is set by now; a clock that nobody turns stands still while anything is ready.
    tokio::task::yield_now().await;
    tokio::time::advance(Duration::from_millis(5)).await;
    assert_eq!(request.await.expect("no panic").expect("no error").status(), 408);
}

#[tokio::test]
async fn bodies_beyond_what_may_be_buffered_are_503_and_what_was_held_is_given_back() {
    let mut app = App::new(comparing());
    app.layer = app.layer.clone().max_buffered_bytes(6);
    let got = Got::default();
    let (waiting, body) = pipe();
    waiting.send("four");
    let first = tokio::spawn({
        let (layer, got) = (app.layer.clone(), got.clone());
        async move {
            let service = layer.layer(service_fn(move |request: Request<RequestBody<Piped>>| {
                let got = got.clone();
                async move {
                    request.into_body().collect().await?;
                    got.push(("first".to_owned(), false));
                    Ok::<_, Failure>(answer(201))
                }
            }));
            service.oneshot(order("other").map(|_| body)).await.expect("no error").status()
        }
    });
    tokio::task::yield_now().await;
    let refused = send_piped(&app, ready([data("more")]), &got).await;
    assert_eq!(problem(refused).await, (503, 50310, "overloaded".to_owned()));
    assert_eq!(app.state("k").await, RecordState::Free);
    drop(waiting);
    assert_eq!(first.await.expect("no panic"), 201);
    assert_eq!(send_piped(&app, ready([data("more")]), &got).await.status(), 201);
}

/// A request whose body is being waited for.
fn held_back(app: &App, got: &Got) -> (Pipe, impl Future<Output = Answer>) {
    let (pipe, body) = pipe();
    pipe.send("part");
    let (layer, got) = (app.layer.clone(), got.clone());
    let call = async move {
        let service = layer.layer(service_fn(move |_: Request<RequestBody<Piped>>| {
            got.push((String::new(), false));
            std::future::ready(Ok::<Response<Body>, Failure>(answer(201)))
        }));
        service.oneshot(order("k").map(|_| body)).await.expect("no error")
    };
    (pipe, call)
}

#[tokio::test]
async fn a_shutdown_does_not_wait_for_bodies_that_are_held_back() {
    let app = App::new(comparing());
    let got = Got::default();
    let (_pipe, call) = held_back(&app, &got);
    let mut call = Box::pin(call);
    assert!((&mut call).now_or_never().is_none());
    app.layer.running().cut();
    assert_eq!(kind(call.await).await, (503, "overloaded".to_owned()));
    assert_eq!((got.len(), app.layer.running().count()), (0, 0));
}

#[tokio::test]
async fn a_client_that_goes_away_half_way_leaves_nothing() {
    let app = App::new(comparing());
    let got = Got::default();
    let (pipe, call) = held_back(&app, &got);
    let mut call = Box::pin(call);
    assert!((&mut call).now_or_never().is_none());
    drop(call);
    assert_eq!(app.layer.running().count(), 1);
    pipe.step(Err(Failure("the connection is gone")));
    app.layer.running().idle().await;
    assert_eq!((got.len(), app.calls("acquire")), (0, 0));
}

#[tokio::test]
async fn without_a_fingerprint_bodies_are_not_held_back() {
    let app = App::new(Policy::default().duplicate(Duplicate::Replay));
    let got = Got::default();
    let (_pipe, call) = held_back(&app, &got);
    assert_eq!(call.await.status(), 201);
    assert_eq!(got.len(), 1);
}
