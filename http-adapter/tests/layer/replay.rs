//! Rules 5.1 and 5.4: what a duplicate of a success gets, and who gets it.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response};
use http_body_util::BodyExt;
use leasehold::{LeaseStore, Outcome, RecordState, Terms, Ttl, Verdict};
use leasehold_http::{Duplicate, NotReplayable, Policy, Routes};
use tower::ServiceExt;

use crate::faulty::{Fault, Faulty};
use crate::support::{Answer, App, Body, Gate, Seen, address, answer, order, problem, request};

pub(crate) fn replaying() -> Policy {
    Policy::default().duplicate(Duplicate::Replay)
}

/// The parts of an answer that a replay repeats.
async fn parts(answer: Answer) -> (u16, HeaderMap, Bytes) {
    let (head, body) = answer.into_parts();
    (head.status.as_u16(), head.headers, body.collect().await.expect("a body").to_bytes())
}

/// Sends requests one after the other to a handler that makes this response, and gives what they
/// got and how often it ran.
async fn send_all<S: LeaseStore + Clone>(
    app: &App<S>,
    respond: impl Fn() -> Response<Body> + Clone + Send + 'static,
    requests: impl IntoIterator<Item = Request<Body>>,
) -> (Vec<Answer>, usize) {
    let runs = Seen::default();
    let seen = runs.clone();
    let service = app.service(move |_| {
        seen.push(());
        std::future::ready(Ok(respond()))
    });
    let mut answers = Vec::new();
    for request in requests {
        answers.push(service.clone().oneshot(request).await.expect("no error"));
    }
    (answers, runs.len())
}

/// The first answer and its replay.
async fn twice(
    app: &App,
    respond: impl Fn() -> Response<Body> + Clone + Send + 'static,
) -> [Answer; 2] {
    let (answers, runs) = send_all(app, respond, [order("k"), order("k")]).await;
    assert_eq!(runs, 1);
    answers.try_into().expect("two answers")
}

#[tokio::test]
async fn a_replay_repeats_status_headers_and_bytes() {
    for body in [&b""[..], b"null", b"0", b"{\"id\": 7}", b"\x1f\x8b\x08\0\xff", "é中".as_bytes()]
    {
        let app = App::new(replaying());
        let [first, second] = twice(&app, move || {
            Response::builder()
                .status(202)
                .header("content-type", "application/json")
                .header("content-encoding", "gzip")
                .header("location", "/orders/7")
                .header("vary", "a")
                .header("x-latin", HeaderValue::from_bytes(b"caf\xe9").expect("a value"))
                .header("vary", "b")
                .body(Body::from(body))
                .expect("a response")
        })
        .await;
        assert!(format!("{:?}", second.body()).contains(&format!("Own({} bytes)", body.len())));
        let (first, mut second) = (parts(first).await, parts(second).await);
        assert_eq!(second.1.remove("idempotent-replayed").expect("a mark"), "true");
        assert_eq!(second, first);
        assert_eq!(second.1.get_all("vary").iter().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!((second.0, &second.2[..]), (202, body));
        assert_eq!((app.outcomes("replayed"), app.outcomes("duplicate")), (1, 0));
    }
}

#[tokio::test]
async fn what_is_of_one_connection_moment_or_client_is_not_replayed() {
    let dropped = HeaderName::from_static("x-drop");
    let mark = HeaderName::from_static("x-again");
    let app = App::new(replaying().replay_drop_headers([dropped]).replayed_header(mark));
    let gone = [
        ("set-cookie", "s=1"),
        ("date", "Tue, 01 Dec 2026 00:00:00 GMT"),
        ("connection", "x-hop"),
        ("x-hop", "1"),
        ("proxy-status", "1"),
        ("x-drop", "1"),
    ];
    let [first, second] = twice(&app, move || {
        let mut response = answer(201);
        for (name, value) in gone {
            response.headers_mut().append(name, HeaderValue::from_static(value));
        }
        response.headers_mut().insert("x-kept", HeaderValue::from_static("1"));
        response
    })
    .await;
    for (name, value) in gone {
        assert_eq!(first.headers()[name], value);
        assert!(!second.headers().contains_key(name), "{name}");
    }
    assert_eq!(
        (&second.headers()["x-kept"], &second.headers()["x-again"]),
        (&HeaderValue::from_static("1"), &HeaderValue::from_static("true"),)
    );
    assert!(!first.headers().contains_key("x-again"));
}

#[tokio::test]
async fn only_committed_outcomes_are_replayed() {
    for (status, verdict, again) in [
        (201, None, (201, true)),
        (302, None, (302, true)),
        (422, None, (422, false)),
        (500, None, (500, false)),
        (409, Some(Verdict::Commit), (409, true)),
        (201, Some(Verdict::Release), (201, false)),
        (201, Some(Verdict::Hold), (409, false)),
    ] {
        let app = App::new(replaying());
        let respond = move || {
            let mut response = answer(status);
            verdict.map(|verdict| response.extensions_mut().insert(verdict));
            response
        };
        let (answers, runs) = send_all(&app, respond, [order("k"), order("k")]).await;
        let replayed = answers[1].headers().contains_key("idempotent-replayed");
        assert_eq!((answers[1].status().as_u16(), replayed), again, "{status} {verdict:?}");
        assert_eq!(runs == 1, replayed || verdict == Some(Verdict::Hold));
    }
}

#[tokio::test]
async fn a_duplicate_of_a_running_request_is_still_in_flight() {
    let app = App::new(replaying());
    let gate = Gate::default();
    let first = tokio::spawn(app.gated(&gate).oneshot(order("k")));
    gate.begun().await;
    assert_eq!(problem(app.send(order("k"), 201).await).await.2, "in-flight");
    gate.open(1);
    assert_eq!(first.await.expect("no panic").expect("no error").status(), 201);
    assert!(app.send(order("k"), 500).await.headers().contains_key("idempotent-replayed"));
}

#[tokio::test]
async fn what_has_no_body_is_replayed_without_one() {
    for (method, status, stated, replayed) in [
        (Method::HEAD, 200, Some("7"), Some("7")),
        (Method::HEAD, 204, Some("7"), None),
        (Method::POST, 204, None, None),
        (Method::POST, 304, Some("7"), Some("7")),
    ] {
        let app = App::new(replaying().allowed_methods([Method::HEAD, Method::POST]));
        let respond = move || {
            let mut response = answer(status);
            *response.body_mut() = Body::default();
            stated.map(|length| {
                response.headers_mut().insert("content-length", HeaderValue::from_static(length))
            });
            response
        };
        let ask = || request(method.clone(), "/orders", "k");
        let (mut answers, runs) = send_all(&app, respond, [ask(), ask()]).await;
        let (status_again, headers, body) = parts(answers.remove(1)).await;
        assert_eq!((runs, status_again, body.len()), (1, status, 0));
        let length = headers.get("content-length").map(|value| value.as_bytes());
        assert_eq!(length, replayed.map(str::as_bytes), "{method} {status}");
        assert!(headers.contains_key("idempotent-replayed"));
    }
}

#[tokio::test]
async fn the_length_of_an_answer_to_head_is_that_of_the_body_it_leaves_out() {
    let app = App::new(replaying().allowed_methods([Method::HEAD]));
    let ask = || request(Method::HEAD, "/orders", "k");
    let (answers, _) = send_all(&app, || answer(200), [ask(), ask()]).await;
    assert_eq!(answers[1].headers()["content-length"], "7");
}

#[tokio::test]
async fn a_response_that_may_not_be_stored_is_committed_without_an_outcome() {
    for marked in [true, false] {
        let app = App::new(replaying());
        let [first, second] = twice(&app, move || {
            let mut response = answer(201);
            if marked {
                response.extensions_mut().insert(NotReplayable);
            } else {
                let value = HeaderValue::from_static("private, No-Store");
                response.headers_mut().insert("cache-control", value);
            }
            response
        })
        .await;
        assert_eq!(first.status(), 201);
        assert_not_replayable(&app, second).await;
    }
}

/// 409, told not to come again, and counted as a duplicate.
pub(crate) async fn assert_not_replayable<S: LeaseStore + Clone>(app: &App<S>, answer: Answer) {
    for hint in ["stripe-should-retry", "x-should-retry"] {
        assert_eq!(answer.headers()[hint], "false");
    }
    assert!(!answer.headers().contains_key("idempotent-replayed"));
    assert_eq!(problem(answer).await, (409, 40910, "not-replayable".to_owned()));
    assert_eq!((app.outcomes("replayed"), app.outcomes("duplicate")), (0, 1));
}

#[tokio::test]
async fn a_replay_is_for_whoever_sent_the_first_request_alone() {
    let sent = |host: &'static str, authorization: &[&'static str], cookies: &[&'static str]| {
        let mut request = order("k");
        let headers = request.headers_mut();
        headers.insert("host", HeaderValue::from_static(host));
        for (name, lines) in [("authorization", authorization), ("cookie", cookies)] {
            for line in lines {
                headers.append(name, HeaderValue::from_static(line));
            }
        }
        request
    };
    let first = || sent("a.test", &["Bearer 1"], &["a=1", "b=2"]);
    for (other, belongs) in [
        (first(), true),
        (sent("A.TEST", &["Bearer 1"], &["a=1; b=2"]), true),
        (sent("b.test", &["Bearer 1"], &["a=1", "b=2"]), false),
        (sent("a.test", &["Bearer 2"], &["a=1", "b=2"]), false),
        (sent("a.test", &[], &["a=1", "b=2"]), false),
        (sent("a.test", &["Bearer 1"], &["a=1"]), false),
        (sent("a.test", &["Bearer 1"], &[]), false),
        (sent("a.test", &["Bearer 1", "Bearer 1"], &["a=1", "b=2"]), false),
    ] {
        let app = App::new(replaying());
        let (mut answers, runs) = send_all(&app, || answer(201), [first(), other]).await;
        assert_eq!(runs, 1);
        let second = answers.remove(1);
        if belongs {
            assert_eq!(second.status(), 201);
            assert_eq!(app.outcomes("replayed"), 1);
        } else {
            assert_not_replayable(&app, second).await;
        }
    }
}

#[tokio::test]
async fn with_a_principal_credentials_may_change_between_attempts() {
    let app = App::new(replaying().principal_headers([HeaderName::from_static("x-account")]));
    let sent = |authorization: &'static str| {
        let mut request = order("k");
        request.headers_mut().insert("x-account", HeaderValue::from_static("7"));
        request.headers_mut().insert("authorization", HeaderValue::from_static(authorization));
        request
    };
    let requests = [sent("Bearer 1"), sent("Bearer 2")];
    let (answers, runs) = send_all(&app, || answer(201), requests).await;
    assert_eq!((runs, answers[1].status().as_u16(), app.outcomes("replayed")), (1, 201, 1));
}

#[tokio::test]
async fn what_a_store_gives_and_nobody_understands_is_not_replayed() {
    let app = App::new(replaying());
    let ttl = Ttl::try_from(std::time::Duration::from_secs(60)).expect("a ttl");
    let admission = app.memory.acquire(address("POST", "/orders", "k"), Terms::new(ttl));
    let leasehold::Admission::Granted(mut lease) = admission.await.expect("an answer") else {
        panic!("not granted");
    };
    let outcome = Outcome::new(Bytes::from_static(b"\x02 of a later release"));
    app.memory.commit(&mut lease, Some(outcome), ttl).await.expect("committed");
    let second = app.send(order("k"), 201).await;
    assert_not_replayable(&app, second).await;
}

#[tokio::test]
async fn a_body_that_is_there_at_once_goes_with_the_commit() {
    let app = Faulty::app(replaying());
    let (answers, _) = send_all(&app, || answer(201), [order("k"), order("k")]).await;
    assert!(answers[1].headers().contains_key("idempotent-replayed"));
    assert_eq!(app.store.calls.take(), ["acquire", "commit", "acquire"]);
}

#[tokio::test]
async fn a_response_is_replayed_while_its_commit_is_still_repeated() {
    let app = Faulty::app(replaying());
    app.store.fail("commit", Fault::LostBefore);
    let (mut answers, runs) = send_all(&app, || answer(201), [order("k"), order("k")]).await;
    assert_eq!(crate::support::text(answers.remove(0)).await, "handled");
    let replay = answers.remove(0);
    assert_eq!(runs, 1);
    assert_eq!(replay.headers()["idempotent-replayed"], "true");
    assert_eq!(crate::support::text(replay).await, "handled");
}

#[tokio::test]
async fn bodies_up_to_the_bound_are_kept_and_larger_ones_never_run_again() {
    for (bytes_max, replayable) in [(7, true), (6, false), (0, false)] {
        let app = App::new(replaying().max_replay_body(bytes_max));
        let [first, second] = twice(&app, || answer(201)).await;
        assert_eq!(crate::support::text(first).await, "handled");
        if replayable {
            assert_eq!(crate::support::text(second).await, "handled");
        } else {
            assert_not_replayable(&app, second).await;
        }
    }
}

#[tokio::test]
async fn a_store_without_room_for_outcomes_keeps_the_key_all_the_same() {
    let config = leasehold::MemoryConfig::default().max_outcome_bytes(10);
    let app = App::with_config(config, Routes::new(replaying()));
    let [first, second] = twice(&app, || answer(201)).await;
    assert_eq!(first.status(), 201);
    assert_not_replayable(&app, second).await;
    assert!(matches!(app.state("k").await, RecordState::Completed { replayable: false, .. }));
}
