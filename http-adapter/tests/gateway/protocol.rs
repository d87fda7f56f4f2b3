//! HTTP itself: what passes, what stops here, and what is refused.

use http::Method;
use tokio::net::TcpListener;

use super::client::{Call, Raw};
use super::new_key;
use super::process::Gateway;
use super::upstream::{Script, Upstream};

/// A gateway in front of a listener whose connections the case serves itself.
async fn start() -> (TcpListener, Gateway) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    (listener, Gateway::start(address, "").await)
}

#[tokio::test]
async fn http2_with_prior_knowledge_works_on_the_same_port() {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(upstream.address, "").await;
    let call = Call::post("/orders?a=1", &new_key()).case("h2").header("x-a", "1");
    assert_eq!(call.clone().send_h2(gateway.address).await.status, 201);
    assert_eq!(call.clone().send_h2(gateway.address).await.kind(), "duplicate");
    assert_eq!(call.send(gateway.address).await.kind(), "duplicate");
    let [(parts, body)] = &upstream.requests("h2")[..] else { panic!("not one run") };
    assert_eq!((parts.uri.to_string().as_str(), &body[..]), ("/orders?a=1", &b"{}"[..]));
    assert_eq!(
        (&parts.headers["host"], &parts.headers["x-a"]),
        (&"shop.test".parse().expect("a value"), &"1".parse().expect("a value"))
    );
}

#[tokio::test]
async fn transfer_encoding_wins_over_content_length_and_the_connection_ends() {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(upstream.address, "").await;
    for framing in [
        "Content-Length: 3\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 3",
    ] {
        let key = new_key();
        let mut raw = Raw::open(gateway.address).await;
        let head =
            format!("POST /a HTTP/1.1\r\nHost: a\r\nX-Case: {key}\r\nIdempotency-Key: {key}");
        let smuggled = "GET /smuggled HTTP/1.1\r\nHost: a\r\nX-Case: smuggled\r\n\r\n";
        raw.send(&format!("{head}\r\n{framing}\r\n\r\n2\r\n{{}}\r\n0\r\n\r\n{smuggled}")).await;
        let all = raw.rest().await;
        assert_eq!(all.matches("HTTP/1.1 ").count(), 1, "{all}");
        let [(parts, body)] = &upstream.requests(&key)[..] else { panic!("not one run") };
        assert!(
            !(parts.headers.contains_key("content-length")
                && parts.headers.contains_key("transfer-encoding"))
        );
        assert_eq!(&body[..], b"{}");
    }
    assert_eq!(upstream.runs("smuggled"), 0);
}

#[tokio::test]
async fn what_two_servers_may_read_differently_is_refused_and_the_connection_ends() {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(upstream.address, "").await;
    for (request, status) in [
        ("POST / HTTP/1.1\r\nIdempotency-Key: k", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nHost: a\r\nIdempotency-Key: k", 400),
        ("CONNECT a:80 HTTP/1.1\r\nHost: a:80", 501),
        (
            "POST / HTTP/1.1\r\nHost: a\r\nIdempotency-Key: k\r\nTransfer-Encoding: gzip, chunked",
            501,
        ),
        ("POST / HTTP/1.1\r\nHost: a\r\nIdempotency-Key: k\r\nTransfer-Encoding: gzip", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nIdempotency-Key: k\x7f", 400),
    ] {
        let mut raw = Raw::open(gateway.address).await;
        raw.send(&format!("{request}\r\n\r\n")).await;
        let answer = raw.rest().await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{request:?}: {answer:?}");
    }
    assert_eq!(upstream.runs(""), 0);
}

#[tokio::test]
async fn a_head_that_is_too_large_is_431() {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(upstream.address, "").await;
    let mut raw = Raw::open(gateway.address).await;
    raw.send(&format!("GET / HTTP/1.1\r\nHost: a\r\nX: {}", "x".repeat(70_000))).await;
    assert!(raw.rest().await.starts_with("HTTP/1.1 431 "));
}

#[tokio::test]
async fn hop_by_hop_headers_stop_here_and_forwarding_headers_are_added() {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(upstream.address, "").await;
    let script = Script::status(201).header("connection", "x-back").header("x-back", "1");
    upstream.script("hop", script.header("keep-alive", "timeout=5").header("x-stay", "1"));
    let call = Call::post("/orders", &new_key()).case("hop").header("connection", "x-hop");
    let call = call.header("x-hop", "1").header("te", "trailers").header("proxy-connection", "x");
    let call = call.header("keep-alive", "timeout=5").header("x-end", "1");
    let answer = call.header("x-forwarded-for", "10.0.0.1").send(gateway.address).await;
    let [(parts, _)] = &upstream.requests("hop")[..] else { panic!("not one run") };
    for name in ["connection", "x-hop", "te", "proxy-connection", "keep-alive"] {
        assert!(!parts.headers.contains_key(name), "{name}");
    }
    for (name, value) in [
        ("x-end", "1"),
        ("x-forwarded-for", "10.0.0.1, 127.0.0.1"),
        ("x-forwarded-proto", "http"),
        ("x-forwarded-host", "shop.test"),
        ("host", "shop.test"),
    ] {
        assert_eq!(parts.headers[name], value, "{name}");
    }
    assert_eq!((answer.header("x-back"), answer.header("keep-alive")), (None, None));
    assert_eq!(answer.header("x-stay"), Some("1"));
}

const UPGRADE: &str = "Connection: Upgrade\r\nUpgrade: chat\r\n";
const SWITCH: &str = "HTTP/1.1 101 X\r\nConnection: upgrade\r\nUpgrade: chat\r\n\r\n";

#[tokio::test]
async fn an_unprotected_upgrade_is_tunnelled() {
    let (listener, gateway) = start().await;
    let mut client = Raw::open(gateway.address).await;
    client.send(&format!("GET /chat HTTP/1.1\r\nHost: a\r\n{UPGRADE}\r\n")).await;
    let mut upstream = Raw::accept(&listener).await;
    let head = upstream.until("\r\n\r\n").await.to_lowercase();
    assert!(head.contains("upgrade: chat") && head.contains("connection: upgrade"), "{head}");
    upstream.send(&format!("{SWITCH}hello")).await;
    let head = client.until("\r\n\r\n").await.to_lowercase();
    assert!(head.starts_with("http/1.1 101 ") && head.contains("upgrade: chat"), "{head}");
    client.until("hello").await;
    client.send("and back").await;
    upstream.until("and back").await;
    drop(client);
    assert_eq!(upstream.rest().await, "");
}

#[tokio::test]
async fn protected_upgrades_and_those_to_http_are_dropped() {
    let (listener, gateway) = start().await;
    let key = new_key();
    let protected = format!("Idempotency-Key: {key}\r\nContent-Length: 0\r\n{UPGRADE}");
    let to_http = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\n";
    let quoted = "Connection: Upgrade\r\nUpgrade: \"h2c\"\r\n";
    let other_case = "Connection: Upgrade\r\nUpgrade: chat, H2C\r\n";
    for (method, headers) in [
        ("POST", protected.as_str()),
        ("GET", to_http),
        ("GET", quoted),
        ("GET", other_case),
        ("GET", "Upgrade: chat\r\n"),
    ] {
        let mut client = Raw::open(gateway.address).await;
        client.send(&format!("{method} / HTTP/1.1\r\nHost: a\r\n{headers}\r\n")).await;
        let mut upstream = Raw::accept(&listener).await;
        let head = upstream.until("\r\n\r\n").await.to_lowercase();
        assert!(!head.contains("upgrade") && !head.contains("http2-settings"), "{head}");
        // An upstream that switches all the same has lost its mind: nobody knows what it did.
        upstream.send(SWITCH).await;
        assert!(client.until("\r\n\r\n").await.starts_with("HTTP/1.1 502 "));
    }
    assert_eq!(Call::post("/", &key).send(gateway.address).await.kind(), "in-flight");
}

#[tokio::test]
async fn a_switch_to_http_in_place_of_what_was_asked_for_is_no_tunnel() {
    let (listener, gateway) = start().await;
    let mut client = Raw::open(gateway.address).await;
    client.send(&format!("GET /chat HTTP/1.1\r\nHost: a\r\n{UPGRADE}\r\n")).await;
    let mut upstream = Raw::accept(&listener).await;
    upstream.until("\r\n\r\n").await;
    let switch = "HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: \"h2c\"\r\n\r\n";
    upstream.send(switch).await;
    assert!(client.until("\r\n\r\n").await.starts_with("HTTP/1.1 502 "));
}

#[tokio::test]
async fn continue_is_sent_only_once_a_request_is_admitted() {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(upstream.address, "").await;
    let key = new_key();
    let head = format!(
        "POST / HTTP/1.1\r\nHost: a\r\nX-Case: expects\r\nIdempotency-Key: {key}\r\n\
         Content-Length: 2\r\nExpect: 100-continue\r\n\r\n"
    );
    let mut first = Raw::open(gateway.address).await;
    first.send(&head).await;
    assert_eq!(first.until("\r\n\r\n").await, "HTTP/1.1 100 Continue\r\n\r\n");
    first.send("{}").await;
    assert!(first.until("\r\n\r\n").await.starts_with("HTTP/1.1 201 "));
    let mut second = Raw::open(gateway.address).await;
    second.send(&head).await;
    assert!(second.rest().await.starts_with("HTTP/1.1 409 "));
    let [(parts, _)] = &upstream.requests("expects")[..] else { panic!("not one run") };
    assert!(!parts.headers.contains_key("expect"));
}

#[tokio::test]
async fn bodies_stream_both_ways_and_interim_responses_stop_here() {
    let (listener, gateway) = start().await;
    let key = new_key();
    let mut client = Raw::open(gateway.address).await;
    let head = format!("POST / HTTP/1.1\r\nHost: a\r\nIdempotency-Key: {key}\r\n");
    client.send(&format!("{head}Content-Length: 6\r\n\r\nabc")).await;
    let mut upstream = Raw::accept(&listener).await;
    upstream.until("abc").await;
    client.send("def").await;
    upstream.until("def").await;
    upstream.send("HTTP/1.1 103 X\r\nX-Interim: 1\r\n\r\n").await;
    upstream.send("HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nghi\r\n").await;
    let head = client.until("ghi").await;
    assert!(head.starts_with("HTTP/1.1 200 ") && !head.contains("nterim"), "{head}");
    // The verdict has fallen although the body has not ended.
    assert_eq!(Call::post("/", &key).send(gateway.address).await.kind(), "duplicate");
    upstream.send("3\r\njkl\r\n0\r\n\r\n").await;
    client.until("jkl\r\n0\r\n\r\n").await;
}

#[tokio::test]
async fn a_response_that_breaks_off_does_so_for_the_client_too_and_stays_committed() {
    let (listener, gateway) = start().await;
    let key = new_key();
    let mut client = Raw::open(gateway.address).await;
    let head = format!("POST / HTTP/1.1\r\nHost: a\r\nIdempotency-Key: {key}\r\n");
    client.send(&format!("{head}Content-Length: 0\r\n\r\n")).await;
    let mut upstream = Raw::accept(&listener).await;
    upstream.until("\r\n\r\n").await;
    upstream.send("HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nghi\r\n").await;
    client.until("ghi\r\n").await;
    drop(upstream);
    assert_eq!(client.rest().await, "");
    assert_eq!(Call::post("/", &key).send(gateway.address).await.kind(), "duplicate");
}

#[tokio::test]
async fn one_connection_carries_many_requests_on_both_sides() {
    let (listener, gateway) = start().await;
    let mut client = Raw::open(gateway.address).await;
    client.send("GET /0 HTTP/1.1\r\nHost: a\r\n\r\n").await;
    let mut upstream = Raw::accept(&listener).await;
    for number in 1..5 {
        upstream.until("\r\n\r\n").await;
        upstream.send("HTTP/1.1 200 X\r\nContent-Length: 2\r\n\r\nok").await;
        client.until("ok").await;
        client.send(&format!("GET /{number} HTTP/1.1\r\nHost: a\r\n\r\n")).await;
    }
    assert!(upstream.until("\r\n\r\n").await.starts_with("GET /4 HTTP/1.1\r\n"));
}

#[tokio::test]
async fn old_and_unusual_targets_pass() {
    let (listener, gateway) = start().await;
    for (request, line, host) in [
        (
            "GET /a HTTP/1.0\r\n\r\n",
            "GET /a HTTP/1.1",
            listener.local_addr().expect("an address").to_string(),
        ),
        ("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", "OPTIONS * HTTP/1.1", "a".to_owned()),
        ("GET http://b/x?y HTTP/1.1\r\nHost: a\r\n\r\n", "GET /x?y HTTP/1.1", "b".to_owned()),
        (
            "GET //a/../%2e?x=%zz HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET //a/../%2e?x=%zz HTTP/1.1",
            "a".to_owned(),
        ),
    ] {
        let mut client = Raw::open(gateway.address).await;
        client.send(request).await;
        let mut upstream = Raw::accept(&listener).await;
        let head = upstream.until("\r\n\r\n").await;
        assert!(head.starts_with(&format!("{line}\r\n")), "{request:?}: {head:?}");
        assert!(head.to_lowercase().contains(&format!("\r\nhost: {host}\r\n")), "{head:?}");
        upstream.send("HTTP/1.1 200 X\r\nConnection: close\r\nContent-Length: 0\r\n\r\n").await;
        assert!(client.until("\r\n\r\n").await.contains(" 200 "));
    }
}

#[tokio::test]
async fn head_has_no_body() {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(upstream.address, "allowed-methods = [\"HEAD\"]").await;
    upstream.script("head", Script::status(200).body("four"));
    let call = Call::new(Method::HEAD, "/").header("idempotency-key", "k").case("head");
    let first = call.clone().send(gateway.address).await;
    assert_eq!((first.status.as_u16(), first.header("content-length")), (200, Some("4")));
    assert_eq!(call.send(gateway.address).await.status, 409);
    let mut raw = Raw::open(gateway.address).await;
    raw.send("HEAD / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").await;
    let answer = raw.rest().await;
    assert!(answer.starts_with("HTTP/1.1 400 ") && answer.ends_with("\r\n\r\n"), "{answer:?}");
}

#[tokio::test]
async fn a_response_of_many_headers_passes() {
    let (listener, gateway) = start().await;
    let mut client = Raw::open(gateway.address).await;
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
    let mut upstream = Raw::accept(&listener).await;
    upstream.until("\r\n\r\n").await;
    let many: String = (0..200).map(|number| format!("x-{number}: {number}\r\n")).collect();
    upstream.send(&format!("HTTP/1.1 200 X\r\nContent-Length: 2\r\n{many}\r\nok")).await;
    let answer = client.until("\r\n\r\nok").await;
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("x-199: 199\r\n"), "{answer}");
}

#[tokio::test]
async fn a_response_with_two_lengths_is_read_by_its_chunks() {
    let (listener, gateway) = start().await;
    let call = tokio::spawn(Call::new(Method::GET, "/").send(gateway.address));
    let mut upstream = Raw::accept(&listener).await;
    upstream.until("\r\n\r\n").await;
    let head = "HTTP/1.1 200 X\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n";
    upstream.send(&format!("{head}4\r\nfour\r\n0\r\n\r\n")).await;
    assert_eq!(&call.await.expect("answered").body[..], b"four");
}
