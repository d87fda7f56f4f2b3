//! The handlers: what they do is nothing, so that what is around them is all that is measured.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::task::Poll;

use axum::body::Body;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Request, Response, StatusCode};

/// Takes an order at once.
pub fn order<B>(
    request: Request<B>,
) -> impl Future<Output = Result<Response<Body>, Infallible>> + Send + use<B> {
    drop(request);
    let mut response = Response::new(Body::from("ordered\n"));
    *response.status_mut() = StatusCode::CREATED;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    std::future::ready(Ok(response))
}

/// Takes an order, but not at the first poll: what a layer does only for a handler that has to wait
/// is seen here.
pub async fn order_later<B>(request: Request<B>) -> Result<Response<Body>, Infallible> {
    let answer = order(request);
    let mut waited = false;
    poll_fn(|cx| {
        if waited {
            return Poll::Ready(());
        }
        waited = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
    answer.await
}
