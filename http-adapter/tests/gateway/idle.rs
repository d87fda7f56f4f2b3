//! Connections without a request: they are closed in time, and hold nothing up.

use std::net::SocketAddr;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::client::{Call, Raw};
use super::process::Gateway;
use super::upstream::{Script, Upstream, gate};
use super::{new_key, soon};

/// HTTP/2's first words with empty settings.
const PREFACE: &str = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\u{4}\0\0\0\0\0";

/// A frame of headers for stream 1 that says that more will follow.
const ENDLESS_HEADERS: &str = "\0\0\u{3}\u{1}\0\0\0\0\u{1}\u{41}\u{1}a";

/// Half a head, silence after HTTP/2's first words, and headers that never end.
fn incomplete() -> [String; 3] {
    ["POST /x HTT".to_owned(), PREFACE.to_owned(), format!("{PREFACE}{ENDLESS_HEADERS}")]
}

async fn say(address: SocketAddr, words: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.expect("a listener");
    stream.write_all(words.as_bytes()).await.expect("written");
    stream
}

/// Waits until the other side closes. A reset is a close too.
async fn end(mut stream: TcpStream) {
    let mut read = Vec::new();
    let closed = async { while !matches!(stream.read_buf(&mut read).await, Ok(0) | Err(_)) {} };
    soon("the end of the connection", closed).await;
}

#[tokio::test]
async fn connections_without_an_exchange_do_not_hold_up_the_end() {
    let upstream = Upstream::start().await;
    let top = "header-read-timeout = \"1h\"\nshutdown-grace = \"1h\"";
    let mut gateway = Gateway::start_with(upstream.address, top, "", &[]).await;
    let mut silent = Vec::new();
    for words in incomplete() {
        silent.push(say(gateway.address, &words).await);
    }
    // Answered after the others were accepted.
    assert_eq!(Call::post("/", &new_key()).send(gateway.address).await.status, 201);
    gateway.terminate().await;
    assert_eq!(gateway.ended().await, Some(0));
    assert!(!gateway.log().contains("cutting"), "{}", gateway.log());
}

#[tokio::test]
async fn an_open_exchange_keeps_its_connection_when_idle_ones_are_dropped() {
    let upstream = Upstream::start().await;
    let top = "header-read-timeout = \"1h\"\nshutdown-grace = \"1h\"";
    let mut gateway = Gateway::start_with(upstream.address, top, "", &[]).await;
    let open = gate();
    upstream.script("slow", Script::status(201).gate(&open));
    let call = || Call::post("/orders", &new_key()).case("slow");
    let first = tokio::spawn(call().send(gateway.address));
    let second = tokio::spawn(call().send_h2(gateway.address));
    upstream.wait_for_runs("slow", 2).await;
    let half = say(gateway.address, "POST /x HTT").await;
    gateway.terminate().await;
    end(half).await;
    open.add_permits(2);
    assert_eq!(first.await.expect("ran").status, 201);
    assert_eq!(second.await.expect("ran").status, 201);
    assert_eq!(gateway.ended().await, Some(0));
}

#[tokio::test]
async fn connections_whose_first_request_does_not_come_are_dropped() {
    let upstream = Upstream::start().await;
    let top = "header-read-timeout = \"200ms\"";
    let gateway = Gateway::start_with(upstream.address, top, "", &[]).await;
    for words in incomplete() {
        end(say(gateway.address, &words).await).await;
    }
}

#[tokio::test]
async fn an_idle_connection_of_http2_is_closed_and_a_busy_one_is_not() {
    let upstream = Upstream::start().await;
    let top = "header-read-timeout = \"200ms\"";
    let gateway = Gateway::start_with(upstream.address, top, "", &[]).await;
    let open = gate();
    upstream.script("slow", Script::status(201).gate(&open));
    let stream = TcpStream::connect(gateway.address).await.expect("a listener");
    let handshake =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream));
    let (mut sender, connection) = soon("HTTP/2", handshake).await.expect("HTTP/2");
    let connection = tokio::spawn(connection);
    let request = Request::post("http://a/orders")
        .header("idempotency-key", new_key())
        .header("x-case", "slow")
        .body(Full::new(Bytes::new()))
        .expect("a request");
    let running = tokio::spawn(sender.send_request(request));
    upstream.wait_for_runs("slow", 1).await;
    // Dropped after the time in which a busy one would be, were it taken for an idle one.
    end(say(gateway.address, PREFACE).await).await;
    open.add_permits(1);
    let response = soon("an answer", running).await.expect("ran").expect("a response");
    assert_eq!(response.status(), 201);
    response.into_body().collect().await.expect("a whole body");
    soon("the end of the connection", connection).await.expect("ran").expect("a plain end");
    drop(sender);
}

#[tokio::test]
async fn silent_connections_to_the_admin_address_do_not_hide_the_health() {
    let upstream = Upstream::start().await;
    // Clients may take their time; the admin address has a bound of its own.
    let top = "header-read-timeout = \"1h\"";
    let gateway = Gateway::start_with(upstream.address, top, "", &[]).await;
    let admin = gateway.admin.expect("an admin address");
    let mut silent = Vec::new();
    for _ in 0..100 {
        silent.push(say(admin, "").await);
    }
    let health = Call::new(http::Method::GET, "/healthz");
    assert_eq!(health.send(admin).await.status, 200);
    for stream in silent {
        end(stream).await;
    }
}

/// Lets this process have so many connections, if the system does.
fn raise_open_files(count: u64) {
    let limit = rlimit::increase_nofile_limit(count).expect("a limit");
    assert!(limit >= count, "the hard limit on open files is {limit}, and {count} are needed");
}

#[tokio::test]
async fn a_thousand_idle_connections_do_not_hold_up_the_traffic_beside_them() {
    raise_open_files(2048);
    let upstream = Upstream::start().await;
    let top = "header-read-timeout = \"1h\"\nbody-read-timeout = \"1h\"";
    let gateway = Gateway::start_with(upstream.address, top, "", &[]).await;
    let half_body = |number: usize| {
        format!(
            "POST /idle HTTP/1.1\r\nHost: a\r\nIdempotency-Key: idle-{number}\r\n\
             Content-Length: 9\r\n\r\nhalf"
        )
    };
    let mut idle = Vec::new();
    for number in 0..1000 {
        let words = match number % 5 {
            0 => String::new(),
            1 => "POST /x HTT".to_owned(),
            2 => PREFACE.to_owned(),
            3 => format!("{PREFACE}{ENDLESS_HEADERS}"),
            _ => half_body(number),
        };
        idle.push(say(gateway.address, &words).await);
    }
    for _ in 0..50 {
        let call = Call::post("/orders", &new_key());
        assert_eq!(call.clone().send(gateway.address).await.status, 201);
        assert_eq!(call.send(gateway.address).await.kind(), "duplicate");
    }
    assert_eq!(Call::post("/orders", &new_key()).send_h2(gateway.address).await.status, 201);
    drop(idle);
    let running = async { while gateway.metric("leasehold_running").await != Some(0.0) {} };
    soon("the end of the broken uploads", running).await;
    let released = "leasehold_verdicts_total{namespace=\"default\",verdict=\"release\"}";
    assert_eq!(gateway.metric(released).await, Some(200.0));
}

#[tokio::test]
async fn a_client_that_reads_nothing_keeps_nothing_open() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let top = "body-read-timeout = \"300ms\"";
    let gateway = Gateway::start_with(address, top, "", &[]).await;
    let files = gateway.open_files();
    for request in [
        "GET / HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(),
        format!(
            "POST / HTTP/1.1\r\nHost: a\r\nIdempotency-Key: {}\r\nContent-Length: 0\r\n\r\n",
            new_key()
        ),
    ] {
        let unread = say(gateway.address, &request).await;
        let mut upstream = Raw::accept(&listener).await;
        upstream.until("\r\n\r\n").await;
        upstream.send("HTTP/1.1 201 Created\r\nContent-Length: 1000000000\r\n\r\n").await;
        upstream.send_until_closed("x").await;
        soon("the end of the connections", async {
            while gateway.open_files() > files {
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        })
        .await;
        drop(unread);
    }
}
