//! What this program serves as a child of itself: the handler behind hyper, with and without our
//! layer, and a reverse proxy. Each says on standard output where it listens, and serves until it
//! is killed.

use std::convert::Infallible;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;

use axum::Router;
use axum::serve::ListenerExt;
use axum_reverse_proxy::ReverseProxy;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Request, Response, StatusCode};
use http_body::Body;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use leasehold::{MemoryConfig, MemoryStore};
use leasehold_http::{IdempotentLayer, Policy, Routes};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tower::service_fn;
use tower_layer::Layer;
use tower_service::Service;

/// Keys for which the layer has room: more than it is sent in all rounds.
const MAX_ENTRIES: usize = 4_000_000;

/// Reads the order to its end and takes it.
async fn order<B: Body>(request: Request<B>) -> Result<Response<Full<Bytes>>, Infallible> {
    let mut body = pin!(request.into_body());
    while let Some(Ok(_)) = body.frame().await {}
    let mut response = Response::new(Full::from("ordered\n"));
    *response.status_mut() = StatusCode::CREATED;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    Ok(response)
}

/// hyper and the handler.
pub(crate) fn hyper() -> Result<(), String> {
    block_on(async { serve(listen().await?, service_fn(order)).await })
}

/// hyper, our layer and the handler.
pub(crate) fn layer() -> Result<(), String> {
    let store = MemoryStore::new(MemoryConfig::default().max_entries(MAX_ENTRIES));
    let store = Arc::new(store.map_err(|error| error.to_string())?);
    let layer = IdempotentLayer::new(store, Routes::new(Policy::default()));
    block_on(async { serve(listen().await?, layer.layer(service_fn(order))).await })
}

/// axum-reverse-proxy as its README has it.
pub(crate) fn axum_reverse_proxy(upstream: &str) -> Result<(), String> {
    let router: Router = ReverseProxy::new("/", upstream).into();
    block_on(async {
        let listener = listen().await?.tap_io(set_nodelay);
        axum::serve(listener, router).await.map_err(|error| error.to_string())
    })
}

async fn serve<S, R>(listener: TcpListener, service: S) -> Result<(), String>
where
    S: Service<Request<Incoming>, Response = Response<R>, Error = Infallible>,
    S: Clone + Send + 'static,
    <S as Service<Request<Incoming>>>::Future: Send,
    R: Body<Data = Bytes, Error = Infallible> + Send + 'static,
{
    let builder = Arc::new(auto::Builder::new(TokioExecutor::new()));
    loop {
        let (mut stream, _) = listener.accept().await.map_err(|error| error.to_string())?;
        set_nodelay(&mut stream);
        let (builder, service) = (Arc::clone(&builder), TowerToHyperService::new(service.clone()));
        tokio::spawn(async move {
            // A client that goes away is no news.
            drop(builder.serve_connection(TokioIo::new(stream), service).await);
        });
    }
}

fn set_nodelay(stream: &mut TcpStream) {
    // Without it answers would only be slower.
    drop(stream.set_nodelay(true));
}

async fn listen() -> Result<TcpListener, String> {
    let listener = TcpListener::bind("127.0.0.1:0").await.map_err(|error| error.to_string())?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    println!("listening on http://{address}");
    Ok(listener)
}

/// Runs on as many threads as there are cores, as the gateway does.
fn block_on(future: impl Future<Output = Result<(), String>>) -> Result<(), String> {
    let runtime = Builder::new_multi_thread().enable_all().build();
    runtime.map_err(|error| format!("cannot start a runtime: {error}"))?.block_on(future)
}
