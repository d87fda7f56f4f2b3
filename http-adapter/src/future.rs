//! The future of a response: what passes and what is refused costs nothing, what is leased is
//! boxed, so that it can outlive its client.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use http::Response;
use pin_project_lite::pin_project;
use tokio::runtime::Handle;

use crate::body::ResponseBody;
use crate::client::Client;

type Leased<R, E> =
    Pin<Box<dyn Future<Output = Result<Response<ResponseBody<R>>, E>> + Send + 'static>>;

pin_project! {
    /// The response of an [`Idempotent`](crate::Idempotent) service.
    ///
    /// # Cancel safety
    ///
    /// Dropping it does not stop a protected request that has begun (rule 4.6): what is left is
    /// spawned on the current tokio runtime, and its verdict counts. One that still waits for
    /// another's end is not run any more. Where the policy's
    /// [`on_disconnect`](crate::Policy::on_disconnect) is `Cancel`, what is spawned drops the
    /// handler and releases the lease; if the handler has ended, its verdict counts all the same.
    /// Where there is no runtime, or it is ending, the handler is dropped here, and its lease ends
    /// by itself after its time to live. A request that passes unprotected is dropped like any
    /// other.
    pub struct ResponseFuture<F, R, E>
    where
        R: Send,
        R: 'static,
        E: Send,
        E: 'static,
    {
        #[pin]
        kind: Kind<F, R, E>,
    }

    impl<F, R, E> PinnedDrop for ResponseFuture<F, R, E>
    where
        R: Send,
        R: 'static,
        E: Send,
        E: 'static,
    {
        fn drop(this: Pin<&mut Self>) {
            let kind = this.project().kind.project();
            if let KindProjection::Leased { rest, client, begun: true } = kind
                && let Some(rest) = rest.take()
            {
                if let Some(client) = client {
                    client.leave();
                }
                outlive(rest);
            }
        }
    }
}

pin_project! {
    #[project = KindProjection]
    enum Kind<F, R, E> {
        Bypassed { #[pin] future: F },
        Refused { response: Option<Response<ResponseBody<R>>> },
        Leased { rest: Option<Leased<R, E>>, client: Option<Client>, begun: bool },
    }
}

/// Runs what is left of a request whose client has gone.
fn outlive<R: Send + 'static, E: Send + 'static>(rest: Leased<R, E>) {
    match Handle::try_current() {
        Ok(runtime) => {
            runtime.spawn(async move {
                // Nobody is there to answer to; the verdict is settled within.
                drop(rest.await);
            });
        }
        Err(_) => tracing::warn!("a handler was dropped outside of a runtime, its lease runs out"),
    }
}

impl<F, R: Send + 'static, E: Send + 'static> ResponseFuture<F, R, E> {
    pub(crate) fn bypassed(future: F) -> Self {
        Self { kind: Kind::Bypassed { future } }
    }

    pub(crate) fn refused(response: Response<ResponseBody<R>>) -> Self {
        Self { kind: Kind::Refused { response: Some(response) } }
    }

    /// `client` is told when this is dropped before it is ready.
    pub(crate) fn leased(rest: Leased<R, E>, client: Option<Client>) -> Self {
        Self { kind: Kind::Leased { rest: Some(rest), client, begun: false } }
    }
}

impl<F, R, E> Future for ResponseFuture<F, R, E>
where
    F: Future<Output = Result<Response<R>, E>>,
    R: Send + 'static,
    E: Send + 'static,
{
    type Output = Result<Response<ResponseBody<R>>, E>;

    /// Polled again after its end it stays pending.
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().kind.project() {
            KindProjection::Bypassed { future } => {
                future.poll(cx).map_ok(|response| response.map(ResponseBody::inner))
            }
            KindProjection::Refused { response } => {
                response.take().map_or(Poll::Pending, |response| Poll::Ready(Ok(response)))
            }
            KindProjection::Leased { rest, begun, .. } => {
                *begun = true;
                // Taken out, so that a panic within leaves nothing to be polled again.
                let Some(mut future) = rest.take() else {
                    return Poll::Pending;
                };
                let poll = future.as_mut().poll(cx);
                if poll.is_pending() {
                    *rest = Some(future);
                }
                poll
            }
        }
    }
}

impl<F, R: Send + 'static, E: Send + 'static> fmt::Debug for ResponseFuture<F, R, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match &self.kind {
            Kind::Bypassed { .. } => "bypassed",
            Kind::Refused { .. } => "refused",
            Kind::Leased { .. } => "leased",
        };
        f.debug_struct("ResponseFuture").field("kind", &kind).finish_non_exhaustive()
    }
}
