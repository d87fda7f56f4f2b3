//! The body of every response that leaves the layer: the inner service's, that while it is kept for
//! replays, or bytes of our own.
//!
//! It must never change a byte of the inner service's.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use crate::capture::Capture;
use crate::grpc::{HeldBody, Passed};

pin_project! {
    /// The inner service's body, or bytes of the layer's own.
    ///
    /// It is a body whenever the inner one is, and the inner one's data can be made from [`Bytes`].
    #[derive(Debug)]
    pub struct ResponseBody<B> {
        #[pin]
        kind: Kind<B>,
    }
}

pin_project! {
    #[project = KindProjection]
    enum Kind<B> {
        Inner { #[pin] body: B },
        Own { bytes: Bytes },
        Held { held: Box<HeldBody<B>> },
        Captured { capture: Captured<B> },
    }
}

/// What a client gets is nobody's business who prints a response: a replay's bytes are not shown.
impl<B: fmt::Debug> fmt::Debug for Kind<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inner { body } => f.debug_tuple("Inner").field(body).finish(),
            Self::Own { bytes } => write!(f, "Own({} bytes)", bytes.len()),
            Self::Held { held } => f.debug_tuple("Held").field(held).finish(),
            Self::Captured { capture } => capture.fmt(f),
        }
    }
}

/// An inner body that is being kept. When its client goes away it is told so.
struct Captured<B>(Option<Pin<Box<dyn Capture<B>>>>);

impl<B> Drop for Captured<B> {
    fn drop(&mut self) {
        if let Some(capture) = self.0.take() {
            capture.client_gone();
        }
    }
}

impl<B> fmt::Debug for Captured<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Captured(..)")
    }
}

impl<B> ResponseBody<B> {
    /// Passes the inner service's body through.
    pub const fn inner(body: B) -> Self {
        Self { kind: Kind::Inner { body } }
    }

    /// Bytes of our own; empty ones are no body at all.
    pub const fn own(bytes: Bytes) -> Self {
        Self { kind: Kind::Own { bytes } }
    }

    /// Passes the inner service's body through while it is kept.
    pub(crate) fn captured(capture: Pin<Box<dyn Capture<B>>>) -> Self {
        Self { kind: Kind::Captured { capture: Captured(Some(capture)) } }
    }
}

impl<B> From<Passed<B>> for ResponseBody<B> {
    fn from(passed: Passed<B>) -> Self {
        match passed {
            Passed::Whole(body) => Self::inner(body),
            Passed::Held(held) => Self { kind: Kind::Held { held } },
            Passed::Broken => Self::own(Bytes::new()),
        }
    }
}

impl<B> Body for ResponseBody<B>
where
    B: Body,
    B::Data: From<Bytes>,
{
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        match self.project().kind.project() {
            KindProjection::Inner { body } => body.poll_frame(cx),
            KindProjection::Held { held } => Pin::new(held.as_mut()).poll_frame(cx),
            KindProjection::Own { bytes } if bytes.is_empty() => Poll::Ready(None),
            KindProjection::Own { bytes } => {
                Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes).into()))))
            }
            KindProjection::Captured { capture } => match &mut capture.0 {
                Some(capture) => capture.as_mut().poll_frame(cx),
                None => Poll::Ready(None),
            },
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.kind {
            Kind::Inner { body } => body.is_end_stream(),
            Kind::Held { held } => held.is_end_stream(),
            Kind::Own { bytes } => bytes.is_empty(),
            Kind::Captured { capture } => {
                capture.0.as_ref().is_none_or(|capture| capture.is_end_stream())
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Inner { body } => body.size_hint(),
            Kind::Held { held } => held.size_hint(),
            Kind::Own { bytes } => SizeHint::with_exact(bytes.len() as u64),
            Kind::Captured { capture } => {
                capture.0.as_ref().map_or_else(SizeHint::default, |capture| capture.size_hint())
            }
        }
    }
}
