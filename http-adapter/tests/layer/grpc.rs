//! Rule 5.6: gRPC, whose outcome is a code in a trailer. The example `tonic` does the same over a
//! real channel.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt;
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use leasehold::{MemoryStore, RecordState, Verdict};
use leasehold_http::{Idempotent, Policy};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tower::util::BoxCloneSyncService;
use tower::{Layer, Service, ServiceExt, service_fn};

use crate::faulty::{Fault, Faulty};
use crate::support::{App, Body, Failure, Sent, order};

type Piece = Result<Frame<Bytes>, Failure>;
type Stream = futures_util::stream::BoxStream<'static, Piece>;
type Handler = BoxCloneSyncService<Request<Sent>, Response<StreamBody<Stream>>, Failure>;

/// A message with its prefix.
fn message(text: &str) -> Frame<Bytes> {
    let length = u32::try_from(text.len()).expect("short").to_be_bytes();
    Frame::data([&[0], &length[..], text.as_bytes()].concat().into())
}

fn trailers(code: &'static str) -> Frame<Bytes> {
    Frame::trailers(code_of(code))
}

fn code_of(code: &'static str) -> HeaderMap {
    HeaderMap::from_iter([(
        http::HeaderName::from_static("grpc-status"),
        HeaderValue::from_static(code),
    )])
}

/// A call with a key.
fn call(key: &str) -> Request<Body> {
    let mut call = order(key);
    call.headers_mut().insert("content-type", HeaderValue::from_static("application/grpc+proto"));
    call.headers_mut().insert("te", HeaderValue::from_static("trailers"));
    call
}

/// A service whose responses come from a channel each, in turn, and what changes their head.
fn service(
    app: &App,
    bodies: impl IntoIterator<Item = UnboundedReceiver<Piece>>,
    change: impl Fn(&mut Response<StreamBody<Stream>>) + Send + Sync + 'static,
) -> Idempotent<Handler, Arc<MemoryStore>> {
    let bodies: Vec<_> = bodies.into_iter().collect();
    let bodies = Arc::new(std::sync::Mutex::new(bodies.into_iter()));
    let change = Arc::new(change);
    app.layer.layer(BoxCloneSyncService::new(service_fn(move |_| {
        let mut body = bodies.lock().expect("not poisoned").next().expect("one body a run");
        let stream = futures_util::stream::poll_fn(move |cx| body.poll_recv(cx));
        let mut response = Response::new(StreamBody::new(Box::pin(stream) as Stream));
        let grpc = HeaderValue::from_static("application/grpc");
        response.headers_mut().insert("content-type", grpc);
        change(&mut response);
        async { Ok(response) }
    })))
}

/// A body that is complete at once.
fn whole(pieces: impl IntoIterator<Item = Piece>) -> UnboundedReceiver<Piece> {
    let (sender, receiver) = unbounded_channel();
    for piece in pieces {
        sender.send(piece).expect("open");
    }
    receiver
}

fn send(sender: &UnboundedSender<Piece>, frame: Frame<Bytes>) {
    sender.send(Ok(frame)).expect("open");
}

async fn is_completed(app: &App) -> bool {
    matches!(app.state("k").await, RecordState::Completed { .. })
}

async fn is_free(app: &App) -> bool {
    app.state("k").await == RecordState::Free
}

/// The code in a head.
fn code(headers: &HeaderMap) -> Option<&str> {
    headers.get("grpc-status").map(|value| value.to_str().expect("text"))
}

#[tokio::test]
async fn the_code_in_the_trailers_is_the_verdict_and_the_response_is_unchanged() {
    for (value, commits) in [("0", true), ("3", false), ("14", false)] {
        let app = App::new(Policy::default());
        let body = whole([Ok(message("ordered")), Ok(trailers(value))]);
        let answer = service(&app, [body], |_| {}).oneshot(call("k")).await.expect("no error");
        assert_eq!((is_completed(&app).await, is_free(&app).await), (commits, !commits), "{value}");
        assert!(!http_body::Body::is_end_stream(answer.body()));
        let body = answer.into_body().collect().await.expect("a whole body");
        assert_eq!(body.trailers().and_then(code), Some(value));
        assert_eq!(body.to_bytes(), &b"\0\0\0\0\x07ordered"[..]);
    }
}

#[tokio::test]
async fn a_response_without_a_body_has_its_code_in_its_head() {
    for (value, commits) in [("0", true), ("5", false)] {
        let app = App::new(Policy::default());
        let head = move |response: &mut Response<_>| response.headers_mut().extend(code_of(value));
        let answer = service(&app, [whole([])], head).oneshot(call("k")).await.expect("no error");
        assert_eq!((is_completed(&app).await, is_free(&app).await), (commits, !commits), "{value}");
        assert_eq!(code(answer.headers()), Some(value));
        assert!(answer.into_body().collect().await.expect("a body").to_bytes().is_empty());
    }
}

#[tokio::test]
async fn a_response_is_held_until_its_first_message_or_its_trailers() {
    for commits in [true, false] {
        let app = App::new(Policy::default());
        let (sender, body) = unbounded_channel();
        let mut response = service(&app, [body], |_| {}).call(call("k"));
        assert!((&mut response).now_or_never().is_none());
        // A part of a message is none.
        if commits {
            send(&sender, Frame::data(Bytes::from_static(b"\0\0\0\0\x02")));
            assert!((&mut response).now_or_never().is_none());
            send(&sender, Frame::data(Bytes::from_static(b"ok")));
        } else {
            send(&sender, trailers("9"));
        }
        response.now_or_never().expect("known").expect("no error");
        assert_eq!((is_completed(&app).await, is_free(&app).await), (commits, !commits));
    }
}

#[tokio::test]
async fn a_streaming_response_commits_at_its_first_message_and_streams() {
    let app = App::new(Policy::default());
    let (sender, body) = unbounded_channel();
    let mut response = service(&app, [body], |_| {}).call(call("k"));
    assert!((&mut response).now_or_never().is_none());
    send(&sender, message("one"));
    let answer = response.now_or_never().expect("one message is enough").expect("no error");
    assert!(is_completed(&app).await);
    let mut body = answer.into_body();
    let first = body.frame().now_or_never().expect("held").expect("one").expect("no error");
    assert_eq!(first.into_data().expect("data"), &b"\0\0\0\0\x03one"[..]);
    assert!(body.frame().now_or_never().is_none());
    send(&sender, message("two"));
    send(&sender, trailers("13"));
    drop(sender);
    let rest = body.collect().await.expect("a whole body");
    assert_eq!(rest.trailers().and_then(code), Some("13"));
    assert!(is_completed(&app).await);
}

#[tokio::test]
async fn several_messages_or_too_many_bytes_commit_whatever_the_code() {
    let app = App::new(Policy::default().max_replay_body(100));
    let long = "x".repeat(200);
    let cut = message(&long).into_data().expect("data").slice(..150);
    for pieces in [
        vec![Ok(message("one")), Ok(message("two")), Ok(trailers("13"))],
        vec![Ok(Frame::data(cut)), Err(Failure("never read here"))],
    ] {
        let key = format!("k-{}", pieces.len());
        service(&app, [whole(pieces)], |_| {}).oneshot(call(&key)).await.expect("no error");
        assert!(matches!(app.state(&key).await, RecordState::Completed { .. }));
    }
}

#[tokio::test]
async fn what_is_held_counts_against_the_bound_of_all_bodies() {
    let mut app = App::new(Policy::default());
    app.layer = app.layer.clone().max_buffered_bytes(600);
    let short = || whole([Ok(message("one")), Ok(trailers("9"))]);
    let one = service(&app, [short()], |_| {}).oneshot(call("k")).await.expect("no error");
    assert!(is_free(&app).await);
    // There is no room for another one, so it is not held: it commits and passes as it is.
    let long = whole([Ok(message(&"x".repeat(200))), Ok(trailers("9"))]);
    let other = service(&app, [long], |_| {}).oneshot(call("k")).await.expect("no error");
    assert!(is_completed(&app).await);
    let other = other.into_body().collect().await.expect("a whole body");
    assert_eq!(other.trailers().and_then(code), Some("9"));
    assert_eq!(other.to_bytes().len(), 205);
    // What has passed gives its room back.
    drop(one.into_body().collect().await.expect("a whole body"));
    service(&app, [short()], |_| {}).oneshot(call("l")).await.expect("no error");
    assert_eq!(app.state("l").await, RecordState::Free);
}

#[tokio::test]
async fn without_a_code_nobody_knows() {
    for pieces in [
        vec![],
        vec![Ok(message("one"))],
        vec![Ok(message("one")), Ok(trailers("x"))],
        vec![Err(Failure("broken"))],
        vec![Ok(message("one")), Err(Failure("broken"))],
    ] {
        let app = App::new(Policy::default());
        let breaks = pieces.iter().any(Result::is_err);
        let answer = service(&app, [whole(pieces)], |_| {}).oneshot(call("k")).await;
        let answer = answer.expect("no error");
        assert_eq!(app.verdicts("hold"), 1);
        // What broke off is told in a head of its own.
        assert_eq!(code(answer.headers()), breaks.then_some("13"));
        assert!(answer.into_body().collect().await.is_ok());
        let again = service(&app, [], |_| {}).oneshot(call("k")).await.expect("no error");
        assert_eq!(code(again.headers()), Some("10"));
    }
}

#[tokio::test]
async fn the_handlers_own_verdict_and_a_status_of_http_go_before_the_code() {
    let app = App::new(Policy::default());
    let head = |response: &mut Response<_>| {
        response.extensions_mut().insert(Verdict::Release);
    };
    let (_open, body) = unbounded_channel();
    service(&app, [body], head).oneshot(call("k")).await.expect("not held");
    assert!(is_free(&app).await);
    let head = |response: &mut Response<_>| *response.status_mut() = http::StatusCode::BAD_GATEWAY;
    let (_open, body) = unbounded_channel();
    service(&app, [body], head).oneshot(call("k")).await.expect("not held");
    assert!(is_free(&app).await);
}

#[tokio::test]
async fn what_only_asks_in_grpc_is_judged_by_its_status() {
    let app = App::new(Policy::default());
    let json = |response: &mut Response<_>| {
        let json = HeaderValue::from_static("application/json");
        response.headers_mut().insert("content-type", json);
    };
    let (_open, body) = unbounded_channel();
    service(&app, [body], json).oneshot(call("k")).await.expect("not held");
    assert!(is_completed(&app).await);
    let app = App::new(Policy::default().grpc(false));
    let (_open, body) = unbounded_channel();
    service(&app, [body], |_| {}).oneshot(call("k")).await.expect("not held");
    assert!(is_completed(&app).await);
    let again = service(&app, [], |_| {}).oneshot(call("k")).await.expect("no error");
    assert_eq!((again.status().as_u16(), code(again.headers())), (409, None));
}

#[tokio::test]
async fn refusals_are_codes_of_grpc() {
    let app = App::new(Policy::default());
    let (_open, body) = unbounded_channel();
    let mut first = service(&app, [body], |_| {}).call(call("k"));
    assert!((&mut first).now_or_never().is_none());
    let in_flight = service(&app, [], |_| {}).oneshot(call("k")).await.expect("no error");
    assert_eq!(in_flight.status(), 200);
    assert_eq!(in_flight.headers()["content-type"], "application/grpc");
    assert_eq!(in_flight.headers()["grpc-retry-pushback-ms"], "1000");
    assert!(http_body::Body::is_end_stream(in_flight.body()));
    let done = whole([Ok(message("one")), Ok(trailers("0"))]);
    service(&app, [done], |_| {}).oneshot(call("l")).await.expect("no error");
    let duplicate = service(&app, [], |_| {}).oneshot(call("l")).await.expect("no error");
    let bad = service(&app, [], |_| {}).oneshot(call("not a key")).await.expect("no error");
    let codes = [&in_flight, &duplicate, &bad].map(|answer| code(answer.headers()));
    assert_eq!(codes, [Some("10"), Some("6"), Some("3")]);
    let app = Faulty::app(Policy::default());
    app.store.fail("acquire", Fault::LostBefore);
    let unavailable = app.send(call("k"), 201).await;
    assert_eq!(code(unavailable.headers()), Some("14"));
    app.store.fingerprint_each();
    assert_eq!(app.send(call("m"), 201).await.status(), 201);
    assert_eq!(code(app.send(call("m"), 201).await.headers()), Some("3"));
}
