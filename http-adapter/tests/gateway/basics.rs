//! What the gateway is for: a write succeeds once, its duplicates are refused, failures may retry.

use std::io::Write;
use std::time::Duration;

use http::Method;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::client::{Call, Raw};
use super::process::Gateway;
use super::upstream::{Script, Upstream, gate};
use super::{new_key, soon};

#[tokio::test]
async fn the_first_request_and_its_response_pass_unchanged() {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(upstream.address, "").await;
    let script = Script::status(202).header("location", "/orders/7").body("made");
    upstream.script("first", script.header("x-a", "1").header("x-a", "2"));
    let call = Call::post("/orders?a=1&b=%20x%2F", &new_key()).case("first");
    let call = call.header("x-b", "1").header("x-b", "2").body("{\"n\":1}");
    let answer = call.send(gateway.address).await;
    assert_eq!((answer.status.as_u16(), &answer.body[..]), (202, &b"made"[..]));
    assert_eq!(answer.header("location"), Some("/orders/7"));
    assert_eq!(answer.headers.get_all("x-a").iter().collect::<Vec<_>>(), ["1", "2"]);
    let [(parts, body)] = &upstream.requests("first")[..] else { panic!("not one run") };
    assert_eq!((&parts.method, &body[..]), (&Method::POST, &b"{\"n\":1}"[..]));
    assert_eq!(parts.uri, "/orders?a=1&b=%20x%2F");
    assert_eq!(parts.headers.get_all("x-b").iter().collect::<Vec<_>>(), ["1", "2"]);
    assert_eq!(parts.headers["host"], "shop.test");
    let token = parts.headers["idempotency-lease-token"].to_str().expect("text");
    assert!(token.parse::<u64>().expect("a number") > 0);
}

#[tokio::test]
async fn a_duplicate_of_a_success_is_409() {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(upstream.address, "").await;
    let key = new_key();
    for status in [201, 303] {
        let case = status.to_string();
        upstream.script(&case, Script::status(status));
        let call = Call::post(&format!("/{status}"), &key).case(&case);
        assert_eq!(call.clone().send(gateway.address).await.status, status);
        for _ in 0..2 {
            let again = call.clone().send(gateway.address).await;
            assert_eq!((again.status.as_u16(), again.kind().as_str()), (409, "duplicate"));
            assert_eq!(again.header("stripe-should-retry"), Some("false"));
        }
        assert_eq!(upstream.runs(&case), 1);
    }
}

#[tokio::test]
async fn one_key_runs_once_whatever_the_form_of_the_target() {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(upstream.address, "").await;
    let key = new_key();
    for (target, status) in [
        ("http://c", 201),
        ("/", 409),
        ("http://d/", 409),
        ("http://c?a", 409),
        ("a:80", 400),
        ("b", 400),
    ] {
        let mut raw = Raw::open(gateway.address).await;
        let head = format!(
            "POST {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 0\r\n\
             X-Case: forms\r\nIdempotency-Key: {key}\r\n\r\n"
        );
        raw.send(&head).await;
        let answer = raw.rest().await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{target}: {answer}");
    }
    let [(parts, _)] = &upstream.requests("forms")[..] else { panic!("not one run") };
    assert_eq!(parts.uri, "/");
}

#[tokio::test]
async fn an_error_frees_the_key() {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(upstream.address, "").await;
    for status in [400, 404, 422, 429, 500, 503] {
        let case = status.to_string();
        let call = Call::post("/orders", &new_key()).case(&case);
        upstream.script(&case, Script::status(status));
        assert_eq!(call.clone().send(gateway.address).await.status, status);
        upstream.script(&case, Script::status(201));
        assert_eq!(call.clone().send(gateway.address).await.status, 201);
        assert_eq!(call.send(gateway.address).await.status, 409);
        assert_eq!(upstream.runs(&case), 2);
    }
}

#[tokio::test]
async fn bad_keys_are_400_and_nothing_runs() {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(upstream.address, "").await;
    let long = "k".repeat(129);
    let bare = Call::new(Method::POST, "/orders").case("bad");
    let mut calls = vec![bare.clone(), bare.clone().header("idempotency-key", "a")];
    calls[1] = calls[1].clone().header("idempotency-key", "a");
    for key in ["", "a b", "a\tb", "é", "\"open", &long] {
        calls.push(bare.clone().header("idempotency-key", key));
    }
    for call in calls {
        let answer = call.send(gateway.address).await;
        assert_eq!((answer.status.as_u16(), answer.kind().as_str()), (400, "invalid-key"));
    }
    assert_eq!(upstream.runs("bad"), 0);
    let longest = Call::post("/orders", &long[1..]).case("bad");
    assert_eq!(longest.send(gateway.address).await.status, 201);
}

#[tokio::test]
async fn what_is_not_protected_passes_without_a_key() {
    let upstream = Upstream::start().await;
    let routes = "required = false\n[[route]]\npath = \"/free/*\"\nenabled = false\n";
    let gateway = Gateway::start(upstream.address, routes).await;
    for method in [Method::GET, Method::HEAD, Method::OPTIONS] {
        let call = Call::new(method, "/orders").header("idempotency-key", "not a key");
        assert_eq!(call.send(gateway.address).await.status, 201);
    }
    let exempt = Call::post("/free/x", "k").header("idempotency-lease-token", "9").case("exempt");
    for _ in 0..2 {
        assert_eq!(exempt.clone().send(gateway.address).await.status, 201);
        assert_eq!(Call::new(Method::POST, "/orders").send(gateway.address).await.status, 201);
    }
    for (parts, _) in upstream.requests("exempt") {
        assert!(!parts.headers.contains_key("idempotency-lease-token"));
    }
}

#[tokio::test]
async fn fifty_at_once_run_once() {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(upstream.address, "").await;
    let open = gate();
    upstream.script("fifty", Script::status(201).gate(&open));
    let key = new_key();
    let mut calls = JoinSet::new();
    for _ in 0..50 {
        let call = Call::post("/orders", &key).case("fifty");
        let address = gateway.address;
        calls.spawn(async move { call.send(address).await.status.as_u16() });
    }
    let mut statuses = Vec::new();
    for _ in 0..49 {
        statuses.push(soon("a refusal", calls.join_next()).await.expect("49 left").expect("ran"));
    }
    assert_eq!(statuses, [409; 49]);
    open.add_permits(1);
    assert_eq!(soon("the winner", calls.join_next()).await.expect("one left").expect("ran"), 201);
    assert_eq!(upstream.runs("fifty"), 1);
}

#[tokio::test]
async fn a_duplicate_of_a_running_request_is_409_and_may_come_again() {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(upstream.address, "").await;
    let open = gate();
    upstream.script("slow", Script::status(500).gate(&open));
    let call = Call::post("/orders", &new_key()).case("slow");
    let first = tokio::spawn(call.clone().send(gateway.address));
    upstream.wait_for_runs("slow", 1).await;
    let second = call.clone().send(gateway.address).await;
    assert_eq!((second.status.as_u16(), second.kind().as_str()), (409, "in-flight"));
    assert_eq!(second.header("retry-after"), Some("1"));
    open.add_permits(2);
    assert_eq!(first.await.expect("ran").status, 500);
    assert_eq!(call.send(gateway.address).await.status, 500);
    assert_eq!(upstream.runs("slow"), 2);
}

#[tokio::test]
async fn a_request_whose_client_has_gone_still_counts() {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(upstream.address, "").await;
    let open = gate();
    upstream.script("gone", Script::status(201).gate(&open));
    let key = new_key();
    let mut stream = TcpStream::connect(gateway.address).await.expect("a listener");
    let head = format!(
        "POST /orders HTTP/1.1\r\nHost: a\r\nIdempotency-Key: {key}\r\nX-Case: gone\r\n\
         Content-Length: 2\r\n\r\n{{}}"
    );
    stream.write_all(head.as_bytes()).await.expect("written");
    upstream.wait_for_runs("gone", 1).await;
    drop(stream);
    let call = Call::post("/orders", &key).case("gone");
    assert_eq!(call.clone().send(gateway.address).await.kind(), "in-flight");
    open.add_permits(1);
    let end = async {
        while call.clone().send(gateway.address).await.kind() == "in-flight" {
            tokio::task::yield_now().await;
        }
    };
    soon("the verdict", end).await;
    assert_eq!(call.send(gateway.address).await.kind(), "duplicate");
    assert_eq!(upstream.runs("gone"), 1);
}

#[tokio::test]
async fn a_whole_request_runs_though_its_client_has_gone_at_once() {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(upstream.address, "").await;
    for _ in 0..40 {
        let head = format!(
            "POST /orders HTTP/1.1\r\nHost: a\r\nIdempotency-Key: {}\r\nX-Case: left\r\n\
             Content-Length: 2\r\n\r\n{{}}",
            new_key()
        );
        // Not asynchronous, so that nothing comes between the last byte and the end.
        let mut stream = std::net::TcpStream::connect(gateway.address).expect("a listener");
        stream.write_all(head.as_bytes()).expect("written");
    }
    upstream.wait_for_runs("left", 40).await;
}

#[tokio::test]
async fn a_full_store_refuses_and_evicts_nothing_until_a_ttl_ends() {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(upstream.address, "max-entries = 2\nttl = \"3s\"").await;
    let keys = [new_key(), new_key()];
    for key in &keys {
        assert_eq!(Call::post("/orders", key).send(gateway.address).await.status, 201);
    }
    let third = Call::post("/orders", &new_key()).case("third");
    let refused = third.clone().send(gateway.address).await;
    assert_eq!((refused.status.as_u16(), refused.kind().as_str()), (503, "full"));
    assert!(refused.headers.contains_key("retry-after"));
    for key in &keys {
        assert_eq!(Call::post("/orders", key).send(gateway.address).await.status, 409);
    }
    assert_eq!(gateway.metric("leasehold_max_entries").await, Some(2.0));
    let freed = async {
        while third.clone().send(gateway.address).await.status != 201 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    soon("the end of a ttl", freed).await;
    assert_eq!(upstream.runs("third"), 1);
}

#[tokio::test]
async fn an_upstream_that_is_down_is_502_and_frees_the_key() {
    let closed = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = closed.local_addr().expect("an address");
    drop(closed);
    let gateway = Gateway::start(address, "").await;
    let call = Call::post("/orders", &new_key());
    for _ in 0..2 {
        let answer = call.clone().send(gateway.address).await;
        assert_eq!((answer.status.as_u16(), answer.kind().as_str()), (502, "bad-gateway"));
    }
}

#[tokio::test]
async fn metrics_count_what_happened() {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(upstream.address, "namespace = \"shop\"").await;
    let call = Call::post("/orders", &new_key());
    for _ in 0..3 {
        call.clone().send(gateway.address).await;
    }
    Call::new(Method::GET, "/").send(gateway.address).await;
    Call::new(Method::POST, "/").send(gateway.address).await;
    for (outcome, count) in [("granted", 1.0), ("duplicate", 2.0), ("bypassed", 1.0)] {
        let series =
            format!("leasehold_requests_total{{namespace=\"shop\",outcome=\"{outcome}\"}}");
        assert_eq!(gateway.metric(&series).await, Some(count), "{series}");
    }
    assert_eq!(gateway.metric("leasehold_entries").await, Some(1.0));
    assert_eq!(gateway.metric("leasehold_running").await, Some(0.0));
    assert_eq!(gateway.metric("leasehold_lease_lost_total").await, Some(0.0));
}

#[tokio::test]
async fn more_than_may_run_are_refused_before_the_store_is_asked() {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start_with(upstream.address, "max-running = 1", "", &[]).await;
    let open = gate();
    upstream.script("slow", Script::status(201).gate(&open));
    let first = Call::post("/orders", &new_key()).case("slow").send(gateway.address);
    let first = tokio::spawn(first);
    upstream.wait_for_runs("slow", 1).await;
    let second = Call::post("/orders", &new_key());
    assert_eq!(second.clone().send(gateway.address).await.kind(), "overloaded");
    assert_eq!(gateway.metric("leasehold_entries").await, Some(1.0));
    open.add_permits(1);
    assert_eq!(first.await.expect("ran").status, 201);
    let admitted = async { while second.clone().send(gateway.address).await.status != 201 {} };
    soon("a free place", admitted).await;
}

#[tokio::test]
async fn connections_beyond_the_bound_wait_for_a_place() {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start_with(upstream.address, "max-connections = 1", "", &[]).await;
    let get = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n");
    let mut first = Raw::open(gateway.address).await;
    first.send(&get("/first")).await;
    first.until("\r\n\r\n").await;
    let mut second = Raw::open(gateway.address).await;
    second.send(&get("/second")).await;
    // Time enough for the second, if it were let in.
    for _ in 0..20 {
        first.send(&get("/first")).await;
        first.until("\r\n\r\n").await;
    }
    first.close().await;
    second.until("\r\n\r\n").await;
    let requests = upstream.requests("");
    let paths: Vec<_> = requests.iter().map(|(parts, _)| parts.uri.path()).collect();
    assert_eq!(paths.iter().position(|path| *path == "/second"), Some(21));
}

/// A client that writes all of a large request before it reads loses an answer that comes with the
/// connection's end, unless what it has on its way is read.
#[tokio::test]
async fn a_refusal_reaches_a_client_that_writes_everything_first() {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(upstream.address, "").await;
    assert_eq!(Call::post("/orders", "k").send(gateway.address).await.status, 201);
    for _ in 0..10 {
        let mut raw = Raw::open(gateway.address).await;
        raw.send("POST /orders HTTP/1.1\r\nHost: a\r\nIdempotency-Key: k\r\n").await;
        raw.send("Content-Length: 3000000\r\n\r\n").await;
        raw.send(&"x".repeat(3_000_000)).await;
        raw.until("HTTP/1.1 409 ").await;
    }
}

/// What a client holds back until it is told to go on must not be asked for to be thrown away.
#[tokio::test]
async fn a_refusal_never_asks_for_the_body_that_it_refuses() {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(upstream.address, "").await;
    let mut raw = Raw::open(gateway.address).await;
    raw.send(
        "POST /orders HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n",
    )
    .await;
    assert!(raw.rest().await.starts_with("HTTP/1.1 400 "));
}
