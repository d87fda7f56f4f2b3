//! What the proxy makes of messages that say one thing here and another there.

use std::convert::Infallible;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::{TcpListener, TcpStream};

use super::client::{Call, Raw};
use super::process::Gateway;
use super::upstream::{Script, Upstream};
use super::{new_key, soon};

/// Fields that no trailer section may carry, beside one that it may.
const TRAILERS: [&str; 10] = [
    "idempotency-lease-token",
    "idempotency-key",
    "idempotency-verdict",
    "x-forwarded-for",
    "x-forwarded-host",
    "keep-alive",
    "proxy-authorization",
    "forwarded",
    "cookie",
    "x-checksum",
];

/// A gateway in front of a listener whose connections the case serves itself.
async fn start(top: &str) -> (TcpListener, Gateway) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    (listener, Gateway::start_with(address, top, "", &[]).await)
}

/// The same fields as lines of HTTP/1.1.
fn trailer_lines() -> String {
    TRAILERS.iter().map(|name| format!("{name}: 1\r\n")).collect()
}

/// Sends a body whose length nobody knows before its end, and trailers, over HTTP/2.
async fn send_h2(gateway: &Gateway, method: Method, key: &str) -> Response<Bytes> {
    // HTTP/2 itself refuses the fields of HTTP/1.1's connections.
    let names = TRAILERS.iter().filter(|name| **name != "keep-alive");
    let trailers: HeaderMap =
        names.map(|name| (name.parse().expect("a name"), HeaderValue::from(1))).collect();
    let frames = [Frame::data(Bytes::from_static(b"{}")), Frame::trailers(trailers)];
    let frames = futures_util::stream::iter(frames.map(Ok::<_, Infallible>));
    let request = Request::builder()
        .method(method)
        .uri("http://shop.test/orders")
        .header("idempotency-key", key)
        .header("x-case", key)
        .header("trailer", TRAILERS.join(", "))
        .body(StreamBody::new(frames))
        .expect("a request");
    soon("an answer", async {
        let stream = TcpStream::connect(gateway.address).await.expect("a listener");
        let (mut sender, connection) =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
                .await
                .expect("HTTP/2");
        let connection = tokio::spawn(connection);
        let response = sender.send_request(request).await.expect("a response");
        let (parts, body) = response.into_parts();
        let whole = body.collect().await.expect("a whole body");
        connection.abort();
        let mut response = Response::from_parts(parts, Bytes::new());
        // What came as trailers is told apart by its place.
        response.extensions_mut().insert(whole.trailers().cloned().unwrap_or_default());
        *response.body_mut() = whole.to_bytes();
        response
    })
    .await
}

#[tokio::test]
async fn trailers_of_a_request_cannot_pass_for_its_header() {
    let (listener, gateway) = start("").await;
    let mut client = Raw::open(gateway.address).await;
    let (key, names) = (new_key(), TRAILERS.join(", "));
    client
        .send(&format!(
            "POST /orders HTTP/1.1\r\nHost: a\r\nIdempotency-Key: {key}\r\n\
             Connection: x-named\r\nTrailer: {names}, x-named\r\n\
             Transfer-Encoding: chunked\r\n\r\n2\r\n{{}}\r\n0\r\n{}X-Named: 1\r\n\r\n",
            trailer_lines()
        ))
        .await;
    let mut upstream = Raw::accept(&listener).await;
    upstream.until("\r\n\r\n").await;
    assert_eq!(upstream.until("\r\n\r\n").await, "2\r\n{}\r\n0\r\nx-checksum: 1\r\n\r\n");
}

#[tokio::test]
async fn a_trailer_does_not_pass_for_a_principal() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let upstream = listener.local_addr().expect("an address");
    let gateway = Gateway::start(upstream, "principal-headers = [\"X-Tenant\"]").await;
    let mut client = Raw::open(gateway.address).await;
    client
        .send(&format!(
            "POST /orders HTTP/1.1\r\nHost: a\r\nIdempotency-Key: {}\r\nX-Tenant: acme\r\n\
             Trailer: x-tenant, x-b\r\nTransfer-Encoding: chunked\r\n\r\n\
             2\r\n{{}}\r\n0\r\nX-Tenant: other\r\nX-B: 1\r\n\r\n",
            new_key()
        ))
        .await;
    let mut upstream = Raw::accept(&listener).await;
    assert!(upstream.until("\r\n\r\n").await.contains("x-tenant: acme\r\n"));
    assert_eq!(upstream.until("\r\n\r\n").await, "2\r\n{}\r\n0\r\nx-b: 1\r\n\r\n");
}

#[tokio::test]
async fn trailers_of_http2_are_no_different() {
    let (listener, gateway) = start("").await;
    let key = new_key();
    let answer = tokio::spawn(async move { send_h2(&gateway, Method::POST, &key).await });
    let mut upstream = Raw::accept(&listener).await;
    upstream.until("\r\n\r\n").await;
    assert_eq!(upstream.until("\r\n\r\n").await, "2\r\n{}\r\n0\r\nx-checksum: 1\r\n\r\n");
    let head = "HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n";
    upstream.send(&format!("{head}{}\r\n", trailer_lines())).await;
    let answer = answer.await.expect("answered");
    let trailers = answer.extensions().get::<HeaderMap>().expect("trailers");
    assert_eq!(trailers.keys().collect::<Vec<_>>(), ["x-checksum"]);
    assert_eq!(&answer.body()[..], b"ok");
}

#[tokio::test]
async fn trailers_of_a_response_do_not_carry_a_verdict_on() {
    let (listener, gateway) = start("").await;
    let mut client = Raw::open(gateway.address).await;
    let head = format!("POST / HTTP/1.1\r\nHost: a\r\nIdempotency-Key: {}\r\n", new_key());
    client.send(&format!("{head}TE: trailers\r\nContent-Length: 0\r\n\r\n")).await;
    let mut upstream = Raw::accept(&listener).await;
    upstream.until("\r\n\r\n").await;
    let head = format!(
        "HTTP/1.1 200 X\r\nConnection: x-named\r\nTrailer: {}, x-named\r\n\
         Transfer-Encoding: chunked\r\n\r\n",
        TRAILERS.join(", ")
    );
    let body = format!("2\r\nok\r\n0\r\n{}X-Named: 1\r\n\r\n", trailer_lines());
    upstream.send(&format!("{head}{body}")).await;
    client.until("\r\n\r\n").await;
    assert_eq!(client.until("\r\n\r\n").await, "2\r\nok\r\n0\r\nx-checksum: 1\r\n\r\n");
}

#[tokio::test]
async fn a_verdict_that_connection_names_counts_all_the_same() {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(upstream.address, "").await;
    let script = Script::status(500).header("connection", "idempotency-verdict");
    upstream.script("named", script.header("idempotency-verdict", "commit"));
    let call = Call::post("/orders", &new_key()).case("named");
    let first = call.clone().send(gateway.address).await;
    assert_eq!((first.status.as_u16(), first.header("idempotency-verdict")), (500, None));
    assert_eq!(call.send(gateway.address).await.kind(), "duplicate");
}

#[tokio::test]
async fn a_verdict_on_a_switch_of_protocols_goes_no_further() {
    let (listener, gateway) = start("").await;
    let mut client = Raw::open(gateway.address).await;
    let upgrade = "Connection: Upgrade\r\nUpgrade: chat\r\n";
    client.send(&format!("GET /chat HTTP/1.1\r\nHost: a\r\n{upgrade}\r\n")).await;
    let mut upstream = Raw::accept(&listener).await;
    upstream.until("\r\n\r\n").await;
    upstream.send(&format!("HTTP/1.1 101 X\r\nIdempotency-Verdict: hold\r\n{upgrade}\r\n")).await;
    let head = client.until("\r\n\r\n").await.to_lowercase();
    assert!(head.starts_with("http/1.1 101 ") && !head.contains("verdict"), "{head}");
}

#[tokio::test]
async fn a_body_of_unknown_length_arrives_whatever_the_method() {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(upstream.address, "").await;
    for method in [Method::GET, Method::HEAD, Method::OPTIONS, Method::DELETE, Method::POST] {
        let (old, new) = (new_key(), new_key());
        let mut client = Raw::open(gateway.address).await;
        client
            .send(&format!(
                "{method} /search HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX-Case: {old}\r\n\
                 Idempotency-Key: {old}\r\nTransfer-Encoding: chunked\r\n\r\n\
                 2\r\n{{}}\r\n0\r\n\r\n"
            ))
            .await;
        assert!(client.rest().await.starts_with("HTTP/1.1 201 "), "{method}");
        assert_eq!(send_h2(&gateway, method.clone(), &new).await.status(), 201, "{method}");
        for case in [old, new] {
            let [(_, body)] = &upstream.requests(&case)[..] else { panic!("not one run") };
            assert_eq!(&body[..], b"{}", "{method}");
        }
    }
}

#[tokio::test]
async fn a_target_without_a_path_is_never_taken_for_the_root() {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(upstream.address, "").await;
    let key = new_key();
    let mut statuses = Vec::new();
    // All that have a path have the same one, however they are written.
    for target in ["a:80", "b", "/", "http://c", "http://d/", "http://e?f"] {
        let mut client = Raw::open(gateway.address).await;
        client
            .send(&format!(
                "POST {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX-Case: {key}\r\n\
                 Idempotency-Key: {key}\r\nContent-Length: 0\r\n\r\n"
            ))
            .await;
        let answer = client.rest().await;
        statuses.push(answer.split(' ').nth(1).unwrap_or_default().to_owned());
    }
    assert_eq!(statuses, ["400", "400", "201", "409", "409", "409"]);
    let [(parts, _)] = &upstream.requests(&key)[..] else { panic!("not one run") };
    assert_eq!(parts.uri, "/");
}
