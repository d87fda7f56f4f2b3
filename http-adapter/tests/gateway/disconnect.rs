//! Rule 4.6: what a client's going away does to its request, by either policy.

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::{TcpListener, TcpStream};

use super::client::{Call, Raw};
use super::process::Gateway;
use super::{new_key, soon};

const CANCEL: &str = "on-disconnect = \"cancel\"";

const CREATED: &str = "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n";

/// A gateway in front of a listener whose connections the case serves itself.
async fn start(settings: &str) -> (TcpListener, Gateway) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    (listener, Gateway::start(address, settings).await)
}

fn post(path: &str, key: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nHost: a\r\nIdempotency-Key: {key}\r\nContent-Length: 2\r\n\r\n{{}}"
    )
}

/// How many leases were released.
const RELEASED: &str = "leasehold_verdicts_total{namespace=\"default\",verdict=\"release\"}";

/// Waits for the first release.
async fn released(gateway: &Gateway) {
    soon("the release", async {
        while gateway.metric(RELEASED).await != Some(1.0) {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

/// Waits until the key was released, and then that it runs again.
async fn runs_again(gateway: &Gateway, listener: &TcpListener, key: &str) {
    released(gateway).await;
    let again = tokio::spawn(Call::post("/orders", key).send(gateway.address));
    let mut upstream = Raw::accept(listener).await;
    upstream.until("\r\n\r\n{}").await;
    upstream.send(CREATED).await;
    assert_eq!(again.await.expect("ran").status, 201);
    assert_eq!(gateway.metric(RELEASED).await, Some(1.0));
    let held = "leasehold_verdicts_total{namespace=\"default\",verdict=\"hold\"}";
    assert_eq!(gateway.metric(held).await, Some(0.0));
}

#[tokio::test]
async fn cancel_drops_the_exchange_of_a_closed_connection_and_frees_the_key() {
    let (listener, gateway) = start(CANCEL).await;
    let key = new_key();
    let mut client = Raw::open(gateway.address).await;
    client.send(&post("/orders", &key)).await;
    let mut upstream = Raw::accept(&listener).await;
    upstream.until("\r\n\r\n{}").await;
    let duplicate = Call::post("/orders", &key).send(gateway.address).await;
    assert_eq!(duplicate.kind(), "in-flight");
    drop(client);
    assert_eq!(upstream.rest().await, "");
    runs_again(&gateway, &listener, &key).await;
}

#[tokio::test]
async fn cancel_takes_the_end_of_input_for_the_clients_going() {
    let (listener, gateway) = start(CANCEL).await;
    let key = new_key();
    let mut client = Raw::open(gateway.address).await;
    client.send(&post("/orders", &key)).await;
    let mut upstream = Raw::accept(&listener).await;
    upstream.until("\r\n\r\n{}").await;
    client.close().await;
    assert_eq!(upstream.rest().await, "");
    runs_again(&gateway, &listener, &key).await;
}

#[tokio::test]
async fn cancel_drops_the_exchange_of_a_stream_that_is_reset_and_frees_the_key() {
    let (listener, gateway) = start(CANCEL).await;
    let key = new_key();
    let stream = TokioIo::new(TcpStream::connect(gateway.address).await.expect("a listener"));
    let handshake = hyper::client::conn::http2::handshake(TokioExecutor::new(), stream);
    let (mut sender, connection) = soon("HTTP/2", handshake).await.expect("HTTP/2");
    let _connection = tokio::spawn(connection);
    let request = Request::post("http://a/orders").header("idempotency-key", &key);
    let request = request.body(Full::new(Bytes::from("{}"))).expect("a request");
    let running = tokio::spawn(sender.send_request(request));
    let mut upstream = Raw::accept(&listener).await;
    upstream.until("\r\n\r\n{}").await;
    running.abort();
    assert_eq!(upstream.rest().await, "");
    runs_again(&gateway, &listener, &key).await;
}

#[tokio::test]
async fn cancel_frees_the_key_of_a_request_whose_client_went_right_behind_it() {
    let (listener, gateway) = start(CANCEL).await;
    let key = new_key();
    // Not asynchronous, so that nothing comes between the last byte and the end.
    let mut client = std::net::TcpStream::connect(gateway.address).expect("a listener");
    std::io::Write::write_all(&mut client, post("/orders", &key).as_bytes()).expect("written");
    drop(client);
    runs_again_after_any(&gateway, &listener, &key).await;
}

/// The same where the first may have reached the upstream or not.
async fn runs_again_after_any(gateway: &Gateway, listener: &TcpListener, key: &str) {
    released(gateway).await;
    let again = tokio::spawn(Call::post("/orders", key).send(gateway.address));
    let served = async {
        loop {
            let (stream, _) = listener.accept().await.expect("accepted");
            let mut upstream = Raw::of(stream);
            if upstream.has_come("\r\n\r\n{}").await {
                upstream.send(CREATED).await;
            }
            if again.is_finished() {
                return;
            }
        }
    };
    tokio::select! {
        () = served => {}
        () = async { while !again.is_finished() { tokio::task::yield_now().await; } } => {}
    }
    assert_eq!(again.await.expect("ran").status, 201);
}

/// The head of an upload that is larger than all buffers on the way.
fn large_post(key: &str) -> String {
    format!(
        "POST /orders HTTP/1.1\r\nHost: a\r\nIdempotency-Key: {key}\r\n\
         Content-Length: 100000000\r\n\r\n"
    )
}

#[tokio::test]
async fn cancel_notices_a_client_that_breaks_while_the_upstream_reads_nothing() {
    let (listener, gateway) = start(CANCEL).await;
    let key = new_key();
    let mut client = Raw::open(gateway.address).await;
    client.send(&large_post(&key)).await;
    let mut upstream = Raw::accept(&listener).await;
    upstream.until("\r\n\r\n").await;
    client.send_until_stuck("x").await;
    client.reset();
    released(&gateway).await;
    upstream.rest().await;
    runs_again(&gateway, &listener, &key).await;
}

#[tokio::test]
async fn cancel_notices_the_end_of_input_behind_a_stray_byte_or_another_request() {
    let (listener, gateway) = start(CANCEL).await;
    for behind in ["x", "GET / HTTP/1.1\r\nHost: a\r\n\r\n"] {
        let released = gateway.metric(RELEASED).await;
        let mut client = Raw::open(gateway.address).await;
        client.send(&format!("{}{behind}", post("/orders", &new_key()))).await;
        let mut upstream = Raw::accept(&listener).await;
        upstream.until("\r\n\r\n{}").await;
        client.close().await;
        assert_eq!(upstream.rest().await, "", "{behind:?}");
        soon("the release", async {
            while gateway.metric(RELEASED).await == released {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }
}

#[tokio::test]
async fn what_passes_unprotected_ends_with_its_client_behind_a_stray_byte_too() {
    let (listener, gateway) = start("").await;
    let mut client = Raw::open(gateway.address).await;
    client.send("GET /events HTTP/1.1\r\nHost: a\r\n\r\nx").await;
    let mut upstream = Raw::accept(&listener).await;
    upstream.until("\r\n\r\n").await;
    upstream.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n").await;
    client.until("1\r\na\r\n").await;
    drop(client);
    assert_eq!(upstream.rest().await, "");
}

#[tokio::test]
async fn finish_passes_a_whole_upload_on_though_its_client_has_left_meanwhile() {
    let (listener, gateway) = start("").await;
    let key = new_key();
    let mut client = Raw::open(gateway.address).await;
    // Far more than is read before the upstream takes any of it, and less than the buffers hold.
    let body = "x".repeat(1_000_000);
    client
        .send(&format!(
            "POST /orders HTTP/1.1\r\nHost: a\r\nIdempotency-Key: {key}\r\n\
             Content-Length: 1000000\r\n\r\n{body}"
        ))
        .await;
    let mut upstream = Raw::accept(&listener).await;
    upstream.until("\r\n\r\n").await;
    client.end().await;
    let again = Call::post("/orders", &key);
    assert_eq!(again.clone().send(gateway.address).await.kind(), "in-flight");
    upstream.until(&body).await;
    upstream.send(CREATED).await;
    soon("the commit", async {
        while again.clone().send(gateway.address).await.kind() != "duplicate" {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_route_that_cancels_leaves_its_neighbours_to_finish() {
    let (listener, gateway) =
        start("[[route]]\npath = \"/cancel\"\non-disconnect = \"cancel\"").await;
    let mut upstreams = Vec::new();
    for path in ["/cancel", "/finish"] {
        let mut client = Raw::open(gateway.address).await;
        client.send(&post(path, "k")).await;
        let mut upstream = Raw::accept(&listener).await;
        upstream.until("\r\n\r\n{}").await;
        upstreams.push((path, upstream));
        client.close().await;
    }
    for (path, mut upstream) in upstreams {
        if path == "/cancel" {
            assert_eq!(upstream.rest().await, "");
        } else {
            upstream.send(CREATED).await;
            let duplicate = Call::post(path, "k");
            soon("the commit", async {
                while duplicate.clone().send(gateway.address).await.kind() != "duplicate" {
                    tokio::task::yield_now().await;
                }
            })
            .await;
        }
    }
}

#[tokio::test]
async fn finish_runs_on_when_a_client_ends_its_side_and_the_answer_is_lost() {
    let (listener, gateway) = start("").await;
    let key = new_key();
    let mut client = Raw::open(gateway.address).await;
    client.send(&post("/orders", &key)).await;
    let mut upstream = Raw::accept(&listener).await;
    upstream.until("\r\n\r\n{}").await;
    // Ends its own side alone, and reads on: nothing comes.
    client.close().await;
    let call = Call::post("/orders", &key);
    assert_eq!(call.clone().send(gateway.address).await.kind(), "in-flight");
    upstream.send(CREATED).await;
    soon("the verdict", async {
        while call.clone().send(gateway.address).await.kind() != "duplicate" {
            tokio::task::yield_now().await;
        }
    })
    .await;
}
