//! The layer around a plain service of hyper: `cargo run -p leasehold-http --example hyper`.
//!
//! ```text
//! curl -i -X POST -H 'Idempotency-Key: k-1' http://127.0.0.1:3000/orders   # 201
//! curl -i -X POST -H 'Idempotency-Key: k-1' http://127.0.0.1:3000/orders   # 409
//! ```

use std::convert::Infallible;
use std::error::Error;
use std::sync::Arc;

use http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use leasehold::{MemoryConfig, MemoryStore};
use leasehold_http::{IdempotentLayer, Policy, RequestBody, Routes};
use tokio::net::TcpListener;
use tower::{Layer, service_fn};

async fn order(_: Request<RequestBody<Incoming>>) -> Result<Response<String>, Infallible> {
    let mut response = Response::new("ordered\n".to_owned());
    *response.status_mut() = StatusCode::CREATED;
    Ok(response)
}

/// Serves HTTP/1.1 and HTTP/2 until the listener fails.
async fn serve(listener: TcpListener) -> Result<(), Box<dyn Error + Send + Sync>> {
    let store = Arc::new(MemoryStore::new(MemoryConfig::default())?);
    let idempotent = IdempotentLayer::new(store, Routes::new(Policy::default()));
    let service = idempotent.layer(service_fn(order));
    loop {
        let (stream, _) = listener.accept().await?;
        let service = TowerToHyperService::new(service.clone());
        tokio::spawn(async move {
            let server = auto::Builder::new(TokioExecutor::new());
            if let Err(error) = server.serve_connection(TokioIo::new(stream), service).await {
                eprintln!("connection failed: {error}");
            }
        });
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let listener = TcpListener::bind("127.0.0.1:3000").await?;
    println!("listening on http://{}", listener.local_addr()?);
    serve(listener).await
}

#[cfg(test)]
mod tests {
    use http_body_util::Empty;
    use hyper::body::Bytes;
    use hyper::client::conn::http1;
    use tokio::net::TcpStream;

    use super::*;

    #[tokio::test]
    async fn an_order_is_made_once() -> Result<(), Box<dyn Error + Send + Sync>> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        tokio::spawn(serve(listener));
        let stream = TokioIo::new(TcpStream::connect(address).await?);
        let (mut client, connection) = http1::handshake(stream).await?;
        tokio::spawn(connection);
        for expected in [StatusCode::CREATED, StatusCode::CONFLICT, StatusCode::CONFLICT] {
            let request = Request::post("/orders")
                .header("host", "localhost")
                .header("idempotency-key", "k-1")
                .body(Empty::<Bytes>::new())?;
            assert_eq!(client.send_request(request).await?.status(), expected);
        }
        Ok(())
    }
}
