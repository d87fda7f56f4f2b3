//! Puts a question to a gateway's admin address.

use std::error::Error;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::header::HOST;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use leasehold::Address;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::OperatorError;
use crate::records::{ADDRESS, Found, Verb, to_hex};

/// How long the gateway may take in all. Arbitrary: far more than one on the same machine needs.
const PATIENCE: Duration = Duration::from_secs(10);

/// Most bytes of an answer; ours have less than a hundred.
const ANSWER_BYTES_MAX: usize = 4 << 10;

type AnyError = Box<dyn Error + Send + Sync>;

/// Asks, and gives what the gateway has found or done.
pub(super) async fn ask(
    verb: Verb,
    admin: SocketAddr,
    address: Address,
) -> Result<Found, OperatorError> {
    let unreached = |source: AnyError| OperatorError::Unreached { address: admin, source };
    let (status, body) = match timeout(PATIENCE, exchange(verb, admin, address)).await {
        Ok(answer) => answer.map_err(unreached)?,
        Err(elapsed) => return Err(unreached(elapsed.into())),
    };
    if status != StatusCode::OK {
        let reason = String::from_utf8_lossy(&body).trim().to_owned();
        return Err(OperatorError::Refused { status: status.as_u16(), reason });
    }
    serde_json::from_slice(&body).map_err(|error| unreached(error.into()))
}

async fn exchange(
    verb: Verb,
    admin: SocketAddr,
    address: Address,
) -> Result<(StatusCode, Bytes), AnyError> {
    let stream = TcpStream::connect(admin).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let request = Request::builder()
        .method(Method::POST)
        .uri(verb.path())
        .header(HOST, admin.to_string())
        .header(ADDRESS, to_hex(&address))
        .body(Empty::<Bytes>::new())?;
    let answer = async {
        let response: Response<Incoming> = sender.send_request(request).await?;
        let (parts, body) = response.into_parts();
        let body = Limited::new(body, ANSWER_BYTES_MAX).collect().await?.to_bytes();
        Ok((parts.status, body))
    };
    tokio::select! {
        answer = answer => answer,
        // Without the connection the answer fails too, with the reason that matters.
        Err(error) = connection => Err(error.into()),
    }
}
