//! Rule 5.3 on real connections: uploads that are held back arrive unchanged, or not at all.

use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};

use super::client::{Call, Raw};
use super::process::Gateway;
use super::upstream::Upstream;
use super::{new_key, soon};

const RAW: &str = "fingerprint = \"raw\"\nmax-fingerprint-body = \"1KiB\"";

fn head(key: &str, more: &str) -> String {
    format!("POST /orders HTTP/1.1\r\nHost: shop.test\r\nIdempotency-Key: {key}\r\n{more}\r\n\r\n")
}

#[tokio::test]
async fn the_upstream_gets_what_was_compared_and_other_bodies_are_422() {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(upstream.address, RAW).await;
    for (case, h2) in [("old", false), ("new", true)] {
        let bytes: Vec<u8> = (0..=255).cycle().take(1024).collect();
        let call = Call::post("/orders", &new_key()).case(case);
        let send = async |body: Vec<u8>| {
            let call = call.clone().body(body);
            let address = gateway.address;
            if h2 { call.send_h2(address).await } else { call.send(address).await }
        };
        assert_eq!(send(bytes.clone()).await.status, 201);
        assert_eq!(upstream.requests(case)[0].1, bytes);
        assert_eq!(send(bytes).await.kind(), "duplicate");
        assert_eq!(send(vec![]).await.kind(), "mismatch");
        let large = send(vec![0; 1025]).await;
        assert_eq!((large.status.as_u16(), large.kind().as_str()), (413, "body-too-large"));
        assert_eq!(upstream.runs(case), 1);
    }
}

#[tokio::test]
async fn chunks_and_trailers_of_a_held_upload_reach_the_upstream() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let gateway = Gateway::start(listener.local_addr().expect("an address"), RAW).await;
    let mut client = Raw::open(gateway.address).await;
    client.send(&head(&new_key(), "Trailer: X-Sum\r\nTransfer-Encoding: chunked")).await;
    client.send("3\r\none\r\n").await;
    client.send("3\r\ntwo\r\n0\r\nX-Sum: 7\r\n\r\n").await;
    let mut upstream = Raw::accept(&listener).await;
    upstream.until("6\r\nonetwo\r\n0\r\nx-sum: 7\r\n\r\n").await;
    upstream.send("HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n").await;
    assert!(client.until("\r\n\r\n").await.starts_with("HTTP/1.1 201 "));
}

#[tokio::test]
async fn an_upload_that_stalls_is_408_and_the_upstream_hears_nothing_of_it() {
    let upstream = Upstream::start().await;
    let top = "body-read-timeout = \"300ms\"";
    let gateway = Gateway::start_with(upstream.address, top, RAW, &[]).await;
    let key = new_key();
    let mut client = Raw::open(gateway.address).await;
    client.send(&format!("{}12345", head(&key, "Content-Length: 10"))).await;
    assert!(client.rest().await.starts_with("HTTP/1.1 408 "));
    assert_eq!(upstream.runs(""), 0);
    assert_eq!(Call::post("/orders", &key).send(gateway.address).await.status, 201);
}

#[tokio::test]
async fn an_upload_that_its_client_breaks_off_while_it_is_held_back_never_runs() {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(upstream.address, RAW).await;
    for framing in ["Content-Length: 10", "Transfer-Encoding: chunked"] {
        let key = new_key();
        let mut client = Raw::open(gateway.address).await;
        client.send(&format!("{}5\r\n12345", head(&key, framing))).await;
        client.end().await;
        assert!(client.rest().await.starts_with("HTTP/1.1 400 "));
        assert_eq!(upstream.runs(""), 0);
        assert_eq!(
            Call::post("/orders", &key).case("next").send(gateway.address).await.status,
            201
        );
    }
}

#[tokio::test]
async fn a_body_that_waits_to_be_asked_for_is_asked_for_unless_it_is_too_large() {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(upstream.address, RAW).await;
    let key = new_key();
    let mut client = Raw::open(gateway.address).await;
    client.send(&head(&key, "Expect: 100-continue\r\nContent-Length: 2")).await;
    client.until("HTTP/1.1 100 Continue\r\n\r\n").await;
    client.send("{}").await;
    assert!(client.until("\r\n\r\n").await.starts_with("HTTP/1.1 201 "));
    let mut client = Raw::open(gateway.address).await;
    client.send(&head(&new_key(), "Expect: 100-continue\r\nContent-Length: 1025")).await;
    assert!(client.until("\r\n\r\n").await.starts_with("HTTP/1.1 413 "));
}

/// A frame of HTTP/2.
fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let size = u8::try_from(payload.len()).expect("a small frame");
    [&[0, 0, size, kind, flags, 0, 0, 0, stream], payload].concat()
}

#[tokio::test]
async fn a_stream_that_is_reset_without_an_error_is_no_end_of_an_upload() {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(upstream.address, RAW).await;
    let key = new_key();
    // Literal fields without indexing (RFC 7541, 6.2.2).
    let field = |name: &str, value: &str| {
        let size = |text: &str| vec![u8::try_from(text.len()).expect("a short field")];
        [vec![0], size(name), name.into(), size(value), value.into()].concat()
    };
    let head = [
        field(":method", "POST"),
        field(":scheme", "http"),
        field(":authority", "shop.test"),
        field(":path", "/orders"),
        field("idempotency-key", &key),
    ];
    let mut client = TcpStream::connect(gateway.address).await.expect("a listener");
    let begin = [
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(),
        frame(4, 0, 0, &[]),
        frame(1, 4, 1, &head.concat()),
        frame(0, 0, 1, b"part"),
    ];
    client.write_all(&begin.concat()).await.expect("written");
    let running = async |count| while gateway.metric("leasehold_running").await != Some(count) {};
    soon("the request", running(1.0)).await;
    client.write_all(&frame(3, 0, 1, &[0; 4])).await.expect("written");
    soon("its end", running(0.0)).await;
    assert_eq!(upstream.runs(""), 0);
    assert_eq!(Call::post("/orders", &key).send(gateway.address).await.status, 201);
}
