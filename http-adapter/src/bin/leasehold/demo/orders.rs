//! A small service to stand behind the gateway: it makes orders and lists them.
//!
//! It knows nothing of idempotency: sent twice, it makes two orders.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, LOCATION};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;

/// Most orders that are kept; it is a demonstration.
const ORDERS_MAX: usize = 10_000;

/// Largest body, in bytes.
const BODY_MAX: usize = 64 << 10;

/// Pause after a failed accept.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// What a client asks for.
#[derive(Debug, Deserialize)]
struct Wanted {
    item: String,
    quantity: i64,
}

/// An order that was made.
#[derive(Clone, Debug, Serialize)]
struct Order {
    id: usize,
    item: String,
    quantity: i64,
}

#[derive(Serialize)]
struct Refusal<'a> {
    error: &'a str,
}

/// The service. A clone shares its orders.
#[derive(Clone, Debug, Default)]
pub(super) struct Orders {
    made: Arc<Mutex<Vec<Order>>>,
}

type Answer = Response<Full<Bytes>>;

impl Orders {
    /// Serves for as long as it is polled.
    pub(super) async fn serve(self, listener: TcpListener) {
        loop {
            let stream = match listener.accept().await {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::warn!(%error, "the orders service did not accept a connection");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            };
            let orders = self.clone();
            tokio::spawn(async move {
                let service = service_fn(|request| {
                    let orders = orders.clone();
                    async move { Ok::<_, Infallible>(orders.answer(request).await) }
                });
                let io = TokioIo::new(stream);
                if let Err(error) = http1::Builder::new().serve_connection(io, service).await {
                    tracing::debug!(%error, "a connection to the orders service broke off");
                }
            });
        }
    }

    async fn answer(&self, request: Request<Incoming>) -> Answer {
        let path = request.uri().path().to_owned();
        match (request.method().clone(), path.as_str()) {
            (Method::POST, "/orders") => match Limited::new(request, BODY_MAX).collect().await {
                Ok(body) => self.make(&body.to_bytes()),
                Err(_) => refuse(StatusCode::PAYLOAD_TOO_LARGE, "the body is too large or broken"),
            },
            (Method::GET, "/orders") => json(StatusCode::OK, &*self.lock()),
            (Method::GET, path) => {
                let id = path.strip_prefix("/orders/").and_then(|id| id.parse().ok());
                match id.and_then(|id: usize| self.lock().get(id.checked_sub(1)?).cloned()) {
                    Some(order) => json(StatusCode::OK, &order),
                    None => refuse(StatusCode::NOT_FOUND, "there is no such order"),
                }
            }
            _ => refuse(StatusCode::METHOD_NOT_ALLOWED, "only GET, and POST to /orders"),
        }
    }

    fn make(&self, body: &[u8]) -> Answer {
        const UNPROCESSABLE: StatusCode = StatusCode::UNPROCESSABLE_ENTITY;
        let Ok(Wanted { item, quantity }) = serde_json::from_slice(body) else {
            return refuse(UNPROCESSABLE, "the body must be JSON with an item and a quantity");
        };
        if quantity <= 0 {
            return refuse(UNPROCESSABLE, "quantity must be greater than zero");
        }
        let mut made = self.lock();
        if made.len() >= ORDERS_MAX {
            return refuse(StatusCode::SERVICE_UNAVAILABLE, "no more orders are kept");
        }
        let order = Order { id: made.len() + 1, item, quantity };
        made.push(order.clone());
        drop(made);
        let mut answer = json(StatusCode::CREATED, &order);
        if let Ok(location) = HeaderValue::try_from(format!("/orders/{}", order.id)) {
            answer.headers_mut().insert(LOCATION, location);
        }
        answer
    }

    /// No code panics while it holds this lock; were it poisoned, the list would still be whole.
    fn lock(&self) -> MutexGuard<'_, Vec<Order>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn refuse(status: StatusCode, error: &str) -> Answer {
    json(status, &Refusal { error })
}

fn json(status: StatusCode, value: &impl Serialize) -> Answer {
    // Strings, numbers and lists always serialise; an empty body would be the harmless worst case.
    let mut body = serde_json::to_vec(value).unwrap_or_default();
    body.push(b'\n');
    let mut answer = Response::new(Full::from(body));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}
