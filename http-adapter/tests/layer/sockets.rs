//! The same on real connections: what HTTP itself does to keys and clients.

use std::net::SocketAddr;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Empty, Full};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use leasehold_http::{Policy, RequestBody};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tower::{Layer, service_fn};

use crate::support::{App, Failure, Gate, Seen, answer, order, problem};

/// Serves an application whose handler waits at a gate if its path says so.
async fn serve(app: &App, gate: &Gate, seen: &Seen<String>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let (gate, seen) = (gate.clone(), seen.clone());
    let service = app.layer.layer(service_fn(move |request: Request<RequestBody<Incoming>>| {
        let (gate, seen) = (gate.clone(), seen.clone());
        async move {
            let path = request.uri().path().to_owned();
            let body = request.into_body().collect().await.map_err(|_| Failure("no body"))?;
            seen.push(String::from_utf8_lossy(&body.to_bytes()).into_owned());
            if path == "/orders" {
                gate.pass().await;
            }
            Ok::<_, Failure>(answer(201))
        }
    }));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let service = TowerToHyperService::new(service.clone());
            tokio::spawn(async move {
                let server = auto::Builder::new(TokioExecutor::new());
                // A connection that the client breaks off is what some tests are about.
                drop(server.serve_connection(TokioIo::new(stream), service).await);
            });
        }
    });
    address
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Failure {}

/// Sends bytes as they are and gives the status of the answer.
async fn raw(address: SocketAddr, head: &[u8]) -> u16 {
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    stream.write_all(head).await.expect("written");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.expect("an answer");
    let text = String::from_utf8_lossy(&answer);
    text.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status line")
}

#[tokio::test]
async fn keys_on_the_wire_are_trimmed_joined_and_refused_by_the_rules() {
    let app = App::new(Policy::default());
    let address = serve(&app, &Gate::default(), &Seen::default()).await;
    let post = |lines: &[u8]| {
        let head = b"POST /x HTTP/1.1\r\nhost: h\r\nconnection: close\r\ncontent-length: 0\r\n";
        [&head[..], lines, b"\r\n"].concat()
    };
    for (lines, status) in [
        (&b"idempotency-key:  \t k1 \t\r\n"[..], 201),
        (b"Idempotency-Key: k1\r\n", 409),
        (b"IDEMPOTENCY-KEY: \"k1\"\r\n", 409),
        (b"idempotency-key: k2\r\nidempotency-key: k2\r\n", 400),
        (b"idempotency-key: k2\r\nidempotency-key: k3\r\n", 400),
        (b"idempotency-key: k2, k2\r\n", 400),
        (b"idempotency-key: k2,k2\r\n", 201),
        (b"idempotency-key:\r\n", 400),
        (b"idempotency-key:   \r\n", 400),
        (b"idempotency-key: caf\xe9\r\n", 400),
        (b"idempotency-key: del\x7f\r\n", 400),
        (b"idempotency-key: nul\x00\r\n", 400),
        (b"", 400),
    ] {
        let given = raw(address, &post(lines)).await;
        assert_eq!(given, status, "{}", String::from_utf8_lossy(lines));
    }
}

#[tokio::test]
async fn a_handler_outlives_a_connection_of_http1_that_is_closed() {
    let app = App::new(Policy::default());
    let (gate, seen) = (Gate::default(), Seen::default());
    let address = serve(&app, &gate, &seen).await;
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    let head =
        b"POST /orders HTTP/1.1\r\nhost: h\r\nidempotency-key: k\r\ncontent-length: 4\r\n\r\n";
    stream.write_all(head).await.expect("written");
    stream.write_all(b"body").await.expect("written");
    gate.begun().await;
    drop(stream);
    assert_eq!(problem(app.send(order("k"), 201).await).await.2, "in-flight");
    gate.open(1);
    app.layer.running().idle().await;
    assert_eq!(problem(app.send(order("k"), 201).await).await.2, "duplicate");
    assert_eq!(seen.take(), ["body"]);
}

#[tokio::test]
async fn a_handler_outlives_a_stream_of_http2_that_is_reset() {
    let app = App::new(Policy::default());
    let gate = Gate::default();
    let address = serve(&app, &gate, &Seen::default()).await;
    let stream = TokioIo::new(TcpStream::connect(address).await.expect("a connection"));
    let (mut client, connection) =
        http2::handshake(TokioExecutor::new(), stream).await.expect("a handshake");
    tokio::spawn(connection);
    let post = |path: &str| {
        let request = Request::post(format!("http://h{path}")).header("idempotency-key", "k");
        request.body(Empty::<Bytes>::new()).expect("a valid request")
    };
    let response = tokio::spawn(client.send_request(post("/orders")));
    gate.begun().await;
    response.abort();
    assert!(response.await.expect_err("aborted").is_cancelled());
    // The connection lives on; by the time that it answers this, it has read the reset.
    assert_eq!(client.send_request(post("/other")).await.expect("an answer").status(), 201);
    assert_eq!(problem(app.send(order("k"), 201).await).await.2, "in-flight");
    gate.open(1);
    app.layer.running().idle().await;
    assert_eq!(problem(app.send(order("k"), 201).await).await.2, "duplicate");
}

#[tokio::test]
async fn an_upload_that_breaks_off_frees_the_key() {
    let app = App::new(Policy::default());
    let address = serve(&app, &Gate::default(), &Seen::default()).await;
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    let head =
        b"POST /orders HTTP/1.1\r\nhost: h\r\nidempotency-key: k\r\ncontent-length: 9\r\n\r\n";
    stream.write_all(head).await.expect("written");
    while app.outcomes("granted") == 0 {
        tokio::task::yield_now().await;
    }
    drop(stream);
    app.layer.running().idle().await;
    assert_eq!(app.state("k").await, leasehold::RecordState::Free);
    assert_eq!(app.verdicts("release"), 1);
}

#[tokio::test]
async fn one_connection_serves_first_requests_and_duplicates_with_their_bodies() {
    let app = App::new(Policy::default());
    let address = serve(&app, &Gate::default(), &Seen::default()).await;
    let stream = TokioIo::new(TcpStream::connect(address).await.expect("a connection"));
    let (mut client, connection) = http1::handshake(stream).await.expect("a handshake");
    tokio::spawn(connection);
    for (status, content_type) in [(201, None), (409, Some("application/problem+json"))] {
        let request = Request::post("/x").header("host", "h").header("idempotency-key", "k");
        let request = request.body(Full::new(Bytes::from("body"))).expect("a valid request");
        let response = client.send_request(request).await.expect("an answer");
        assert_eq!(response.status(), status);
        let given = response.headers().get("content-type").map(|value| value.as_bytes());
        assert_eq!(given, content_type.map(str::as_bytes));
        let length = response.headers()["content-length"].to_str().expect("text").to_owned();
        let body = response.into_body().collect().await.expect("a whole body").to_bytes();
        assert_eq!(length, body.len().to_string());
        assert!(!body.is_empty());
    }
}
