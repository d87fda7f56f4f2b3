//! Rules 4.9 and 5.2: bodies that come bit by bit are kept while they pass, or not at all.

use std::time::Duration;

use futures_util::FutureExt;
use http::{HeaderValue, Request, Response};
use http_body::Body as _;
use http_body_util::BodyExt;
use leasehold::LeaseStore;
use leasehold_http::{OnDisconnect, Policy, RequestBody, ResponseBody};
use tower::{Layer, ServiceExt, service_fn};

use crate::bodies::{Piped, data, next, pipe, ready, text, trailers};
use crate::faulty::{Fault, Faulty};
use crate::replay::{assert_not_replayable, replaying};
use crate::support::{App, Body, Failure, order};

type Streamed = Response<ResponseBody<Piped>>;

/// Sends an order to a handler that answers 201 with this body.
async fn answer_with<S: LeaseStore + Clone>(app: &App<S>, body: Piped) -> Streamed {
    answer(app, Response::builder().status(201).body(body).expect("a response")).await
}

async fn answer<S: LeaseStore + Clone>(app: &App<S>, response: Response<Piped>) -> Streamed {
    let response = std::sync::Mutex::new(Some(response));
    let response = std::sync::Arc::new(response);
    let service = app.layer.layer(service_fn(move |_: Request<RequestBody<Body>>| {
        let response = response.lock().expect("not poisoned").take().expect("runs once");
        std::future::ready(Ok::<_, Failure>(response))
    }));
    service.oneshot(order("k")).await.expect("no error")
}

/// Asks again; the text of the replay.
async fn replayed<S: LeaseStore + Clone>(app: &App<S>) -> String {
    let again = app.send(order("k"), 500).await;
    assert!(again.headers().contains_key("idempotent-replayed"), "{again:?}");
    crate::support::text(again).await
}

async fn assert_never_replayed<S: LeaseStore + Clone>(app: &App<S>) {
    let again = app.send(order("k"), 500).await;
    assert_not_replayable(app, again).await;
}

#[tokio::test]
async fn a_body_in_several_frames_that_is_there_at_once_goes_with_the_commit() {
    let app = Faulty::app(replaying());
    let first = answer_with(&app, ready([data("a"), data("b"), data("c")])).await;
    assert_eq!(app.store.calls.take(), ["acquire", "commit"]);
    assert_eq!(replayed(&app).await, "abc");
    assert_eq!(text(first).await, "abc");
    assert_eq!(app.store.calls.take(), ["acquire"]);
}

#[tokio::test]
async fn the_first_byte_leaves_before_the_last_arrives_and_the_replay_is_there_before_the_last() {
    let app = Faulty::app(replaying());
    let (pipe, body) = pipe();
    pipe.send("one");
    let mut first = answer_with(&app, body).await.into_body();
    assert_eq!(next(&mut first).await, Some(Ok("one".to_owned())));
    assert!(next(&mut first).now_or_never().is_none());
    // Committed already, and never run again.
    let again = app.send(order("k"), 500).await;
    assert_not_replayable(&app, again).await;
    pipe.send("two");
    assert_eq!(next(&mut first).await, Some(Ok("two".to_owned())));
    pipe.send("three");
    drop(pipe);
    assert_eq!(next(&mut first).await, Some(Ok("three".to_owned())));
    assert_eq!(replayed(&app).await, "onetwothree");
    assert_eq!(next(&mut first).await, None);
    assert_eq!(app.store.calls.take(), ["acquire", "commit", "acquire", "attach", "acquire"]);
}

#[tokio::test]
async fn a_body_that_knows_its_length_is_kept_before_its_last_frame_leaves() {
    for states in [false, true] {
        let app = App::new(replaying());
        let (pipe, body) = pipe();
        let mut response = Response::new(if states { body } else { body.of_length(2) });
        if states {
            response.headers_mut().insert("content-length", HeaderValue::from_static("2"));
        }
        let mut first = answer(&app, response).await.into_body();
        pipe.send("a");
        assert_eq!(next(&mut first).await, Some(Ok("a".to_owned())));
        pipe.send("b");
        assert_eq!(next(&mut first).await, Some(Ok("b".to_owned())));
        assert_eq!(first.is_end_stream(), !states);
        // The pipe is still open: the reader stops by the length alone.
        assert_eq!(replayed(&app).await, "ab");
    }
}

#[tokio::test]
async fn what_a_body_says_of_its_size_stays_true() {
    let app = App::new(replaying());
    let mut first =
        answer_with(&app, ready([data("ab"), data("c")]).of_length(3)).await.into_body();
    assert_eq!(first.size_hint().exact(), Some(3));
    assert_eq!(next(&mut first).await, Some(Ok("ab".to_owned())));
    assert_eq!((first.size_hint().exact(), first.is_end_stream()), (Some(1), false));
    assert_eq!(next(&mut first).await, Some(Ok("c".to_owned())));
    assert_eq!((first.size_hint().exact(), first.is_end_stream()), (Some(0), true));
    let app = App::new(replaying());
    let unknown = answer_with(&app, ready([data("ab")])).await.into_body();
    assert_eq!((unknown.size_hint().exact(), unknown.size_hint().lower()), (None, 0));
}

#[tokio::test]
async fn a_body_that_fails_half_way_leaves_the_key_committed_and_is_never_replayed_in_part() {
    for at_once in [true, false] {
        let app = App::new(replaying());
        let (pipe, body) = pipe();
        if at_once {
            pipe.send("part");
            pipe.step(Err(Failure("broke off")));
        }
        let mut first = answer_with(&app, body).await.into_body();
        if !at_once {
            pipe.send("part");
            pipe.step(Err(Failure("broke off")));
        }
        assert_eq!(next(&mut first).await, Some(Ok("part".to_owned())));
        assert_eq!(next(&mut first).await, Some(Err(Failure("broke off"))));
        assert_never_replayed(&app).await;
        assert_eq!(app.verdicts("commit"), 1);
    }
}

#[tokio::test]
async fn a_body_shorter_than_it_was_announced_is_never_replayed() {
    for at_once in [true, false] {
        let app = App::new(replaying());
        let (pipe, body) = pipe();
        if at_once {
            pipe.send("part");
        }
        let mut response = Response::new(body);
        response.headers_mut().insert("content-length", HeaderValue::from_static("9"));
        let first = if at_once {
            drop(pipe);
            answer(&app, response).await
        } else {
            let first = answer(&app, response).await;
            pipe.send("part");
            drop(pipe);
            first
        };
        assert_eq!(text(first).await, "part");
        assert_never_replayed(&app).await;
    }
}

#[tokio::test]
async fn a_body_that_is_too_large_streams_through_and_never_runs_again() {
    let app = Faulty::app(replaying().max_replay_body(3));
    let (pipe, body) = pipe();
    pipe.send("ab");
    let mut first = answer_with(&app, body).await.into_body();
    assert_eq!(next(&mut first).await, Some(Ok("ab".to_owned())));
    for text in ["c", "d", "e"] {
        pipe.send(text);
        assert_eq!(next(&mut first).await, Some(Ok(text.to_owned())));
    }
    drop(pipe);
    assert_eq!(next(&mut first).await, None);
    assert_eq!(app.store.calls.take(), ["acquire", "commit"]);
    assert_never_replayed(&app).await;
}

#[tokio::test]
async fn a_body_that_says_it_is_too_large_is_not_touched() {
    let app = App::new(replaying().max_replay_body(3));
    let (pipe, body) = pipe();
    pipe.send("ab");
    let first = answer_with(&app, body.of_length(4)).await;
    pipe.send("cd");
    drop(pipe);
    assert_eq!(text(first).await, "abcd");
    assert_never_replayed(&app).await;
}

#[tokio::test]
async fn an_endless_body_passes_though_it_is_always_ready() {
    for frame in ["x", ""] {
        let app = App::new(replaying());
        let (pipe, body) = pipe();
        (0..100_000).for_each(|_| pipe.send(frame));
        let mut first = answer_with(&app, body).await.into_body();
        for _ in 0..100_000 {
            assert_eq!(next(&mut first).await, Some(Ok(frame.to_owned())));
        }
        assert!(!pipe.is_closed());
        if frame == "x" {
            assert_never_replayed(&app).await;
        }
    }
}

#[tokio::test]
async fn trailers_pass_and_are_not_replayed() {
    for at_once in [true, false] {
        let app = App::new(replaying());
        let (pipe, body) = pipe();
        let steps = || [data("text"), trailers("x-sum")];
        if at_once {
            steps().into_iter().for_each(|step| pipe.step(step));
        }
        let first = answer_with(&app, body).await;
        if !at_once {
            steps().into_iter().for_each(|step| pipe.step(step));
        }
        drop(pipe);
        let whole = first.into_body().collect().await.expect("a whole body");
        assert!(whole.trailers().is_some_and(|trailers| trailers.contains_key("x-sum")));
        let again = app.send(order("k"), 500).await;
        let again = again.into_body().collect().await.expect("a whole body");
        assert_eq!(again.trailers(), None);
        assert_eq!(again.to_bytes(), "text");
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_does_not_answer_an_attach_holds_the_body_up_for_its_time_and_no_longer() {
    for fault in [Fault::Hang, Fault::LostBefore] {
        let app = Faulty::app(replaying().store_timeout(Duration::from_secs(2)));
        let hangs = matches!(fault, Fault::Hang);
        app.store.fail("attach", fault);
        let (pipe, body) = pipe();
        let first = answer_with(&app, body).await;
        pipe.send("text");
        drop(pipe);
        let begun = tokio::time::Instant::now();
        assert_eq!(text(first).await, "text");
        let waited = begun.elapsed();
        assert!(waited.as_millis().abs_diff(if hangs { 2000 } else { 0 }) < 10, "{waited:?}");
        let kind = if hangs { "no_answer" } else { "unreachable" };
        assert_eq!(app.store_errors("attach", kind), 1);
        assert_never_replayed(&app).await;
    }
}

#[tokio::test]
async fn a_body_whose_client_has_gone_is_read_on_and_replayed() {
    let app = App::new(replaying());
    let (pipe, body) = pipe();
    pipe.send("one");
    let mut first = answer_with(&app, body).await.into_body();
    assert_eq!(next(&mut first).await, Some(Ok("one".to_owned())));
    assert_eq!(app.layer.running().count(), 0);
    drop(first);
    assert_eq!(app.layer.running().count(), 1);
    pipe.send("two");
    drop(pipe);
    app.layer.running().idle().await;
    assert_eq!(replayed(&app).await, "onetwo");
}

#[tokio::test(start_paused = true)]
async fn a_body_is_read_on_for_a_bounded_time_and_size() {
    let app = App::new(replaying().max_replay_body(3));
    let (large, body) = pipe();
    drop(answer_with(&app, body).await);
    large.send("more");
    app.layer.running().idle().await;
    assert!(large.is_closed());

    let app = App::new(replaying());
    let (slow, body) = pipe();
    drop(answer_with(&app, body).await);
    slow.send("part");
    app.layer.running().idle().await;
    assert!(slow.is_closed());
    assert_never_replayed(&app).await;
}

#[tokio::test]
async fn a_body_is_not_read_on_where_nobody_wants_it() {
    let cancelling = replaying().on_disconnect(OnDisconnect::Cancel);
    for (policy, max_running, cut) in
        [(cancelling, 9, false), (replaying(), 9, true), (Policy::default(), 9, false)]
    {
        let mut app = App::new(policy);
        app.layer = app.layer.clone().max_running(max_running);
        let (pipe, body) = pipe();
        let first = answer_with(&app, body).await;
        if cut {
            app.layer.running().cut();
        }
        drop(first);
        assert_eq!((app.layer.running().count(), pipe.is_closed()), (0, true));
    }
}

#[tokio::test]
async fn a_shutdown_ends_the_reading_on() {
    let app = App::new(replaying());
    let (pipe, body) = pipe();
    drop(answer_with(&app, body).await);
    assert!(!pipe.is_closed());
    app.layer.running().cut();
    app.layer.running().idle().await;
    assert!(pipe.is_closed());
}

#[tokio::test]
async fn a_body_that_panics_finds_its_lease_settled() {
    #[derive(Debug)]
    struct Panicking;

    impl http_body::Body for Panicking {
        type Data = bytes::Bytes;
        type Error = Failure;

        fn poll_frame(
            self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
        ) -> std::task::Poll<Option<Result<http_body::Frame<bytes::Bytes>, Failure>>> {
            panic!("on purpose")
        }
    }

    let app = App::new(replaying());
    let service = app.layer.layer(service_fn(|_: Request<RequestBody<Body>>| {
        std::future::ready(Ok::<_, Failure>(Response::new(Panicking)))
    }));
    let first = tokio::spawn(service.oneshot(order("k"))).await;
    assert!(first.expect_err("a panic").is_panic());
    assert_never_replayed(&app).await;
}

#[tokio::test]
async fn bodies_beyond_what_may_be_buffered_pass_and_are_not_kept() {
    let mut app = App::new(replaying());
    app.layer = app.layer.clone().max_buffered_bytes(4);
    let (pipe, body) = pipe();
    let first = answer_with(&app, body).await;
    for text in ["one", "two", "three"] {
        pipe.send(text);
    }
    drop(pipe);
    assert_eq!(text(first).await, "onetwothree");
    assert_never_replayed(&app).await;
}
