//! A plain client: one request on a connection of its own, and a raw one for what is not plain.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::soon;

/// How long nothing moves where something is stuck.
const STUCK: Duration = Duration::from_millis(300);

/// A whole response.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl Answer {
    /// The last part of a problem's type; empty for what is no problem.
    pub(super) fn kind(&self) -> String {
        if self.header("content-type") != Some("application/problem+json") {
            return String::new();
        }
        let problem: serde_json::Value = serde_json::from_slice(&self.body).expect("JSON");
        let kind = problem["type"].as_str().expect("a type");
        kind.rsplit(':').next().unwrap_or_default().to_owned()
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().expect("text"))
    }
}

/// A request in the making.
#[derive(Clone, Debug)]
pub(super) struct Call {
    request: Request<Bytes>,
}

impl Call {
    pub(super) fn new(method: Method, path: &str) -> Self {
        let request = Request::builder().method(method).uri(path).header("host", "shop.test");
        Self { request: request.body(Bytes::new()).expect("a request") }
    }

    /// A write with a key.
    pub(super) fn post(path: &str, key: &str) -> Self {
        Self::new(Method::POST, path).header("idempotency-key", key).body("{}")
    }

    pub(super) fn header(mut self, name: &'static str, value: &str) -> Self {
        self.request.headers_mut().append(name, value.parse().expect("a header value"));
        self
    }

    /// Under which name the upstream finds its script and counts the run.
    pub(super) fn case(self, case: &str) -> Self {
        self.header("x-case", case)
    }

    /// The key that it carries.
    pub(super) fn key(&self) -> String {
        let key = self.request.headers().get("idempotency-key").expect("a key");
        key.to_str().expect("text").to_owned()
    }

    pub(super) fn body(mut self, body: impl Into<Bytes>) -> Self {
        *self.request.body_mut() = body.into();
        self
    }

    pub(super) async fn send(self, address: SocketAddr) -> Answer {
        let (mut sender, connection) = soon("a connection", async {
            let stream = TcpStream::connect(address).await.expect("a listener");
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.expect("HTTP/1.1")
        })
        .await;
        let connection = tokio::spawn(connection);
        let answer = soon("an answer", async {
            read(sender.send_request(self.request.map(Full::new)).await.expect("a response")).await
        })
        .await;
        connection.abort();
        answer
    }

    /// The same over HTTP/2, with prior knowledge.
    pub(super) async fn send_h2(self, address: SocketAddr) -> Answer {
        let (mut parts, body) = self.request.map(Full::new).into_parts();
        let path = parts.uri.path_and_query().expect("a path").as_str();
        parts.uri = format!("http://shop.test{path}").parse().expect("a URI");
        parts.headers.remove("host");
        soon("an answer", async {
            let stream = TcpStream::connect(address).await.expect("a listener");
            let executor = hyper_util::rt::TokioExecutor::new();
            let (mut sender, connection) =
                hyper::client::conn::http2::handshake(executor, TokioIo::new(stream))
                    .await
                    .expect("HTTP/2");
            let connection = tokio::spawn(connection);
            let request = Request::from_parts(parts, body);
            let answer = read(sender.send_request(request).await.expect("a response")).await;
            connection.abort();
            answer
        })
        .await
    }
}

async fn read(response: http::Response<hyper::body::Incoming>) -> Answer {
    let (parts, body) = response.into_parts();
    let body = body.collect().await.expect("a whole body").to_bytes();
    Answer { status: parts.status, headers: parts.headers, body }
}

/// A connection on which a case writes bytes itself.
#[derive(Debug)]
pub(super) struct Raw {
    stream: TcpStream,
    read: Vec<u8>,
}

impl Raw {
    pub(super) async fn open(address: SocketAddr) -> Self {
        Self { stream: TcpStream::connect(address).await.expect("a listener"), read: Vec::new() }
    }

    /// The next connection of a listener.
    pub(super) async fn accept(listener: &TcpListener) -> Self {
        let (stream, _) = soon("a connection", listener.accept()).await.expect("accepted");
        Self::of(stream)
    }

    pub(super) const fn of(stream: TcpStream) -> Self {
        Self { stream, read: Vec::new() }
    }

    /// Reads until `text` has come, or the other side closes.
    pub(super) async fn has_come(&mut self, text: &str) -> bool {
        soon(text, async {
            while !self.read.windows(text.len()).any(|part| part == text.as_bytes()) {
                if matches!(self.stream.read_buf(&mut self.read).await, Ok(0) | Err(_)) {
                    return false;
                }
            }
            true
        })
        .await
    }

    pub(super) async fn send(&mut self, text: &str) {
        self.stream.write_all(text.as_bytes()).await.expect("written");
    }

    /// Repeats `text` for as long as the other side does not close.
    pub(super) async fn send_until_closed(&mut self, text: &str) {
        let many = text.repeat(1 << 16);
        soon("the other side's end", async {
            while self.stream.write_all(many.as_bytes()).await.is_ok() {}
        })
        .await;
    }

    /// Repeats `text` until nobody takes any more of it for a while.
    pub(super) async fn send_until_stuck(&mut self, text: &str) {
        let many = text.repeat(1 << 16);
        let sending = async {
            while let Ok(taken) =
                tokio::time::timeout(STUCK, self.stream.write(many.as_bytes())).await
            {
                assert!(taken.expect("open") > 0);
            }
        };
        soon("a place where nothing moves", sending).await;
    }

    /// Breaks the connection: the other side hears of it before it has read what was sent.
    pub(super) fn reset(self) {
        self.stream.set_zero_linger().expect("open");
    }

    /// Reads until `text` has come, and gives everything up to its end.
    pub(super) async fn until(&mut self, text: &str) -> String {
        soon(text, async {
            loop {
                let found = self.read.windows(text.len()).position(|part| part == text.as_bytes());
                if let Some(start) = found {
                    let rest = self.read.split_off(start + text.len());
                    let read = std::mem::replace(&mut self.read, rest);
                    return String::from_utf8(read).expect("text");
                }
                let count = self.stream.read_buf(&mut self.read).await.expect("read");
                assert!(count > 0, "closed after {:?}", String::from_utf8_lossy(&self.read));
            }
        })
        .await
    }

    /// Reads until the other side closes. A reset is a close too.
    pub(super) async fn rest(mut self) -> String {
        soon("the end of the connection", async {
            while !matches!(self.stream.read_buf(&mut self.read).await, Ok(0) | Err(_)) {}
            String::from_utf8(self.read).expect("text")
        })
        .await
    }

    /// Ends this side alone.
    pub(super) async fn end(&mut self) {
        self.stream.shutdown().await.expect("open");
    }

    /// Ends this side, and waits until the other has noticed and ended its own.
    pub(super) async fn close(mut self) {
        self.end().await;
        assert_eq!(self.rest().await, "");
    }
}
