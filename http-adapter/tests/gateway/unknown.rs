//! What happens to the key when the upstream does not answer, or the client does not finish:
//! only what certainly never ran is released.

use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::client::{Answer, Call, Raw};
use super::process::Gateway;
use super::upstream::{Script, Upstream, gate};
use super::{new_key, soon};

/// A small answer that keeps its connection.
const CREATED: &str = "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n";

/// A gateway in front of a listener whose connections the case serves itself.
async fn start(top: &str, settings: &str) -> (TcpListener, Gateway) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    (listener, Gateway::start_with(address, top, settings, &[]).await)
}

fn post(gateway: &Gateway, key: &str) -> JoinHandle<Answer> {
    tokio::spawn(Call::post("/orders", key).send(gateway.address))
}

async fn kind(call: JoinHandle<Answer>) -> (u16, String) {
    let answer = call.await.expect("answered");
    (answer.status.as_u16(), answer.kind())
}

fn of(status: u16, kind: &str) -> (u16, String) {
    (status, kind.to_owned())
}

#[tokio::test]
async fn an_upstream_that_breaks_off_is_502_and_holds_the_key() {
    let (listener, gateway) = start("", "").await;
    let key = new_key();
    let call = post(&gateway, &key);
    let mut upstream = Raw::accept(&listener).await;
    upstream.until("\r\n\r\n{}").await;
    drop(upstream);
    assert_eq!(kind(call).await, of(502, "bad-gateway"));
    assert_eq!(kind(post(&gateway, &key)).await, of(409, "in-flight"));
}

#[tokio::test]
async fn an_unknown_outcome_may_be_released_by_configuration() {
    let (listener, gateway) = start("", "on-unknown-outcome = \"release\"").await;
    let key = new_key();
    for _ in 0..2 {
        let call = post(&gateway, &key);
        let mut upstream = Raw::accept(&listener).await;
        upstream.until("\r\n\r\n{}").await;
        drop(upstream);
        assert_eq!(kind(call).await, of(502, "bad-gateway"));
    }
}

#[tokio::test]
async fn a_response_whose_head_is_too_large_is_502_and_never_runs_again() {
    let large = format!("x-large: {}\r\n", "x".repeat(200_000));
    let many: String = (0..300).map(|number| format!("x-{number}: {number}\r\n")).collect();
    for headers in [large, many] {
        let (listener, gateway) = start("", "duplicate = \"replay\"\nhold-ttl = \"10ms\"").await;
        let key = new_key();
        let call = post(&gateway, &key);
        let mut upstream = Raw::accept(&listener).await;
        upstream.until("\r\n\r\n{}").await;
        upstream.send(&format!("HTTP/1.1 201 X\r\n{headers}Content-Length: 0\r\n\r\n")).await;
        assert_eq!(kind(call).await, of(502, "bad-gateway"));
        assert_eq!(kind(post(&gateway, &key)).await, of(409, "not-replayable"));
    }
}

#[tokio::test]
async fn a_held_key_is_free_after_its_time() {
    let (listener, gateway) = start("", "hold-ttl = \"300ms\"").await;
    let key = new_key();
    let call = post(&gateway, &key);
    let mut upstream = Raw::accept(&listener).await;
    upstream.until("\r\n\r\n{}").await;
    drop(upstream);
    assert_eq!(kind(call).await, of(502, "bad-gateway"));
    let again = tokio::spawn(async move {
        let mut upstream = Raw::accept(&listener).await;
        upstream.until("\r\n\r\n{}").await;
        upstream.send(CREATED).await;
    });
    soon("the end of the hold", async {
        while kind(post(&gateway, &key)).await != of(201, "") {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    })
    .await;
    again.await.expect("asked again");
}

#[tokio::test]
async fn an_upstream_without_an_answer_in_time_is_504_and_holds_the_key() {
    for (settings, again) in
        [("", (409, "in-flight")), ("on-unknown-outcome = \"release\"", (504, "gateway-timeout"))]
    {
        let upstream = Upstream::start().await;
        let top = "upstream-timeout = \"300ms\"";
        let gateway = Gateway::start_with(upstream.address, top, settings, &[]).await;
        upstream.script("stuck", Script::status(201).gate(&gate()));
        let call = Call::post("/orders", &new_key()).case("stuck");
        let first = call.clone().send(gateway.address).await;
        assert_eq!((first.status.as_u16(), first.kind().as_str()), (504, "gateway-timeout"));
        let second = call.send(gateway.address).await;
        assert_eq!((second.status.as_u16(), second.kind().as_str()), again);
    }
}

#[tokio::test]
async fn a_request_that_a_kept_connection_swallowed_is_never_sent_again() {
    let (listener, gateway) = start("", "").await;
    let first = post(&gateway, &new_key());
    let mut upstream = Raw::accept(&listener).await;
    upstream.until("\r\n\r\n{}").await;
    upstream.send(CREATED).await;
    assert_eq!(kind(first).await, of(201, ""));
    let key = new_key();
    let second = post(&gateway, &key);
    // The same connection carries the second request, and ends when it has all of it.
    upstream.until("\r\n\r\n{}").await;
    drop(upstream);
    assert_eq!(kind(second).await, of(502, "bad-gateway"));
    assert_eq!(kind(post(&gateway, &key)).await, of(409, "in-flight"));
}

#[tokio::test]
async fn a_kept_connection_that_was_closed_is_replaced() {
    let (listener, gateway) = start("", "").await;
    for _ in 0..3 {
        let call = post(&gateway, &new_key());
        let mut upstream = Raw::accept(&listener).await;
        upstream.until("\r\n\r\n{}").await;
        upstream.send(CREATED).await;
        assert_eq!(kind(call).await, of(201, ""));
        upstream.close().await;
    }
}

#[tokio::test]
async fn an_upload_that_its_client_broke_off_frees_the_key() {
    for framing in
        ["Content-Length: 10\r\n\r\n12345", "Transfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n"]
    {
        let (listener, gateway) = start("", "hold-ttl = \"1h\"").await;
        let key = new_key();
        let mut client = Raw::open(gateway.address).await;
        let head = format!("POST /orders HTTP/1.1\r\nHost: a\r\nIdempotency-Key: {key}\r\n");
        client.send(&format!("{head}{framing}")).await;
        let mut upstream = Raw::accept(&listener).await;
        upstream.until("12345").await;
        assert_eq!(kind(post(&gateway, &key)).await, of(409, "in-flight"));
        drop(client);
        // What follows never looks like the end of a whole body.
        assert!(["", "\r\n"].contains(&upstream.rest().await.as_str()), "{framing:?}");
        let served = tokio::spawn(async move {
            let mut upstream = Raw::accept(&listener).await;
            upstream.until("\r\n\r\n{}").await;
            upstream.send(CREATED).await;
        });
        let freed = async { while kind(post(&gateway, &key)).await != of(201, "") {} };
        soon("the release", freed).await;
        served.await.expect("served");
    }
}

#[tokio::test]
async fn an_upload_that_its_client_broke_off_frees_the_key_though_the_upstream_reads_nothing() {
    for breaks in [false, true] {
        let (listener, gateway) = start("upstream-timeout = \"1s\"", "hold-ttl = \"1h\"").await;
        let key = new_key();
        let mut client = Raw::open(gateway.address).await;
        let head = format!("POST /orders HTTP/1.1\r\nHost: a\r\nIdempotency-Key: {key}\r\n");
        client.send(&format!("{head}Content-Length: 100000000\r\n\r\n")).await;
        let mut upstream = Raw::accept(&listener).await;
        upstream.until("\r\n\r\n").await;
        client.send_until_stuck("x").await;
        if breaks {
            client.reset();
        } else {
            drop(client);
        }
        let served = tokio::spawn(async move {
            let mut upstream = Raw::accept(&listener).await;
            upstream.until("\r\n\r\n{}").await;
            upstream.send(CREATED).await;
        });
        let freed = async { while kind(post(&gateway, &key)).await != of(201, "") {} };
        soon("the release", freed).await;
        served.await.expect("served");
    }
}

#[tokio::test]
async fn an_upload_that_takes_too_long_is_408_and_frees_the_key() {
    let (listener, gateway) = start("body-read-timeout = \"300ms\"", "").await;
    let key = new_key();
    let mut client = Raw::open(gateway.address).await;
    let head = format!("POST /orders HTTP/1.1\r\nHost: a\r\nIdempotency-Key: {key}\r\n");
    client.send(&format!("{head}Content-Length: 10\r\n\r\n12345")).await;
    let mut upstream = Raw::accept(&listener).await;
    upstream.until("12345").await;
    assert!(client.rest().await.starts_with("HTTP/1.1 408 "));
    assert_eq!(upstream.rest().await, "");
    let again = post(&gateway, &key);
    let mut upstream = Raw::accept(&listener).await;
    upstream.until("\r\n\r\n{}").await;
    upstream.send(CREATED).await;
    assert_eq!(kind(again).await, of(201, ""));
}

#[tokio::test]
async fn an_answer_before_the_uploads_end_reaches_the_client() {
    let (listener, gateway) = start("", "").await;
    let mut client = Raw::open(gateway.address).await;
    let head = format!("POST /orders HTTP/1.1\r\nHost: a\r\nIdempotency-Key: {}\r\n", new_key());
    client.send(&format!("{head}Content-Length: 1000000\r\n\r\n12345")).await;
    let mut upstream = Raw::accept(&listener).await;
    upstream.until("12345").await;
    upstream.send("HTTP/1.1 413 X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").await;
    assert!(client.until("\r\n\r\n").await.starts_with("HTTP/1.1 413 "));
}

#[tokio::test]
async fn the_upstreams_own_verdict_wins_and_is_not_passed_on() {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(upstream.address, "").await;
    for (status, verdict, again) in [
        (200, "release", (200, "")),
        (200, "hold", (409, "in-flight")),
        (500, "commit", (409, "duplicate")),
        (500, "perhaps", (500, "")),
        (500, "commit, commit", (409, "duplicate")),
        (200, "commit, release", (409, "in-flight")),
    ] {
        let case = format!("{status}-{verdict}");
        let script = Script::status(status).header("idempotency-verdict", verdict);
        upstream.script(&case, script);
        let call = Call::post("/orders", &new_key()).case(&case);
        let first = call.clone().send(gateway.address).await;
        assert_eq!((first.status.as_u16(), first.header("idempotency-verdict")), (status, None));
        let second = call.send(gateway.address).await;
        assert_eq!((second.status.as_u16(), second.kind().as_str()), again, "{case}");
    }
}

/// Waits until a gateway has as few files open as `count`.
async fn files_are_given_back(gateway: &Gateway, count: usize) {
    soon("the end of the connections", async {
        while gateway.open_files() > count {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    })
    .await;
}

/// Far more than all buffers on the way take.
fn endless_post(key: &str) -> Call {
    Call::post("/orders", key).body(vec![b'x'; 30_000_000])
}

#[tokio::test]
async fn an_upstream_that_reads_no_further_is_504_and_keeps_nothing_open() {
    let (listener, gateway) = start("upstream-timeout = \"300ms\"", "").await;
    let files = gateway.open_files();
    let key = new_key();
    let call = tokio::spawn(endless_post(&key).send(gateway.address));
    let _unread = Raw::accept(&listener).await;
    assert_eq!(kind(call).await, of(504, "gateway-timeout"));
    assert_eq!(kind(post(&gateway, &key)).await, of(409, "in-flight"));
    files_are_given_back(&gateway, files).await;
}

#[tokio::test]
async fn an_answered_upload_that_nobody_reads_keeps_nothing_open() {
    let (listener, gateway) = start("upstream-timeout = \"300ms\"", "").await;
    let files = gateway.open_files();
    let mut client = Raw::open(gateway.address).await;
    let head = format!("POST /orders HTTP/1.1\r\nHost: a\r\nIdempotency-Key: {}\r\n", new_key());
    client.send(&format!("{head}Content-Length: 30000000\r\n\r\n")).await;
    let mut upstream = Raw::accept(&listener).await;
    upstream.until("\r\n\r\n").await;
    upstream.send(CREATED).await;
    assert!(client.until("\r\n\r\n").await.starts_with("HTTP/1.1 201 "));
    client.send_until_closed("x").await;
    files_are_given_back(&gateway, files).await;
}

#[tokio::test]
async fn an_answered_upload_that_its_client_never_ends_keeps_nothing_open() {
    let (listener, gateway) = start("body-read-timeout = \"300ms\"", "").await;
    let files = gateway.open_files();
    let mut client = Raw::open(gateway.address).await;
    let head = format!("POST /orders HTTP/1.1\r\nHost: a\r\nIdempotency-Key: {}\r\n", new_key());
    client.send(&format!("{head}Content-Length: 10\r\n\r\n12345")).await;
    let mut upstream = Raw::accept(&listener).await;
    upstream.until("12345").await;
    upstream.send(CREATED).await;
    assert!(client.until("\r\n\r\n").await.starts_with("HTTP/1.1 201 "));
    assert_eq!(upstream.rest().await, "");
    assert_eq!(client.rest().await, "");
    files_are_given_back(&gateway, files).await;
}
