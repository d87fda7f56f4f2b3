//! A body on its way from one side to the other, without the trailer fields that must stay behind.
//!
//! Data passes untouched. No field may pass that decides how the message is framed, routed,
//! authenticated or understood: receivers may merge trailers into the header, which has been
//! checked and rewritten already (RFC 9110, 6.5.1).

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use http::header::{self, HeaderMap, HeaderName};
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use super::headers::{LEASE_TOKEN, VERDICT, is_hop_by_hop};

/// Fields that mean something in a header only (RFC 9110, 6.5.1), and the gateway's own.
const FORBIDDEN: [HeaderName; 29] = [
    // Framing.
    header::CONTENT_LENGTH,
    header::TRAILER,
    // Routing.
    header::HOST,
    header::FORWARDED,
    header::MAX_FORWARDS,
    // Who asks.
    header::AUTHORIZATION,
    header::COOKIE,
    header::SET_COOKIE,
    header::WWW_AUTHENTICATE,
    // What is asked for, and on what conditions.
    header::CACHE_CONTROL,
    header::EXPECT,
    header::IF_MATCH,
    header::IF_MODIFIED_SINCE,
    header::IF_NONE_MATCH,
    header::IF_RANGE,
    header::IF_UNMODIFIED_SINCE,
    header::PRAGMA,
    header::RANGE,
    // How to read the content, and the response.
    header::AGE,
    header::CONTENT_ENCODING,
    header::CONTENT_RANGE,
    header::CONTENT_TYPE,
    header::DATE,
    header::EXPIRES,
    header::LOCATION,
    header::RETRY_AFTER,
    header::VARY,
    // What the two sides and the gateway tell each other.
    LEASE_TOKEN,
    VERDICT,
];

pin_project! {
    /// A body without forbidden trailers.
    #[derive(Debug)]
    pub(crate) struct Trimmed<B> {
        #[pin]
        body: B,
        keys: Arc<[HeaderName]>,
        named: Vec<HeaderName>,
        // The trailers are through, passed on or not.
        over: bool,
    }
}

impl<B> Trimmed<B> {
    /// Wraps the body of a message whose `Connection` named the fields `named`; `keys` are the
    /// headers that carry idempotency keys, or tell whose they are.
    pub(super) const fn new(body: B, keys: Arc<[HeaderName]>, named: Vec<HeaderName>) -> Self {
        Self { body, keys, named, over: false }
    }
}

impl<B: Body> Body for Trimmed<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let this = self.project();
        if *this.over {
            return Poll::Ready(None);
        }
        let mut frame = match ready!(this.body.poll_frame(cx)) {
            Some(Ok(frame)) => frame,
            other => return Poll::Ready(other),
        };
        if let Some(trailers) = frame.trailers_mut() {
            *this.over = true;
            trim(trailers, this.keys, this.named);
            if trailers.is_empty() {
                return Poll::Ready(None);
            }
        }
        Poll::Ready(Some(Ok(frame)))
    }

    fn is_end_stream(&self) -> bool {
        self.over || self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

fn trim(trailers: &mut HeaderMap, keys: &[HeaderName], named: &[HeaderName]) {
    let doomed = |name: &&HeaderName| {
        is_hop_by_hop(name)
            || name.as_str().starts_with("x-forwarded-")
            || [&FORBIDDEN, keys, named].iter().any(|names| names.contains(name))
    };
    let doomed: Vec<HeaderName> = trailers.keys().filter(doomed).cloned().collect();
    for name in doomed {
        trailers.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use bytes::Bytes;
    use http::HeaderValue;
    use http_body_util::{BodyExt, StreamBody};

    use super::*;

    async fn passed(names: &[&'static str]) -> Option<Vec<String>> {
        let mut trailers = HeaderMap::new();
        for name in names {
            trailers.append(*name, HeaderValue::from_static("1"));
        }
        let frames = [Frame::data(Bytes::from_static(b"x")), Frame::trailers(trailers)];
        let frames = futures_util::stream::iter(frames.map(Ok::<_, Infallible>));
        let keys = Arc::new([HeaderName::from_static("x-key")]);
        let named = vec![HeaderName::from_static("x-named")];
        let body = Trimmed::new(StreamBody::new(frames), keys, named);
        let whole = body.collect().await.expect("a whole body");
        let names = |map: &HeaderMap| map.keys().map(|name| name.as_str().to_owned()).collect();
        let trailers = whole.trailers().map(names);
        assert_eq!(whole.to_bytes(), "x");
        trailers
    }

    #[tokio::test]
    async fn only_trailers_that_are_no_business_of_the_header_pass() {
        let passing = ["x-checksum", "grpc-status", "etag", "server-timing"];
        assert_eq!(passed(&passing).await.expect("trailers"), passing);
        for name in [
            "idempotency-lease-token",
            "idempotency-verdict",
            "x-key",
            "x-named",
            "x-forwarded-for",
            "x-forwarded-port",
            "proxy-authorization",
            "connection",
            "keep-alive",
            "te",
            "trailer",
            "transfer-encoding",
            "upgrade",
            "content-length",
            "host",
            "authorization",
            "cookie",
            "content-type",
        ] {
            let left = passed(&["x-checksum", name]).await;
            assert_eq!(left.expect("trailers"), ["x-checksum"], "{name}");
        }
    }

    #[tokio::test]
    async fn trailers_of_which_none_passes_are_no_trailers() {
        assert_eq!(passed(&["host"]).await, None);
    }
}
