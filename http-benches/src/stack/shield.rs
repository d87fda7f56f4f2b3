//! Two ways for a handler to outlive its client, by themselves: handed to a task only when it is
//! dropped, as our layer does it, or run in a task from the start. A copy of the layer's way, since
//! the layer cannot be had without the rest of it.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use http::{Request, Response};
use tokio::runtime::Handle;
use tower::service_fn;
use tower_service::Service;

use super::handler;

type Answer = Result<Response<Body>, Infallible>;

/// A handler that runs in place, and goes on in a task once it is dropped.
struct Shielded {
    rest: Option<Pin<Box<dyn Future<Output = Answer> + Send>>>,
    begun: bool,
}

impl Future for Shielded {
    type Output = Answer;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Answer> {
        self.begun = true;
        // Taken out, so that a panic within leaves nothing to be polled again.
        let Some(mut rest) = self.rest.take() else {
            return Poll::Pending;
        };
        let poll = rest.as_mut().poll(cx);
        if poll.is_pending() {
            self.rest = Some(rest);
        }
        poll
    }
}

impl Drop for Shielded {
    fn drop(&mut self) {
        if let (true, Some(rest)) = (self.begun, self.rest.take())
            && let Ok(runtime) = Handle::try_current()
        {
            runtime.spawn(async move { drop(rest.await) });
        }
    }
}

/// The handler, run in place.
pub fn shielded()
-> impl Service<Request<Body>, Response = Response<Body>, Error = Infallible, Future: Send>
+ Clone
+ Send {
    service_fn(|request| Shielded { rest: Some(Box::pin(handler::order(request))), begun: false })
}

/// The handler, a task for each request.
pub fn spawned()
-> impl Service<Request<Body>, Response = Response<Body>, Error = Infallible, Future: Send>
+ Clone
+ Send {
    service_fn(|request| {
        let task = tokio::spawn(handler::order(request));
        async move {
            match task.await {
                Ok(answer) => answer,
                Err(error) => std::panic::resume_unwind(error.into_panic()),
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures_util::FutureExt;
    use tokio::sync::Notify;

    use super::*;

    #[tokio::test]
    async fn what_is_dropped_half_way_goes_on() {
        let (go, done) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (gone, told) = (Arc::clone(&go), Arc::clone(&done));
        let rest = async move {
            gone.notified().await;
            told.notify_one();
            handler::order(Request::new(())).await
        };
        let mut shielded = Shielded { rest: Some(Box::pin(rest)), begun: false };
        assert!((&mut shielded).now_or_never().is_none());
        drop(shielded);
        go.notify_one();
        done.notified().await;
    }
}
