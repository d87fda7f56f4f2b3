//! Request bodies that nobody reads to their end, as when a request is refused at once.
//!
//! A server that closes with unread bytes makes the kernel reset the connection, and a client that
//! writes all of its request before it reads loses the answer. So what is left is read and thrown
//! away, for a bounded time and size. It must never ask a client for a body that it holds back
//! (`Expect: 100-continue`), nor hold an HTTP/2 stream, which can be ended by itself. A stream that
//! was reset must never look like a body's end.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::header::EXPECT;
use http::{Request, Version};
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::runtime::Handle;
use tokio::time::timeout;

use super::exchanges::{Exchanges, OpenUpload};

/// Most bytes that are thrown away. Arbitrary: what a fast client has on its way, cheap to read.
const LINGER_BYTES_MAX: u64 = 16 << 20;

/// Longest time that a body is thrown away for. Arbitrary: a client that needs longer reads its
/// answer late or not at all.
const LINGER_TIME_MAX: Duration = Duration::from_secs(2);

/// A request body whose rest is thrown away when it is dropped.
#[derive(Debug)]
pub(crate) struct Lingering {
    /// `None` once it has ended or failed.
    body: Option<Incoming>,
    version: Version,
    /// Whether reading it would ask its client for what it holds back.
    held_back: bool,
    /// None once there is nothing to be read any more.
    open: Option<OpenUpload>,
}

/// What a client's broken upload is told by.
type BoxError = Box<dyn std::error::Error + Send + Sync>;

impl Lingering {
    /// The same request with a body that lingers where that helps.
    pub(super) fn request(request: Request<Incoming>, exchanges: &Exchanges) -> Request<Self> {
        let version = request.version();
        let held_back = request.headers().contains_key(EXPECT);
        request.map(|body| {
            let open = (!body.is_end_stream()).then(|| exchanges.begin_upload());
            Self { body: Some(body), version, held_back, open }
        })
    }
}

impl Body for Lingering {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let version = self.version;
        self.held_back = false;
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        let polled = ready!(Pin::new(&mut *body).poll_frame(cx));
        // A reset without an error ends the body as if nothing were missing.
        let reset = polled.is_none() && version == Version::HTTP_2 && !body.is_end_stream();
        if matches!(polled, None | Some(Err(_))) {
            self.body = None;
        }
        if self.is_end_stream() {
            self.open = None;
        }
        if reset {
            return Poll::Ready(Some(Err("the stream was reset".into())));
        }
        Poll::Ready(polled.map(|frame| frame.map_err(BoxError::from)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Incoming::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(|| SizeHint::with_exact(0), Incoming::size_hint)
    }
}

impl Drop for Lingering {
    fn drop(&mut self) {
        if let Some(body) = self.body.take()
            && self.version < Version::HTTP_2
            && !self.held_back
            && !body.is_end_stream()
            && let Ok(runtime) = Handle::try_current()
        {
            let open = self.open.take();
            runtime.spawn(async move {
                // Over time it is dropped as it is, and the connection with it.
                let _over = timeout(LINGER_TIME_MAX, throw_away(body)).await;
                drop(open);
            });
        }
    }
}

async fn throw_away(mut body: Incoming) {
    let mut left = LINGER_BYTES_MAX;
    while let Some(Ok(frame)) = body.frame().await {
        let size = frame.data_ref().map_or(0, |data| data.len() as u64);
        let Some(rest) = left.checked_sub(size) else { return };
        left = rest;
    }
}
