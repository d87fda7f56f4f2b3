//! Rules 5.1, 5.2 and 4.9 on real connections: what is replayed, and when it can be.

use http::Method;
use tokio::net::TcpListener;

use super::client::{Answer, Call, Raw};
use super::process::Gateway;
use super::upstream::{Script, Upstream};
use super::{new_key, soon};

const REPLAY: &str = "duplicate = \"replay\"";

/// A gateway that replays, in front of a listener whose connections the case serves itself.
async fn start() -> (TcpListener, Gateway) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    (listener, Gateway::start(address, REPLAY).await)
}

fn is_replay(answer: &Answer) -> bool {
    answer.header("idempotent-replayed") == Some("true")
}

/// A request whose answer the case reads bit by bit.
async fn begin(gateway: &Gateway, key: &str) -> Raw {
    let mut client = Raw::open(gateway.address).await;
    let head = format!("POST /orders HTTP/1.1\r\nHost: shop.test\r\nIdempotency-Key: {key}\r\n");
    client.send(&format!("{head}Content-Length: 2\r\n\r\n{{}}")).await;
    client
}

/// The upstream's end of it, when it has come whole.
async fn serve(listener: &TcpListener) -> Raw {
    let mut upstream = Raw::accept(listener).await;
    upstream.until("\r\n\r\n{}").await;
    upstream
}

#[tokio::test]
async fn both_protocols_get_the_same_replay_with_its_bytes_as_they_were() {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(upstream.address, REPLAY).await;
    let bytes: Vec<u8> = (0..=255).collect();
    let script = Script::status(202)
        .header("content-encoding", "gzip")
        .header("vary", "a")
        .header("set-cookie", "s=1")
        .header("vary", "b")
        .body(bytes.clone());
    upstream.script("bytes", script);
    let call = Call::post("/orders", &new_key()).case("bytes");
    let first = call.clone().send(gateway.address).await;
    assert_eq!((first.status.as_u16(), is_replay(&first), &first.body[..]), (202, false, &*bytes));
    assert_eq!(first.header("set-cookie"), Some("s=1"));
    for again in [call.clone().send(gateway.address).await, call.send_h2(gateway.address).await] {
        assert_eq!(
            (again.status.as_u16(), is_replay(&again), &again.body[..]),
            (202, true, &*bytes)
        );
        assert_eq!(again.headers.get_all("vary").iter().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(again.header("content-encoding"), Some("gzip"));
        assert_eq!(again.header("content-length"), Some("256"));
        assert_eq!(again.header("set-cookie"), None);
    }
    assert_eq!(upstream.runs("bytes"), 1);
}

#[tokio::test]
async fn a_body_in_chunks_is_replayed_once_its_end_is_known() {
    let (listener, gateway) = start().await;
    let key = new_key();
    let mut client = begin(&gateway, &key).await;
    let mut upstream = serve(&listener).await;
    upstream.send("HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n").await;
    client.until("one\r\n").await;
    let again = Call::post("/orders", &key).send(gateway.address).await;
    assert_eq!((again.status.as_u16(), again.kind().as_str()), (409, "not-replayable"));
    assert_eq!(again.header("x-should-retry"), Some("false"));
    upstream.send("3\r\ntwo\r\n0\r\n\r\n").await;
    client.until("two\r\n0\r\n\r\n").await;
    let again = Call::post("/orders", &key).send(gateway.address).await;
    assert_eq!((again.status.as_u16(), &again.body[..]), (201, &b"onetwo"[..]));
    assert_eq!((is_replay(&again), again.header("content-length")), (true, Some("6")));
}

#[tokio::test]
async fn a_body_with_a_length_is_replayable_when_its_last_byte_is_seen() {
    let (listener, gateway) = start().await;
    let key = new_key();
    let mut client = begin(&gateway, &key).await;
    let mut upstream = serve(&listener).await;
    upstream.send("HTTP/1.1 201 Created\r\nContent-Length: 6\r\n\r\none").await;
    client.until("one").await;
    upstream.send("two").await;
    client.until("two").await;
    assert!(is_replay(&Call::post("/orders", &key).send(gateway.address).await));
}

#[tokio::test]
async fn a_response_that_breaks_off_is_never_replayed() {
    for framing in
        ["Content-Length: 9\r\n\r\npart", "Transfer-Encoding: chunked\r\n\r\n4\r\npart\r\n"]
    {
        let (listener, gateway) = start().await;
        let key = new_key();
        let mut client = begin(&gateway, &key).await;
        let mut upstream = serve(&listener).await;
        upstream.send(&format!("HTTP/1.1 201 Created\r\n{framing}")).await;
        client.until("part").await;
        drop(upstream);
        assert!(["", "\r\n"].contains(&client.rest().await.as_str()));
        let again = Call::post("/orders", &key).send(gateway.address).await;
        assert_eq!((again.status.as_u16(), again.kind().as_str()), (409, "not-replayable"));
    }
}

#[tokio::test]
async fn a_response_that_ends_with_its_connection_is_never_replayed() {
    let (listener, gateway) = start().await;
    let key = new_key();
    let client = begin(&gateway, &key).await;
    let mut upstream = serve(&listener).await;
    upstream.send("HTTP/1.1 201 Created\r\n\r\nperhaps a part").await;
    upstream.close().await;
    assert!(client.rest().await.contains("perhaps a part"));
    let again = Call::post("/orders", &key).send(gateway.address).await;
    assert_eq!((again.status.as_u16(), again.kind().as_str()), (409, "not-replayable"));
}

#[tokio::test]
async fn a_client_that_leaves_half_way_gets_the_whole_on_its_next_attempt() {
    let (listener, gateway) = start().await;
    let key = new_key();
    let mut client = begin(&gateway, &key).await;
    let mut upstream = serve(&listener).await;
    upstream.send("HTTP/1.1 201 Created\r\nContent-Length: 6\r\n\r\none").await;
    client.until("one").await;
    drop(client);
    let running = async { while gateway.metric("leasehold_running").await != Some(1.0) {} };
    soon("the reading on", running).await;
    upstream.send("two").await;
    let ended = async { while gateway.metric("leasehold_running").await != Some(0.0) {} };
    soon("its end", ended).await;
    let again = Call::post("/orders", &key).send(gateway.address).await;
    assert_eq!((is_replay(&again), &again.body[..]), (true, &b"onetwo"[..]));
}

#[tokio::test]
async fn a_body_too_large_to_keep_passes_whole_and_is_never_run_again() {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(upstream.address, REPLAY).await;
    for (case, size, replayed) in
        [("kept", 64 << 10, true), ("large", (64 << 10) + 1, false), ("huge", 8 << 20, false)]
    {
        upstream.script(case, Script::status(201).body(vec![b'x'; size]));
        let call = Call::post("/orders", &new_key()).case(case);
        assert_eq!(call.clone().send(gateway.address).await.body.len(), size);
        let again = call.send(gateway.address).await;
        assert_eq!((is_replay(&again), again.kind() == "not-replayable"), (replayed, !replayed));
        assert_eq!(upstream.runs(case), 1);
    }
}

#[tokio::test]
async fn an_answer_to_head_is_replayed_with_its_length_and_without_a_body() {
    let upstream = Upstream::start().await;
    let settings = format!("{REPLAY}\nallowed-methods = [\"HEAD\"]");
    let gateway = Gateway::start(upstream.address, &settings).await;
    upstream.script("head", Script::status(200).body("twelve bytes"));
    let call = Call::new(Method::HEAD, "/orders").header("idempotency-key", "k").case("head");
    for replayed in [false, true] {
        let answer = call.clone().send(gateway.address).await;
        assert_eq!((answer.status.as_u16(), is_replay(&answer)), (200, replayed));
        assert_eq!((answer.header("content-length"), answer.body.len()), (Some("12"), 0));
    }
}

#[tokio::test]
async fn a_replay_is_not_for_other_credentials() {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(upstream.address, REPLAY).await;
    let call = Call::post("/orders", &new_key()).case("owner");
    let of = |who| call.clone().header("authorization", who).send(gateway.address);
    assert_eq!(of("Bearer one").await.status, 201);
    assert_eq!(of("Bearer two").await.kind(), "not-replayable");
    assert!(is_replay(&of("Bearer one").await));
    assert_eq!(upstream.runs("owner"), 1);
}

#[tokio::test]
async fn it_warns_of_policies_that_replay_to_whoever_has_the_key() {
    let upstream = Upstream::start().await;
    let warns = async |settings: &str| {
        let gateway = Gateway::start(upstream.address, settings).await;
        gateway.log().contains("replays with neither")
    };
    assert!(warns(REPLAY).await);
    assert!(warns("[[route]]\npath = \"/a\"\nduplicate = \"replay\"").await);
    assert!(!warns("").await);
    assert!(!warns(&format!("{REPLAY}\nfingerprint = \"json\"")).await);
}
