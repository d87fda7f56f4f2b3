//! The body of every request that the layer passes on: as it came, or as it was held back.
//!
//! It must never change a byte: the handler gets what the client has sent, trailers too.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

pin_project! {
    /// A request's body: the client's own, or, where it had to be read for a fingerprint before
    /// the request could run, the same bytes and trailers out of memory.
    #[derive(Debug)]
    pub struct RequestBody<B> {
        #[pin]
        kind: Kind<B>,
    }
}

pin_project! {
    #[project = KindProjection]
    #[derive(Debug)]
    enum Kind<B> {
        Passing { #[pin] body: B },
        // Boxed: most bodies pass, and should not pay for the room.
        Held { held: Box<Held> },
    }
}

/// A whole body.
#[derive(Default)]
pub(crate) struct Held {
    pub(crate) data: Bytes,
    pub(crate) trailers: Option<HeaderMap>,
}

impl<B> RequestBody<B> {
    /// Passes the client's body through.
    pub const fn passing(body: B) -> Self {
        Self { kind: Kind::Passing { body } }
    }

    pub(crate) fn held(held: Held) -> Self {
        Self { kind: Kind::Held { held: Box::new(held) } }
    }
}

/// What a client has sent is nobody's business who prints a request.
impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Held({} bytes)", self.data.len())
    }
}

impl Held {
    fn next(&mut self) -> Option<Frame<Bytes>> {
        if self.data.is_empty() {
            return self.trailers.take().map(Frame::trailers);
        }
        Some(Frame::data(std::mem::take(&mut self.data)))
    }
}

impl<B> Body for RequestBody<B>
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
            KindProjection::Passing { body } => body.poll_frame(cx),
            KindProjection::Held { held } => {
                Poll::Ready(held.next().map(|frame| Ok(frame.map_data(B::Data::from))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.kind {
            Kind::Passing { body } => body.is_end_stream(),
            Kind::Held { held } => held.data.is_empty() && held.trailers.is_none(),
        }
    }

    /// Exact for what was held back, unless trailers follow: a sender that is told a length may
    /// leave them out.
    fn size_hint(&self) -> SizeHint {
        let Held { data, trailers } = match &self.kind {
            Kind::Passing { body } => return body.size_hint(),
            Kind::Held { held } => &**held,
        };
        let length = data.len() as u64;
        if trailers.is_none() {
            return SizeHint::with_exact(length);
        }
        let mut hint = SizeHint::new();
        hint.set_lower(length);
        hint
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use http_body_util::{BodyExt, Empty};

    use super::*;

    fn held(data: &'static str, trailers: Option<HeaderMap>) -> RequestBody<Empty<Bytes>> {
        RequestBody::held(Held { data: Bytes::from_static(data.as_bytes()), trailers })
    }

    #[tokio::test]
    async fn a_held_body_gives_its_bytes_and_then_its_trailers() {
        let trailers = HeaderMap::from_iter([(
            http::HeaderName::from_static("x-sum"),
            HeaderValue::from_static("7"),
        )]);
        let body = held("data", Some(trailers.clone()));
        let printed = format!("{body:?}");
        assert!(printed.contains("4 bytes") && !printed.contains("x-sum"), "{printed}");
        assert!(!body.is_end_stream());
        assert_eq!((body.size_hint().exact(), body.size_hint().lower()), (None, 4));
        let whole = body.collect().await.expect("a whole body");
        assert_eq!(whole.trailers(), Some(&trailers));
        assert_eq!(whole.to_bytes(), "data");
    }

    #[tokio::test]
    async fn a_held_body_without_trailers_has_a_length_and_an_end() {
        let mut body = held("data", None);
        assert_eq!(body.size_hint().exact(), Some(4));
        let frame = body.frame().await.expect("a frame").expect("no error");
        assert_eq!(frame.into_data().expect("data"), "data");
        assert!(body.is_end_stream());
        assert!(body.frame().await.is_none());
        assert!(held("", None).is_end_stream());
    }
}
